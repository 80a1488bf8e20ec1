//! The content of a database, read without a lock and without touching the files beside it.
//!
//! | state | method |
//! |---|---|
//! | committed frames in the log only, and database and log together at most 64 MiB | bytes of both are copied, and the copy is opened |
//! | any other | opened as immutable, which takes no lock and creates no file |
//!
//! Both can meet a writer: the state of the files is compared before and after, and the attempt repeated if a
//! checkpoint or a transaction has written to the database file meanwhile. Appended frames disturb neither.

use std::path::Path;
use std::time::{Duration, SystemTime};

use litelab_database::{guard, immutable};
use litelab_observe::temporary::Temporary;
use litelab_observe::{DatabaseHeader, FileSizes, WalHeader, WalIndex, has_journal, is_being_written, sidecar};
use rusqlite::{Connection, OpenFlags};
use thiserror::Error;

/// Number of attempts, with a pause between them.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);
/// Largest sum of database and log that is copied, in bytes.
const LARGEST_COPY: u64 = 64 << 20;

/// Reason why the content could not be read.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// A transaction in rollback mode writes to the file, or was interrupted.
    #[error("it is in use by a transaction, or has the journal of an interrupted one")]
    Transaction,
    /// The database file changed during every attempt.
    #[error("it changed during each of {ATTEMPTS} attempts")]
    Changing,
    /// No copy could be made.
    #[error("it could not be copied: {0}")]
    Copy(#[from] std::io::Error),
    /// Error of SQLite about a file whose log has commits that are not in it. It need not be damaged.
    #[error("it cannot be read without its log: {0}")]
    Behind(rusqlite::Error),
    /// Error of SQLite, as for a damaged or encrypted file.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// Content read by [`read`].
#[derive(Debug)]
pub struct Snapshot<T> {
    /// Result of the reader.
    pub content: T,
    /// Whether committed frames of the log are not in it.
    pub behind: bool,
    /// Whether another process held the exclusive lock of rollback mode: it can have written a part of a transaction.
    pub locked: bool,
}

/// What a write to the database file changes.
#[derive(Debug, PartialEq, Eq)]
struct State {
    modified: Option<SystemTime>,
    bytes: u64,
    /// Change counter and size in the header.
    header: Option<(u32, u32)>,
    /// Salts of the log and frames copied by checkpoints: a checkpoint changes one or the other.
    log: Option<([u32; 2], u32)>,
    /// In WAL mode a journal exists only while the mode changes.
    journal: bool,
    /// In rollback mode, whether another process may write to the file.
    locked: bool,
}

impl State {
    fn of(path: &Path) -> (Self, bool) {
        let metadata = std::fs::metadata(path).ok();
        let header = DatabaseHeader::read(path).ok().flatten();
        let index = WalIndex::read(&sidecar(path, "-shm")).ok().flatten();
        let sizes = FileSizes::of(path);
        let wal = header.is_some_and(|header| header.wal);
        // Without an index, any frame of the log may be committed.
        let backlog =
            index.map_or(sizes.wal.unwrap_or_default() > WalHeader::BYTES as u64, |index| index.backlog() > 0);
        let state = Self {
            modified: metadata.as_ref().and_then(|metadata| metadata.modified().ok()),
            bytes: metadata.map_or(0, |metadata| metadata.len()),
            header: header.map(|header| (header.change_counter, header.pages)),
            log: index.map(|index| (index.salts, index.backfilled)),
            journal: has_journal(path),
            locked: !wal && is_being_written(path),
        };
        (state, wal && backlog)
    }
}

/// Reads the database at `path` with `read`, which is called again if the database changed meanwhile.
///
/// # Errors
/// If the content cannot be read in one state, and the last error of `read`.
pub fn read<T>(
    path: &Path,
    mut read: impl FnMut(&Connection) -> rusqlite::Result<T>,
) -> Result<Snapshot<T>, SnapshotError> {
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        let (before, backlog) = State::of(path);
        let is_last = attempt + 1 == ATTEMPTS;
        if before.journal && is_last {
            return Err(SnapshotError::Transaction);
        }
        // A lock without a journal can last: `locking_mode = EXCLUSIVE`.
        if before.journal || before.locked && !is_last {
            continue;
        }
        let sizes = FileSizes::of(path);
        let bytes = sizes.database.unwrap_or_default() + sizes.wal.unwrap_or_default();
        // The last attempts read what the database file holds, which a checkpoint reaches less often.
        let copied = backlog && bytes <= LARGEST_COPY && attempt < ATTEMPTS / 2;
        let content = if copied { of_copy(path, &before, &mut read)? } else { Some(of_file(path, &mut read)) };
        if let Some(content) = content
            && State::of(path).0 == before
        {
            let behind = backlog && !copied;
            let content = content.map_err(|error| match (before.locked, behind) {
                (true, _) => SnapshotError::Transaction,
                (false, true) => SnapshotError::Behind(error),
                (false, false) => error.into(),
            });
            return Ok(Snapshot { content: content?, behind, locked: before.locked });
        }
    }
    Err(SnapshotError::Changing)
}

