//! Processes that have a database open, the locks they hold and the copies of SQLite in their memory, from `/proc`.
//!
//! Nothing of these processes is opened for writing, and none of their descriptors is duplicated: `/proc/PID/fd` is
//! read as links, and their programs are read as files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::files::sidecar;
use crate::image::{GoModule, Images};
use crate::live::Program;
use crate::live::entry::LockEntry;
use crate::lock::Lock;
use crate::proc_file;

/// Suffixes of the files of a database.
pub(crate) const FILES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// The processes that have a database open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holders {
    /// The processes, by id.
    pub processes: Vec<Holder>,
    /// Whether every process of this system could be examined: false if some belong to other users, or without `/proc`.
    pub complete: bool,
}

/// A process that has a database open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holder {
    /// Process id, as seen from here.
    pub pid: u32,
    /// Its program.
    pub program: Program,
    /// Number of descriptors of the database file.
    pub descriptors: usize,
    /// Whether one of them is open for writing.
    pub writable: bool,
    /// Locks held, in the order of their bytes.
    pub locks: Vec<Lock>,
    /// Suffixes of open files that are deleted: `` for the database itself, `-wal`, `-shm`.
    pub deleted: Vec<String>,
    /// Modules of a program in Go, by its build information.
    pub modules: Vec<GoModule>,
}

/// Device and inode of a file.
pub(crate) type Identity = (u64, u64);

impl Holders {
    /// Looks for the processes that have the database at `database` open. This process is left out.
    #[must_use]
    pub fn of(database: &Path) -> Self {
        let mut found = Self { processes: Vec::new(), complete: true };
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Self::default();
        };
        let path = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_path_buf());
        let files = FILES.map(|suffix| (suffix, sidecar(&path, suffix)));
        let identities: Vec<(Identity, &'static str)> =
            files.iter().filter_map(|(suffix, file)| Some((identity(file)?, *suffix))).collect();
        // The file system of the folder may have another number than that of its files.
        let folder = path.parent().and_then(identity);
        let devices: Vec<u64> =
            identities.iter().map(|(identity, _)| identity.0).chain(folder.map(|folder| folder.0)).collect();
        let mut images = Images::default();
        for entry in entries.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            if pid == std::process::id() {
                continue;
            }
            match examine(&entry.path(), &identities, &files, &devices) {
                Ok(Some(mut holder)) => {
                    holder.pid = pid;
                    (holder.program.sqlite, holder.modules) = images.of(&entry.path());
                    found.processes.push(holder);
                }
                Ok(None) => {}
                // The process has ended, or is a thread of the kernel.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(_) => found.complete = false,
            }
        }
        found.processes.sort_by_key(|holder| holder.pid);
        found
    }
}

pub(crate) fn identity(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// The process in `directory`, if it has one of the files open; without what is asked of a holder only.
fn examine(
    directory: &Path,
    identities: &[(Identity, &'static str)],
    files: &[(&str, PathBuf); 4],
    devices: &[u64],
) -> std::io::Result<Option<Holder>> {
    let mut holder = Holder::default();
    let mut open = false;
    for entry in std::fs::read_dir(directory.join("fd"))?.flatten() {
        let Ok(target) = std::fs::read_link(entry.path()) else { continue };
        let target = target.to_string_lossy();
        if let Some(path) = target.strip_suffix(" (deleted)") {
            let suffix = files.iter().find(|(_, file)| file.as_os_str() == path).map(|(suffix, _)| *suffix);
            // In a container, the same path is another file.
            let is_here = || identity(&entry.path()).is_none_or(|(device, _)| devices.contains(&device));
            if let Some(suffix) = suffix.filter(|_| is_here()) {
                open = true;
                holder.deleted.push(suffix.to_owned());
            }
            continue;
        }
        let Some(suffix) = of_file(&entry.path(), &target, identities) else { continue };
        open = true;
        holder.descriptors += usize::from(suffix.is_empty());
        let number = entry.file_name();
        if let Some(text) = proc_file(directory.join("fdinfo").join(number)) {
            holder.locks.extend(LockEntry::of_descriptor(&text).flat_map(|entry| entry.meaning(suffix)));
            holder.writable |= suffix.is_empty() && writes(&text);
        }
    }
    if !open {
        return Ok(None);
    }
    holder.locks.sort();
    holder.locks.dedup();
    holder.deleted.sort();
    holder.deleted.dedup();
    holder.program = Program::of(directory);
    Ok(Some(holder))
}

/// Suffix of the database's file that a descriptor refers to. The name of the target decides first, so that sockets
/// and pipes cost no call.
fn of_file(link: &Path, target: &str, identities: &[(Identity, &'static str)]) -> Option<&'static str> {
    if !target.starts_with('/') {
        return None;
    }
    let identity = identity(link)?;
    identities.iter().find(|(known, _)| *known == identity).map(|(_, suffix)| *suffix)
}

/// Whether the text of a `/proc/PID/fdinfo/FD` file is that of a descriptor open for writing.
fn writes(text: &str) -> bool {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    // O_ACCMODE: 0 is O_RDONLY (open(2)).
    flags.is_some_and(|flags| flags & 3 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Sqlite;

    #[test]
    fn a_descriptor_for_writing_has_a_flag() {
        assert!(writes("pos:\t0\nflags:\t02100002\n") && writes("flags:\t0100001\n"));
        assert!(!writes("pos:\t0\nflags:\t02100000\n") && !writes("pos:\t0\n"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_with_the_database_open_is_found_with_its_locks_and_its_sqlite() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        sqlite.exec("BEGIN IMMEDIATE");
        sqlite.exec("INSERT INTO t VALUES (zeroblob(100))");
        let holders = Holders::of(sqlite.path());
        let [holder] = &holders.processes[..] else { panic!("{holders:?}") };
        assert!(holder.locks.contains(&Lock::Write), "{holder:?}");
        assert!(holder.locks.iter().any(|lock| matches!(lock, Lock::Read(_))), "{holder:?}");
        assert_eq!((holder.descriptors, holder.program.other_namespace), (2, false), "two connections");
        assert!(holder.writable && holder.modules.is_empty(), "{holder:?}");
        let linked: String = rusqlite::Connection::open_in_memory()
            .unwrap()
            .query_row("SELECT sqlite_source_id()", [], |row| row.get(0))
            .unwrap();
        assert!(holder.program.sqlite.iter().any(|found| linked.starts_with(&found.source_id)), "{holder:?}");
        sqlite.exec("COMMIT");
        std::fs::remove_file(sidecar(sqlite.path(), "-wal")).unwrap();
        let holders = Holders::of(sqlite.path());
        assert_eq!(holders.processes[0].deleted, ["-wal"]);
        assert!(!holders.processes[0].locks.contains(&Lock::Write), "{holders:?}");
    }
}
