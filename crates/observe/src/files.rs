//! Sizes of a database and of the files SQLite keeps next to it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::live::query::owners;
use crate::lock::Lock;

/// First bytes of an active rollback journal. A journal kept by `journal_mode=PERSIST` has zeros instead
/// (<https://sqlite.org/fileformat2.html#the_rollback_journal>).
pub const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Suffixes of the files of a database.
pub(crate) const FILES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// File sizes in bytes; `None` if a file does not exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileSizes {
    /// Size of the database file.
    pub database: Option<u64>,
    /// Size of `-wal`, the write-ahead log.
    pub wal: Option<u64>,
    /// Size of `-shm`, the wal-index.
    pub shm: Option<u64>,
    /// Size of `-journal`, the rollback journal.
    pub journal: Option<u64>,
}

impl FileSizes {
    /// Reads the sizes of the files of the database at `database`. Opens none of them.
    #[must_use]
    pub fn of(database: &Path) -> Self {
        let bytes = |path: &Path| std::fs::metadata(path).ok().map(|metadata| metadata.len());
        FileSizes {
            database: bytes(database),
            wal: bytes(&sidecar(database, "-wal")),
            shm: bytes(&sidecar(database, "-shm")),
            journal: bytes(&sidecar(database, "-journal")),
        }
    }
}

/// Path of a file that SQLite names by a suffix to the database's name, such as `-wal`.
#[must_use]
pub fn sidecar(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether the database at `database` has a rollback journal that is in use or left over. `journal_mode = PERSIST` ends a
/// transaction by zeros in the journal's first bytes, which SQLite looks at as well (`hasHotJournal`).
#[must_use]
pub fn has_journal(database: &Path) -> bool {
    let mut first = [0];
    let journal = open_regular(&sidecar(database, "-journal")).and_then(|mut file| file.read_exact(&mut first));
    match journal {
        Ok(()) => first != [0],
        // Absent, or empty.
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof),
    }
}

/// Whether another process writes to the database file itself, as a transaction in rollback mode does at its commit, or
/// earlier when its cache is full. With `journal_mode = MEMORY` or `OFF` no journal tells of it.
///
/// In WAL mode this is true of `locking_mode = EXCLUSIVE`. Locks of this process do not count, and it must have none on
/// the database: they end.
#[must_use]
pub fn is_being_written(database: &Path) -> bool {
    is_locked(database, &[Lock::Pending, Lock::Exclusive])
}

/// Whether another process is in a transaction that writes in rollback mode. Without such a lock SQLite takes a journal
/// for that of an interrupted transaction (<https://sqlite.org/lockingv3.html#hot_journals>). Locks of this process do
/// not count, as in [`is_being_written`].
#[must_use]
pub fn is_in_transaction(database: &Path) -> bool {
    is_locked(database, &[Lock::Reserved, Lock::Pending, Lock::Exclusive])
}

/// Whether another process has one of these locks on the database file.
fn is_locked(database: &Path, by: &[Lock]) -> bool {
    open_regular(database).is_ok_and(|file| owners(&file, "").iter().any(|(lock, _)| by.contains(lock)))
}

/// Opens a file for reading, without the wait for a writer if it is a pipe.
///
/// # Errors
/// Those of [`File::open`]; `InvalidInput` if it is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file"))
    }
}

/// Converts "not found" into `None`: for an observer a missing file is a normal result.
pub(super) fn absent_is_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("app.db");
        let made = std::process::Command::new("mkfifo").arg(sidecar(&database, "-journal")).status();
        assert!(made.unwrap().success());
        assert!(has_journal(&database), "whatever it is, SQLite would look at it");
        assert!(open_regular(&sidecar(&database, "-journal")).is_err());
    }

    #[test]
    fn the_journal_magic_is_sqlite_s_own() {
        let mut sqlite = crate::testkit::Sqlite::spawn();
        // Pages that leave the cache before the commit are in the synced journal.
        for sql in ["PRAGMA cache_size=1", "CREATE TABLE t(x)", "INSERT INTO t VALUES (zeroblob(2000000))", "BEGIN"] {
            sqlite.exec(sql);
        }
        sqlite.exec("UPDATE t SET x=zeroblob(3000000)");
        let journal = std::fs::read(sidecar(sqlite.path(), "-journal")).unwrap();
        assert_eq!(journal[..8], JOURNAL_MAGIC);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_transaction_without_a_journal_is_seen_by_its_lock() {
        let mut sqlite = crate::testkit::Sqlite::spawn();
        sqlite.exec("PRAGMA journal_mode=MEMORY");
        sqlite.exec("CREATE TABLE t(x)");
        assert!(!is_being_written(sqlite.path()) && !is_in_transaction(sqlite.path()));
        sqlite.exec("BEGIN IMMEDIATE");
        assert!(!is_being_written(sqlite.path()) && is_in_transaction(sqlite.path()));
        sqlite.exec("COMMIT");
        sqlite.exec("BEGIN EXCLUSIVE");
        assert!(is_being_written(sqlite.path()));
        sqlite.exec("COMMIT");
        assert!(!is_being_written(sqlite.path()));
    }

    #[test]
    fn each_file_is_found_by_its_suffix() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("a.b.db");
        assert_eq!(FileSizes::of(&database), FileSizes::default());
        std::fs::write(&database, [0; 7]).unwrap();
        std::fs::write(dir.path().join("a.b.db-wal"), [0; 5]).unwrap();
        std::fs::write(dir.path().join("a.b.db-journal"), []).unwrap();
        let sizes = FileSizes { database: Some(7), wal: Some(5), shm: None, journal: Some(0) };
        assert_eq!(FileSizes::of(&database), sizes);
    }
}
