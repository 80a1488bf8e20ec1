//! A process that has watched databases open: its descriptors of their files, and the locks that they hold.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use super::entry::LockEntry;
use super::program::Program;
use crate::{ProcessProbe, ProcessUsage, proc_file};

/// Device and inode of a file.
pub(super) type Identity = (u64, u64);

/// A file of a watched database, as a process may have it open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// `None` if no file has the path.
    pub(super) identity: Option<Identity>,
    /// Index of the database.
    pub(super) database: usize,
    /// `` for the database itself, `-wal`, `-shm`, `-journal`.
    pub(super) suffix: &'static str,
    /// Path that leads to the file; `None` for one that was replaced, unlinked or moved.
    pub(super) path: Option<PathBuf>,
    /// Time of the creation of a file without a path. File systems use inode numbers again, so that of a file that is
    /// gone may be another's.
    pub(super) born: Option<SystemTime>,
}

/// A descriptor of a file of a watched database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    number: u32,
    pub(super) database: usize,
    pub(super) suffix: &'static str,
    /// Whether the path of the database leads to the file.
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

    /// Suffixes of the open files of a database that have no name any more.
    pub(super) fn deleted(&self, database: usize) -> Vec<String> {
        let deleted = self.open.iter().filter(|open| open.database == database && open.deleted);
        let mut suffixes: Vec<String> = deleted.map(|open| open.suffix.to_owned()).collect();
        suffixes.sort();
        suffixes.dedup();
        suffixes
    }

    /// Text of `/proc/PID/fdinfo/FD` of a descriptor; `None` if it has gone.
    pub(super) fn about(&self, open: &Open) -> Option<String> {
        proc_file(self.directory.join(format!("fdinfo/{}", open.number)))
    }

    /// Locks on one database, with the suffix of their file, if the path leads to it; and whether a descriptor has
    /// gone, so that the descriptors have to be listed again.
    ///
    /// Any descriptor of a file shows all locks of the process on it (`__show_fd_locks` in `fs/locks.c` of Linux), and one
    /// of an open file description is shown by its own descriptors only. So one descriptor of each file is read, and each
    /// of them if `every` requires it or the process was seen to have such locks.
    pub(super) fn locks(&mut self, database: usize, every: bool) -> (Vec<(LockEntry, &'static str)>, bool) {
        let every = every || self.has_descriptions;
        let mut found = Vec::new();
        let mut read = Vec::new();
        let mut gone = false;
        for open in self.open.iter().filter(|open| open.database == database && matches!(open.suffix, "" | "-shm")) {
            if open.current && !every && read.contains(&open.suffix) {
                continue;
            }
            match self.about(open) {
                Some(text) if open.current => {
                    read.push(open.suffix);
                    found.extend(LockEntry::of_descriptor(&text).map(|entry| (entry, open.suffix)));
                }
                text => gone |= text.is_none(),
            }
        }
        self.has_descriptions |= found.iter().any(|(entry, _)| entry.pid.is_none());
        (found, gone)
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

/// Ids of all processes without this one; `None` without `/proc`.
pub(super) fn others() -> Option<impl Iterator<Item = u32>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    Some(pids.filter(|pid| *pid != std::process::id()))
}

pub(super) fn identity(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Descriptors of the known files. A file that was deleted before it could become known is found by its path.
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
            known.identity == Some(identity) && (known.path.is_some() || known.born == born())
        };
        let deleted = target.as_os_str().as_bytes().strip_suffix(b" (deleted)");
        let deleted = deleted.map(|path| Path::new(OsStr::from_bytes(path)));
        let known = known.iter().find(same).or_else(|| {
            let path = deleted?;
            known.iter().find(|known| known.path.as_deref() == Some(path) && is_here(path, directory))
        });
        let Some(known) = known else { continue };
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Known { database, suffix, .. } = *known;
        let current = known.path.is_some() && known.identity == Some(identity);
        let path = deleted.unwrap_or(&target).to_path_buf();
        found.push(Open { number, database, suffix, current, deleted: deleted.is_some(), path });
    }
    Ok(found)
}

/// Whether the folder of a path is the same one for the process in `directory`: in a container it is another, and the
/// path is that of another file.
fn is_here(path: &Path, directory: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    let theirs = identity(&directory.join("root").join(folder.strip_prefix("/").unwrap_or(folder)));
    theirs.is_none_or(|theirs| identity(folder) == Some(theirs))
}
