//! A process that has watched databases open: its descriptors of their files, and the locks that they hold.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use super::entry::LockEntry;
use super::program::Program;
use crate::holders::{Identity, identity};
use crate::{ProcessProbe, ProcessUsage, proc_file};

/// A file of a watched database, as a process may have it open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) identity: Identity,
    /// Index of the database.
    pub(super) database: usize,
    /// `` for the database itself, `-wal`, `-shm`, `-journal`.
    pub(super) suffix: &'static str,
    /// Whether the path leads to this file: false for one that was replaced, unlinked or moved.
    pub(super) current: bool,
    /// Time of its creation. File systems use inode numbers again, so that of a file that is gone may be another's.
    pub(super) born: Option<SystemTime>,
}

/// A descriptor of a file of a watched database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    number: u32,
    pub(super) database: usize,
    pub(super) suffix: &'static str,
    pub(super) current: bool,
    /// Whether the file has no name any more.
    pub(super) deleted: bool,
    /// Path of the file as the kernel has it.
    pub(super) path: PathBuf,
}

/// A process with its descriptors.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) directory: PathBuf,
    pub(super) program: Program,
    /// Start in clock ticks after boot, which distinguishes it from a later process with the same id.
    pub(super) started: Option<u64>,
    pub(super) open: Vec<Open>,
    /// Whether its descriptors could be listed.
    pub(super) readable: bool,
    /// Whether a lock of an open file description was seen.
    has_descriptions: bool,
    usage: ProcessProbe,
    pub(super) used: Option<(Instant, ProcessUsage)>,
}

impl Process {
    /// Examines a process. `None` if it does not exist, or has none of the files open.
    ///
    /// # Errors
    /// If its descriptors may not be listed.
    pub(super) fn of(pid: u32, known: &[Known]) -> io::Result<Option<Self>> {
        match descriptors(&directory(pid), known) {
            Ok(open) if open.is_empty() => Ok(None),
            Ok(open) => Ok(Some(Self::new(pid, open, true))),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// A process whose descriptors may not be listed, though it holds a lock.
    pub(super) fn unreadable(pid: u32) -> Self {
        Self::new(pid, Vec::new(), false)
    }

    fn new(pid: u32, open: Vec<Open>, readable: bool) -> Self {
        let directory = directory(pid);
        let program = Program::of(&directory);
        let started = started(&directory);
        let usage = ProcessProbe::new(pid);
        let mut process =
            Process { pid, directory, program, started, open, readable, has_descriptions: false, usage, used: None };
        process.measure();
        process
    }

    /// Lists the descriptors again. False if the process has ended or closed all of them.
    pub(super) fn refresh(&mut self, known: &[Known]) -> bool {
        if started(&self.directory) != self.started {
            return false;
        }
        match descriptors(&self.directory, known) {
            Ok(open) => {
                self.open = open;
                !self.open.is_empty()
            }
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied && !self.readable,
        }
    }

    /// Whether a descriptor of this file is known.
    pub(super) fn has(&self, database: usize, suffix: &str) -> bool {
        self.open.iter().any(|open| open.database == database && open.suffix == suffix && open.current)
    }

    /// Locks on one database, with the suffix of their file, if the path leads to it. `None` if a descriptor has gone, so
    /// that the descriptors have to be listed again.
    ///
    /// Any descriptor of a file shows all locks of the process on it (`__show_fd_locks` in `fs/locks.c` of Linux), and one
    /// of an open file description is shown by its own descriptors only. So one descriptor of each file is read, and each
    /// of them if `every` requires it or the process was seen to have such locks.
    pub(super) fn locks(&mut self, database: usize, every: bool) -> Option<Vec<(LockEntry, &'static str)>> {
        let every = every || self.has_descriptions;
        let mut found = Vec::new();
        let mut read = Vec::new();
        for open in self.open.iter().filter(|open| open.database == database && matches!(open.suffix, "" | "-shm")) {
            if open.current && !every && read.contains(&open.suffix) {
                continue;
            }
            let text = proc_file(self.directory.join(format!("fdinfo/{}", open.number)))?;
            if open.current {
                read.push(open.suffix);
                found.extend(LockEntry::of_descriptor(&text).map(|entry| (entry, open.suffix)));
            }
        }
        self.has_descriptions |= found.iter().any(|(entry, _)| entry.pid.is_none());
        Some(found)
    }

    /// Reads CPU time, I/O, memory and threads.
    pub(super) fn measure(&mut self) {
        self.used = self.usage.read(false).map(|usage| (Instant::now(), usage));
    }
}

fn directory(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

fn started(directory: &Path) -> Option<u64> {
    let text = proc_file(directory.join("stat"))?;
    // The name may contain spaces and parentheses; the start is field 22, the twentieth after the name.
    text.rsplit_once(") ")?.1.split_whitespace().nth(19)?.parse().ok()
}

fn descriptors(directory: &Path, known: &[Known]) -> io::Result<Vec<Open>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory.join("fd"))?.flatten() {
        let Ok(target) = std::fs::read_link(entry.path()) else { continue };
        // Sockets and pipes have no path, so that they cost no further call.
        if !target.is_absolute() {
            continue;
        }
        let Some(identity) = identity(&entry.path()) else { continue };
        let same = |known: &&Known| {
            let born = || std::fs::metadata(entry.path()).ok().and_then(|metadata| metadata.created().ok());
            known.identity == identity && (known.current || known.born == born())
        };
        let Some(known) = known.iter().find(same) else { continue };
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let text = target.to_string_lossy();
        let deleted = text.ends_with(" (deleted)");
        let path = text.strip_suffix(" (deleted)").map_or(target.clone(), PathBuf::from);
        let Known { database, suffix, current, .. } = *known;
        found.push(Open { number, database, suffix, current, deleted, path });
    }
    Ok(found)
}