fn of_file<T>(path: &Path, read: &mut impl FnMut(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_with_flags(immutable(path), flags)?;
    guard::deny_files(&mut connection)?;
    read(&connection)
}

/// `None` if the files changed while they were copied.
fn of_copy<T>(
    path: &Path,
    before: &State,
    read: &mut impl FnMut(&Connection) -> rusqlite::Result<T>,
) -> Result<Option<rusqlite::Result<T>>, SnapshotError> {
    let folder = Temporary::folder()?;
    let copy = folder.path().join("copy.db");
    std::fs::copy(path, &copy)?;
    match std::fs::copy(sidecar(path, "-wal"), sidecar(&copy, "-wal")) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    if State::of(path).0 != *before {
        return Ok(None);
    }
    let content = Connection::open(&copy).and_then(|mut connection| {
        guard::deny_files(&mut connection)?;
        read(&connection)
    });
    Ok(Some(content))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn database(sql: &str) -> (tempfile::TempDir, PathBuf, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
        (folder, path, connection)
    }

    fn rows(connection: &Connection) -> rusqlite::Result<i64> {
        connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0))
    }

    /// Contents of all files of a folder.
    fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
        files.sort();
        files
    }

    #[test]
    fn a_log_that_is_not_yet_copied_is_read_from_a_copy_of_the_bytes() {
        let (folder, path, theirs) = database("PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)");
        let before = files(folder.path());
        let snapshot = read(&path, rows).unwrap();
        assert_eq!((snapshot.content, snapshot.behind), (1, false));
        assert_eq!(files(folder.path()), before, "no byte of the database, its log or its index has changed");
        theirs.execute_batch("PRAGMA wal_checkpoint; INSERT INTO t VALUES (2)").unwrap();
        assert_eq!(read(&path, rows).unwrap().content, 2);
    }

    #[test]
    fn a_database_without_a_log_is_read_where_it_lies() {
        for mode in ["WAL", "DELETE"] {
            let (folder, path, theirs) =
                database(&format!("PRAGMA journal_mode = {mode}; CREATE TABLE t(a); INSERT INTO t VALUES (1)"));
            theirs.close().unwrap();
            let before = files(folder.path());
            assert_eq!(read(&path, rows).unwrap().content, 1, "{mode}");
            assert_eq!(files(folder.path()), before, "{mode}");
        }
    }

    #[test]
    fn a_transaction_of_a_rollback_journal_is_waited_for_and_then_told() {
        let (_folder, path, theirs) = database("CREATE TABLE t(a)");
        theirs.execute_batch("PRAGMA cache_size = 1; BEGIN; INSERT INTO t VALUES (zeroblob(100000))").unwrap();
        assert!(matches!(read(&path, rows), Err(SnapshotError::Transaction)));
        theirs.execute_batch("COMMIT").unwrap();
        assert_eq!(read(&path, rows).unwrap().content, 1);
    }

    #[test]
    fn a_journal_that_persists_is_not_in_use() {
        let (_folder, path, theirs) =
            database("PRAGMA journal_mode = PERSIST; CREATE TABLE t(a); INSERT INTO t VALUES (1)");
        assert!(FileSizes::of(&path).journal.is_some_and(|bytes| bytes > 0));
        assert_eq!(read(&path, rows).unwrap().content, 1);
        theirs.execute_batch("PRAGMA cache_size = 1; BEGIN; INSERT INTO t VALUES (zeroblob(100000))").unwrap();
        assert!(matches!(read(&path, rows), Err(SnapshotError::Transaction)));
    }

    #[test]
    fn a_read_during_which_a_checkpoint_wrote_is_repeated() {
        let (_folder, path, theirs) = database("PRAGMA journal_mode = WAL; CREATE TABLE t(a)");
        let mut calls = 0;
        let snapshot = read(&path, |connection| {
            calls += 1;
            if calls == 1 {
                theirs.execute_batch("INSERT INTO t VALUES (1); PRAGMA wal_checkpoint(TRUNCATE)")?;
            }
            rows(connection)
        });
        assert_eq!((snapshot.unwrap().content, calls), (1, 2));
    }
}
