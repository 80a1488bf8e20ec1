//! Processes that have a database open, the locks they hold and the copies of SQLite in their memory, from `/proc`.
//!
//! Nothing of these processes is opened for writing, and none of their descriptors is duplicated: `/proc/PID/fd` is
//! read as links, and their programs are read as files.

use std::path::Path;

use super::process::{Known, Process, identity, others};
use super::program::Program;
use crate::files::{FILES, sidecar};
use crate::image::{GoModule, Images};
use crate::lock::Lock;

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

impl Holders {
    /// Looks for the processes that have the database at `database` open. This process is left out.
    #[must_use]
    pub fn of(database: &Path) -> Self {
        let Some(others) = others() else { return Self::default() };
        let path = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_path_buf());
        let known = FILES.map(|suffix| {
            let path = sidecar(&path, suffix);
            Known { identity: identity(&path), database: 0, suffix, path: Some(path), born: None }
        });
        let mut found = Self { processes: Vec::new(), complete: true };
        let mut images = Images::default();
        for pid in others {
            match Process::of(pid, &known) {
                Ok(process) => found.processes.extend(process.map(|process| Holder::of(process, &mut images))),
                Err(_) => found.complete = false,
            }
        }
        found.processes.sort_by_key(|holder| holder.pid);
        found
    }
}

impl Holder {
    fn of(mut process: Process, images: &mut Images) -> Self {
        let (entries, _) = process.locks(0, true);
        let mut locks: Vec<Lock> = entries.iter().flat_map(|(entry, suffix)| entry.meaning(suffix)).collect();
        locks.sort();
        locks.dedup();
        let files = || process.open.iter().filter(|open| open.suffix.is_empty() && open.current);
        let (sqlite, modules) = images.of(&process.directory);
        Self {
            pid: process.pid,
            descriptors: files().count(),
            writable: files().filter_map(|file| process.about(file)).any(|text| writes(&text)),
            locks,
            deleted: process.deleted(0),
            modules,
            program: Program { sqlite, ..process.program },
        }
    }
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
