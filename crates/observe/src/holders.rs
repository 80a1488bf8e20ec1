//! Processes that have a database open, the locks they hold and the copies of SQLite in their memory, from `/proc`.
//!
//! Nothing of these processes is opened for writing, and none of their descriptors is duplicated: `/proc/PID/fd` is
//! read as links, and their programs are read as files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::files::sidecar;
use crate::proc_file;

/// Largest program or library that is searched for SQLite, in bytes.
const LARGEST_IMAGE: u64 = 512 << 20;
/// Length of the part of a source id that tells releases apart: date, time, and eight digits of the hash.
const SAME: usize = 28;
/// First byte of the locks in `-shm`: `WAL_WRITE_LOCK` (<https://sqlite.org/walformat.html#wal_locks>).
const WAL_LOCKS: u64 = 120;
/// `PENDING_BYTE` of the database file (<https://sqlite.org/fileformat2.html#the_lock_byte_page>).
const PENDING: u64 = 0x4000_0000;
/// Suffixes of the files of a database.
const FILES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

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

/// A lock on a database or its wal-index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lock {
    /// Shared lock of a reader in rollback mode; in WAL mode every connection holds it.
    Shared,
    /// A writer in rollback mode that has not yet written to the database.
    Reserved,
    /// A writer in rollback mode that waits for readers.
    Pending,
    /// The only connection, in rollback mode.
    Exclusive,
    /// The writer of the log.
    Write,
    /// A checkpoint.
    Checkpoint,
    /// Recovery of the log.
    Recover,
    /// A reader of the log with the read mark of this slot.
    Read(u8),
}

impl std::fmt::Display for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Self::Shared => "shared",
            Self::Reserved => "reserved",
            Self::Pending => "pending",
            Self::Exclusive => "exclusive",
            Self::Write => "write",
            Self::Checkpoint => "checkpoint",
            Self::Recover => "recover",
            Self::Read(slot) => return write!(f, "read {slot}"),
        };
        f.write_str(name)
    }
}

/// A copy of SQLite in a program or library, by the text of its source id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SqliteSource {
    /// File name of the program or library.
    pub image: String,
    /// Date, time and hash of the source (<https://sqlite.org/c3ref/c_source_id.html>).
    pub source_id: String,
}

/// A module in a program in Go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoModule {
    /// Path: `modernc.org/sqlite`.
    pub path: String,
    /// Version: `v1.61.1`.
    pub version: String,
}

/// Device and inode of a file.
type Identity = (u64, u64);

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

fn identity(path: &Path) -> Option<Identity> {
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
fn name(comm: &str, command: &str, program: &Path) -> String {
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
    let mut found = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("lock:")) {
        // `1: POSIX  ADVISORY  WRITE 812 08:02:1234 120 120`
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "POSIX" | "OFDLCK", _, kind, _, _, first, last] = words[..] else { continue };
        let (Ok(first), last) = (first.parse::<u64>(), last.parse::<u64>().unwrap_or(u64::MAX)) else { continue };
        let write = kind == "WRITE";
        match suffix {
            "" => found.extend(database_locks(first, last, write)),
            "-shm" => found.extend(wal_locks(first, last)),
            _ => {}
        }
    }
    found
}

fn database_locks(first: u64, last: u64, write: bool) -> Vec<Lock> {
    let covers = |byte: u64| (first..=last).contains(&byte);
    let mut found = Vec::new();
    if covers(PENDING + 2) || (PENDING + 2..PENDING + 512).contains(&first) {
        found.push(if write { Lock::Exclusive } else { Lock::Shared });
    }
    if covers(PENDING + 1) && write {
        found.push(Lock::Reserved);
    }
    if covers(PENDING) && write {
        found.push(Lock::Pending);
    }
    found
}

fn wal_locks(first: u64, last: u64) -> Vec<Lock> {
    let of = |byte: u64| match byte {
        0 => Lock::Write,
        1 => Lock::Checkpoint,
        2 => Lock::Recover,
        slot => Lock::Read(u8::try_from(slot - 3).unwrap_or(u8::MAX)),
    };
    // Byte 8 is the "dead man switch" that every connection holds.
    (0..8).filter(|byte| (first..=last).contains(&(WAL_LOCKS + byte))).map(of).collect()
}

