//! Processes that have a database open, the locks they hold and the copies of SQLite in their memory, from `/proc`.
//!
//! Nothing of these processes is opened for writing, and none of their descriptors is duplicated: `/proc/PID/fd` is
//! read as links, and their programs are read as files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::files::sidecar;
use crate::image::{GoModule, Images, SqliteSource};
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
    /// Name of the program or script.
    pub name: String,
    /// Command line, its words separated by spaces.
    pub command: String,
    /// Number of descriptors of the database file.
    pub descriptors: usize,
    /// Whether one of them is open for writing.
    pub writable: bool,
    /// Locks held, in the order of their bytes.
    pub locks: Vec<Lock>,
    /// Suffixes of open files that are deleted: `` for the database itself, `-wal`, `-shm`.
    pub deleted: Vec<String>,
    /// Whether the process is in another mount namespace than this one, as in another container.
    pub other_namespace: bool,
    /// Copies of SQLite in the program and its libraries.
    pub sqlite: Vec<SqliteSource>,
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
        let own_namespace = std::fs::read_link("/proc/self/ns/mnt").ok();
        let mut images = Images::default();
        for entry in entries.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            if pid == std::process::id() {
                continue;
            }
            match examine(&entry.path(), &identities, &files) {
                Ok(Some(mut holder)) => {
                    let namespace = std::fs::read_link(entry.path().join("ns/mnt")).ok();
                    holder.pid = pid;
                    holder.other_namespace = namespace.is_some() && namespace != own_namespace;
                    (holder.sqlite, holder.modules) = images.of(&entry.path());
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
) -> std::io::Result<Option<Holder>> {
    let mut holder = Holder::default();
    let mut open = false;
    for entry in std::fs::read_dir(directory.join("fd"))?.flatten() {
        let Ok(target) = std::fs::read_link(entry.path()) else { continue };
        let target = target.to_string_lossy();
        if let Some(path) = target.strip_suffix(" (deleted)") {
            let suffix = files.iter().find(|(_, file)| file.as_os_str() == path).map(|(suffix, _)| *suffix);
            if let Some(suffix) = suffix {
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
            holder.locks.extend(locks(&text, suffix));
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
    let command = std::fs::read(directory.join("cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command);
    let program = std::fs::read_link(directory.join("exe")).unwrap_or_default();
    holder.name = name(proc_file(directory.join("comm")).unwrap_or_default().trim(), &command, &program);
    holder.command = command.replace('\0', " ").trim().to_owned();
    Ok(Some(holder))
}

/// Name of a process: that of its first thread (`comm`, cut after 15 characters), if it is also that of the program or
/// script in the command line; otherwise a runtime has set it, as Node's `MainThread`, and the program's file counts.
pub(crate) fn name(comm: &str, command: &str, program: &Path) -> String {
    let mut words = command.split('\0').take(2).map(|word| word.rsplit('/').next().unwrap_or_default());
    let file = program.file_name().map(|name| name.to_string_lossy().trim_end_matches(" (deleted)").to_owned());
    match file {
        Some(file) if !file.starts_with(comm) && !words.any(|word| word.starts_with(comm)) => file,
        _ => comm.to_owned(),
    }
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

/// Locks in the text of a `/proc/PID/fdinfo/FD` file, on the file with this suffix.
fn locks(text: &str, suffix: &str) -> Vec<Lock> {
    LockEntry::of_descriptor(text).flat_map(|entry| entry.meaning(suffix)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::testkit::{Sqlite, changed_text};

    const FDINFO: &str = "pos:\t0\nflags:\t02\nlock:\t1: POSIX  ADVISORY  READ  812 08:02:99 123 123\n\
                          lock:\t2: OFDLCK ADVISORY  WRITE -1 08:02:99 120 EOF\n\
                          lock:\t3: POSIX  ADVISORY  WRITE 812 08:02:98 1073741824 1073742335\n";
    proptest! {
        #[test]
        fn changed_texts_of_proc_never_panic(
            edits in proptest::collection::vec((any::<Index>(), prop_oneof![any::<char>(), prop::char::range('\t', '9')]), 0..6),
            cut in any::<Index>(),
        ) {
            let text = changed_text(FDINFO, &edits, cut);
            for suffix in FILES {
                let found = locks(&text, suffix);
                prop_assert!(found.iter().all(|lock| !matches!(lock, Lock::Read(slot) if *slot > 4)), "{found:?}");
            }
        }
    }

    #[test]
    fn a_process_has_the_name_of_its_program_or_script() {
        let node = Path::new("/opt/bin/node");
        assert_eq!(name("MainThread", "node\0app.mjs\0", node), "node");
        assert_eq!(name("node", "/opt/bin/node\0app.mjs\0", node), "node");
        let python = Path::new("/usr/bin/python3.11");
        assert_eq!(name("datasette", "/v/bin/python\0/v/bin/datasette\0serve\0", python), "datasette");
        assert_eq!(name("python3", "python3\0app.py\0", python), "python3");
        assert_eq!(name("app", "", Path::new("")), "app");
    }

    #[test]
    fn a_descriptor_for_writing_has_a_flag() {
        assert!(writes("pos:\t0\nflags:\t02100002\n") && writes("flags:\t0100001\n"));
        assert!(!writes("pos:\t0\nflags:\t02100000\n") && !writes("pos:\t0\n"));
    }

    #[test]
    fn locks_are_read_from_the_description_of_a_descriptor() {
        let text = "pos:\t0\nflags:\t02\nlock:\t1: POSIX  ADVISORY  READ  812 08:02:99 123 123\n\
                    lock:\t2: OFDLCK ADVISORY  WRITE -1 08:02:99 120 120\n\
                    lock:\t3: POSIX  ADVISORY  READ  812 08:02:99 128 128\n";
        assert_eq!(locks(text, "-shm"), [Lock::Read(0), Lock::Write]);
        let shared = "lock:\t1: POSIX  ADVISORY  READ  812 08:02:98 1073741826 1073742335\n";
        assert_eq!(locks(shared, ""), [Lock::Shared]);
        let whole = "lock:\t1: POSIX  ADVISORY  WRITE 812 08:02:98 1073741824 1073742335\n";
        assert_eq!(locks(whole, ""), [Lock::Exclusive, Lock::Reserved, Lock::Pending]);
        assert_eq!(locks("lock:\t1: FLOCK  ADVISORY  WRITE 812 08:02:98 0 EOF\nlock: garbage\n", ""), []);
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
        assert_eq!((holder.descriptors, holder.other_namespace), (2, false), "two connections");
        assert!(holder.writable && holder.modules.is_empty(), "{holder:?}");
        let linked: String = rusqlite::Connection::open_in_memory()
            .unwrap()
            .query_row("SELECT sqlite_source_id()", [], |row| row.get(0))
            .unwrap();
        assert!(holder.sqlite.iter().any(|found| linked.starts_with(&found.source_id)), "{holder:?}");
        sqlite.exec("COMMIT");
        std::fs::remove_file(sidecar(sqlite.path(), "-wal")).unwrap();
        let holders = Holders::of(sqlite.path());
        assert_eq!(holders.processes[0].deleted, ["-wal"]);
        assert!(!holders.processes[0].locks.contains(&Lock::Write), "{holders:?}");
    }
}
