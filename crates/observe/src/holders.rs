//! Processes that have a database open, the locks they hold and the copies of SQLite in their memory, from `/proc`.
//!
//! Nothing of these processes is opened for writing, and none of their descriptors is duplicated: `/proc/PID/fd` is
//! read as links, and their programs are read as files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::sidecar;
use crate::live::entry::LockEntry;
use crate::lock::Lock;
use crate::proc_file;

/// Largest program or library that is searched for SQLite, in bytes.
const LARGEST_IMAGE: u64 = 512 << 20;
/// Start of the section `.go.buildinfo` (`debug/buildinfo` of Go).
const GO: &[u8] = b"\xff Go buildinf:";
/// Path of Rust's standard library in its own panic messages.
const RUST: &[u8] = b"/rustc/";
/// Length of the part of a source id that tells releases apart: date, time, and eight digits of the hash.
const SAME: usize = 28;
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
    /// Name of the program, at most 15 characters.
    pub name: String,
    /// Command line, its words separated by spaces.
    pub command: String,
    /// Number of descriptors of the database file.
    pub descriptors: usize,
    /// Locks held, in the order of their bytes.
    pub locks: Vec<Lock>,
    /// Suffixes of open files that are deleted: `` for the database itself, `-wal`, `-shm`.
    pub deleted: Vec<String>,
    /// Whether the process is in another mount namespace than this one, as in another container.
    pub other_namespace: bool,
    /// Copies of SQLite in the program and its libraries.
    pub sqlite: Vec<SqliteSource>,
}

/// A copy of SQLite in a program or library, by the text of its source id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SqliteSource {
    /// File name of the program or library.
    pub image: String,
    /// Date, time and hash of the source (<https://sqlite.org/c3ref/c_source_id.html>).
    pub source_id: String,
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
                    holder.sqlite = images.of(&entry.path());
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
        }
    }
    if !open {
        return Ok(None);
    }
    holder.locks.sort();
    holder.locks.dedup();
    holder.deleted.sort();
    holder.deleted.dedup();
    holder.name = proc_file(directory.join("comm")).unwrap_or_default().trim().to_owned();
    let command = std::fs::read(directory.join("cmdline")).unwrap_or_default();
    holder.command = String::from_utf8_lossy(&command).replace('\0', " ").trim().to_owned();
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

/// Locks in the text of a `/proc/PID/fdinfo/FD` file, on the file with this suffix.
fn locks(text: &str, suffix: &str) -> Vec<Lock> {
    LockEntry::of_descriptor(text).flat_map(|entry| entry.meaning(suffix)).collect()
}

/// Programs and libraries, each file read once.
#[derive(Debug, Default)]
pub(crate) struct Images(BTreeMap<PathBuf, Image>);

/// What a program or library contains.
#[derive(Debug, Default)]
struct Image {
    source_ids: Vec<String>,
    language: Option<&'static str>,
}

impl Images {
    /// Copies of SQLite of the process in `directory`.
    pub(crate) fn of(&mut self, directory: &Path) -> Vec<SqliteSource> {
        let mut paths = Vec::new();
        if let Ok(program) = std::fs::read_link(directory.join("exe")) {
            paths.push(program);
        }
        for line in proc_file(directory.join("maps")).unwrap_or_default().lines() {
            // `7f…-7f… r-xp 00000000 08:02 1234  /usr/lib/libsqlite3.so.0`
            let mut words = line.split_whitespace();
            let executable = words.nth(1).is_some_and(|permissions| permissions.contains('x'));
            let path = line.find('/').map(|at| PathBuf::from(&line[at..]));
            if let Some(path) = path.filter(|_| executable)
                && !paths.contains(&path)
            {
                paths.push(path);
            }
        }
        let mut found = Vec::new();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // The path is that of the process's own root, which differs in a container.
            let inside = directory.join("root").join(path.strip_prefix("/").unwrap_or(&path));
            let image = self.0.entry(path).or_insert_with(|| Image::of(&inside));
            let source = |id: &String| SqliteSource { image: name.clone(), source_id: id.clone() };
            found.extend(image.source_ids.iter().map(source));
        }
        found.sort();
        found.dedup();
        found
    }

    /// Language of a program read before: `go` or `rust`.
    pub(crate) fn language(&self, program: &Path) -> Option<&'static str> {
        self.0.get(program)?.language
    }
}

impl Image {
    /// Reads a file; one that cannot be read contains nothing.
    fn of(path: &Path) -> Self {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(LARGEST_IMAGE).read_to_end(&mut bytes));
        if read.is_err() {
            return Self::default();
        }
        let language = [(RUST, "rust"), (GO, "go")];
        let language = language.into_iter().find(|(mark, _)| memchr::memmem::find(&bytes, mark).is_some());
        Self { source_ids: source_ids(&bytes), language: language.map(|(_, language)| language) }
    }
}

/// SQLite source ids in a file, each once.
fn source_ids(bytes: &[u8]) -> Vec<String> {
    let mut found: Vec<String> =
        memchr::memmem::find_iter(bytes, b"20").filter_map(|at| source_id(&bytes[at..])).collect();
    found.sort();
    // FTS5 has the id of its own source, which differs in the last digits where a distribution has changed the core.
    found.dedup_by(|one, other| one[..SAME] == other[..SAME]);
    found
}

/// The source id at the start of `bytes`: `2026-03-13 10:38:09` and a hash of 40 (SHA-1) or 64 hexadecimal digits.
fn source_id(bytes: &[u8]) -> Option<String> {
    const DATE: &[u8] = b"dddd-dd-dd dd:dd:dd ";
    let (date, rest) = bytes.split_at_checked(DATE.len())?;
    let fits = |(pattern, byte): (&u8, &u8)| if *pattern == b'd' { byte.is_ascii_digit() } else { pattern == byte };
    if !DATE.iter().zip(date).all(fits) {
        return None;
    }
    let digits = rest.iter().take(64).take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
    // A build of modified sources ends in `alt1` or the like, in place of the last digits.
    let length = if digits >= 60 { 64 } else { Some(digits).filter(|digits| *digits == 40)? };
    let hash = rest.get(..length)?;
    hash.iter()
        .all(u8::is_ascii_alphanumeric)
        .then(|| String::from_utf8_lossy(&bytes[..DATE.len() + length]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Sqlite;

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
    fn a_source_id_is_found_among_other_bytes() {
        let id = format!("2026-03-13 10:38:09 {}", "0123456789abcdef".repeat(4));
        let text = format!("\0\x01202026-03-13 10:38:0{id}\0 2026-03-13 10:38:09 no hash");
        let found: Vec<String> = memchr::memmem::find_iter(text.as_bytes(), b"20")
            .filter_map(|at| source_id(&text.as_bytes()[at..]))
            .collect();
        assert_eq!(found, [id]);
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