/// What is in programs and libraries, each file read once.
#[derive(Default)]
struct Images(BTreeMap<PathBuf, Image>);

/// Source ids of SQLite and modules of Go in a program or library.
#[derive(Default)]
struct Image {
    source_ids: Vec<String>,
    modules: Vec<GoModule>,
}

impl Images {
    /// Copies of SQLite and modules of the process in `directory`.
    fn of(&mut self, directory: &Path) -> (Vec<SqliteSource>, Vec<GoModule>) {
        let program = std::fs::read_link(directory.join("exe")).ok();
        let mut paths = executables(&proc_file(directory.join("maps")).unwrap_or_default());
        paths.extend(program.iter().filter(|program| !paths.contains(program)).cloned().collect::<Vec<_>>());
        let (mut found, mut modules) = (Vec::new(), Vec::new());
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = name.trim_end_matches(" (deleted)").to_owned();
            let inside = if program.as_ref() == Some(&path) {
                // The link opens the program also after its file was replaced.
                directory.join("exe")
            } else {
                // The path is that of the process's own root, which differs in a container.
                directory.join("root").join(path.strip_prefix("/").unwrap_or(&path))
            };
            let image = self.0.entry(path).or_insert_with(|| Image::read(&inside));
            let copies = image.source_ids.iter();
            found.extend(copies.map(|id| SqliteSource { image: name.clone(), source_id: id.clone() }));
            modules.extend(image.modules.iter().cloned());
        }
        found.sort();
        found.dedup();
        (found, modules)
    }
}

/// Files with code in the text of a `/proc/PID/maps` file, each once.
fn executables(maps: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for line in maps.lines() {
        // `7f…-7f… r-xp 00000000 08:02 1234  /usr/lib/libsqlite3.so.0`
        let executable = line.split_whitespace().nth(1).is_some_and(|permissions| permissions.contains('x'));
        let path = line.find('/').map(|at| PathBuf::from(&line[at..]));
        if let Some(path) = path.filter(|_| executable)
            && !paths.contains(&path)
        {
            paths.push(path);
        }
    }
    paths
}

impl Image {
    fn read(path: &Path) -> Self {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(LARGEST_IMAGE).read_to_end(&mut bytes));
        if read.is_err() {
            return Self::default();
        }
        Self { source_ids: source_ids(&bytes), modules: modules(&bytes).unwrap_or_default() }
    }
}

/// Modules in the build information of a program in Go (`debug/buildinfo`); `None` in any other file.
fn modules(bytes: &[u8]) -> Option<Vec<GoModule>> {
    const MAGIC: &[u8] = b"\xff Go buildinf:";
    /// Length of the header, at whose 15th byte bit 1 tells that the texts follow it.
    const HEADER: usize = 32;
    const INLINE: u8 = 2;
    let header = &bytes[memchr::memmem::find(bytes, MAGIC)?..];
    let texts = header.get(HEADER..).filter(|_| header[MAGIC.len() + 1] & INLINE != 0)?;
    let (_version, rest) = text(texts)?;
    let (list, _) = text(rest)?;
    let module = |line: &str| {
        let mut words = line.strip_prefix("dep\t")?.split('\t');
        Some(GoModule { path: words.next()?.to_owned(), version: words.next()?.to_owned() })
    };
    // A mark of 16 bytes stands before and after the list, not in UTF-8.
    Some(String::from_utf8_lossy(list).lines().filter_map(module).collect())
}

/// A text behind its length (an unsigned varint of `encoding/binary`), and what follows it.
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0usize;
    for (at, byte) in bytes.iter().enumerate().take(4) {
        length |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return bytes[at + 1..].split_at_checked(length);
        }
    }
    None
}

/// SQLite source ids in the bytes of a file, each once.
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
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::testkit::Sqlite;

    const FDINFO: &str = "pos:\t0\nflags:\t02\nlock:\t1: POSIX  ADVISORY  READ  812 08:02:99 123 123\n\
                          lock:\t2: OFDLCK ADVISORY  WRITE -1 08:02:99 120 EOF\n\
                          lock:\t3: POSIX  ADVISORY  WRITE 812 08:02:98 1073741824 1073742335\n";
    const MAPS: &str = "7f1c2a000000-7f1c2a021000 r-xp 00000000 08:02 1234    /usr/lib/libsqlite3.so.0.8.6\n\
                        7f1c2a021000-7f1c2a022000 rw-p 00000000 00:00 0 \n\
                        7ffc0-7ffc1 r-xp 00000000 00:00 0    [vdso]\n\
                        55d0-55d1 r-xp 00000000 08:02 77    /opt/app (deleted)\n";

    /// A text with some characters replaced, cut at some place.
    fn changed(text: &str, edits: &[(Index, char)], cut: Index) -> String {
        let mut characters: Vec<char> = text.chars().collect();
        for (at, character) in edits {
            let at = at.index(characters.len());
            characters[at] = *character;
        }
        characters.truncate(cut.index(2 * text.len()));
        characters.into_iter().collect()
    }

    proptest! {
        #[test]
        fn changed_texts_of_proc_never_panic(
            edits in proptest::collection::vec((any::<Index>(), prop_oneof![any::<char>(), prop::char::range('\t', '9')]), 0..6),
            cut in any::<Index>(),
        ) {
            let text = changed(FDINFO, &edits, cut);
            for suffix in FILES {
                let found = locks(&text, suffix);
                prop_assert!(found.iter().all(|lock| !matches!(lock, Lock::Read(slot) if *slot > 4)), "{found:?}");
            }
            let files = executables(&changed(MAPS, &edits, cut));
            prop_assert!(files.len() <= 4, "{files:?}");
        }

        #[test]
        fn bytes_of_a_program_never_panic(before in any::<Vec<u8>>(), cut in any::<Index>(), edit in any::<(Index, u8)>()) {
            let mut bytes = [&before[..], b"2026-03-13 10:38:09 737ae4a34738ffa0c3ff7f9bb18df914dd1cad163f28fd6b6e114a344fe6d618"].concat();
            let at = edit.0.index(bytes.len());
            bytes[at] = edit.1;
            bytes.truncate(cut.index(bytes.len() + 1));
            let mut go = build_information(MODULES);
            let at = edit.0.index(go.len());
            go[at] = edit.1;
            go.truncate(cut.index(2 * go.len()));
            prop_assert!(modules(&go).unwrap_or_default().len() <= 3);
            for at in 0..bytes.len() {
                if let Some(id) = source_id(&bytes[at..]) {
                    prop_assert!(id.len() >= SAME, "{id}");
                }
            }
        }
    }

    /// Build information as the linker of Go writes it, with a module in use and one that replaces another.
    fn build_information(list: &str) -> Vec<u8> {
        let mut bytes = b"\x7fELF..\xff Go buildinf:\x08\x02".to_vec();
        bytes.resize(bytes.len() + 16, 0);
        bytes.extend_from_slice(b"\x08go1.26.8");
        let list = [&[0x30; 16][..], list.as_bytes(), &[0xf9; 16]].concat();
        bytes.extend_from_slice(&[(list.len() & 0x7f) as u8 | 0x80, (list.len() >> 7) as u8]);
        bytes.extend_from_slice(&list);
        bytes
    }

    const MODULES: &str = "path\tapp\nmod\tapp\t(devel)\t\ndep\tmodernc.org/sqlite\tv1.54.0\th1:abc=\n\
                           dep\tgithub.com/mattn/go-sqlite3\tv1.14.36\n=>\t./local\t(devel)\t\nbuild\t-compiler=gc\n";

    #[test]
    fn modules_of_a_program_in_go() {
        let found = modules(&build_information(MODULES)).unwrap();
        let found: Vec<_> = found.iter().map(|module| (module.path.as_str(), module.version.as_str())).collect();
        assert_eq!(found, [("modernc.org/sqlite", "v1.54.0"), ("github.com/mattn/go-sqlite3", "v1.14.36")]);
        assert_eq!(modules(b"\x7fELF"), None);
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
    fn programs_and_libraries_are_those_with_code() {
        let files = executables(MAPS);
        assert_eq!(files, ["/usr/lib/libsqlite3.so.0.8.6", "/opt/app (deleted)"].map(PathBuf::from));
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
