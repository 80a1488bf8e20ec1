//! A user's database: read in one state, never written, nothing left beside it.
//!
//! | its state | how it is read |
//! |---|---|
//! | rollback journal | under SQLite's shared lock |
//! | WAL, `-wal` and `-shm` are there | in a read transaction: a snapshot, also while others write |
//! | WAL at rest: no log, or an empty one that no process has open | as immutable, and again where it changed meanwhile |
//! | hot journal, or a log without its index | refused: both take a program that may write |
//!
//! A connection that only reads makes `-wal` and `-shm` beside a WAL database at rest and cannot remove them
//! (<https://sqlite.org/wal.html#readonly>). `immutable=1` (<https://sqlite.org/c3ref/open.html>) makes neither, but takes no
//! lock: what was read counts only if the file has not changed since.

use std::fs::Metadata;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use litelab_observe::{DatabaseHeader, FileSizes, sidecar};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::error::{SourceError, describe};
use crate::guard;

/// How often a database is read again that changes meanwhile.
const ATTEMPTS: u32 = 10;

/// The age from which on a time of modification tells of every later write. File systems stamp with the clock of the
/// kernel's last tick, 1 to 10 ms ago, so that two writes within one tick have the same time.
const SETTLED: Duration = Duration::from_millis(100);

/// Pages per step of a copy.
const STEP: i32 = 1000;

/// A database as it was found.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    /// Of one at rest, which is read as immutable.
    at_rest: Option<State>,
}

impl Source {
    /// Looks at the files of the database at `path`. Opens and closes the database without SQLite, which drops the locks
    /// that this process holds on it (<https://sqlite.org/howtocorrupt.html>, section 2.2): it must hold none.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be read without writing beside it.
    pub fn find(path: &Path) -> Result<Self, SourceError> {
        let source = |at_rest| Self { path: path.to_path_buf(), at_rest };
        match std::fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => return Err(SourceError::NoFile(path.to_path_buf())),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(SourceError::Missing(path.to_path_buf()));
            }
            _ => {}
        }
        // What is unreadable or no database, SQLite is to refuse.
        if !matches!(DatabaseHeader::read(path), Ok(Some(header)) if header.wal) {
            return Ok(source(None));
        }
        let at_rest = || match FileSizes::of(path) {
            // Immutable, SQLite would not look at it.
            FileSizes { journal: Some(1..), .. } => Ok(false),
            FileSizes { wal: None, .. } | FileSizes { wal: Some(0), shm: None, .. } => Ok(true),
            FileSizes { shm: None, .. } => Err(SourceError::Log(path.to_path_buf())),
            _ => Ok(false),
        };
        if !at_rest()? {
            return Ok(source(None));
        }
        let state = State::settled(path);
        // Another program that has opened it since has made a log.
        Ok(source(if at_rest()? { state } else { None }))
    }

    /// A connection that only reads.
    ///
    /// # Errors
    /// When it is no database, or one that SQLite cannot read.
    pub fn open(&self) -> Result<Connection, SourceError> {
        let failed = |error| SourceError::of(&self.path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = match self.at_rest {
            Some(_) => Connection::open_with_flags(immutable(&self.path), flags | OpenFlags::SQLITE_OPEN_URI),
            // Without SQLITE_OPEN_URI a path is a path, even if it begins with "file:".
            None => Connection::open_with_flags(&self.path, flags),
        }
        .map_err(failed)?;
        guard::deny_files(&mut connection).map_err(failed)?;
        // Opening alone reads nothing.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(failed)?;
        Ok(connection)
    }

    /// Whether what was read since [`Source::find`] is one state of the database: always under locks; of a database at
    /// rest, if it has not changed. Its connections must be closed.
    #[must_use]
    pub fn unchanged(&self) -> bool {
        self.at_rest.as_ref().is_none_or(|before| State::of(&self.path).as_ref() == Some(before))
    }
}

/// Reads a database in one state. `read` is called again where the database changed meanwhile; it begins a transaction
/// itself where several statements must see the same.
///
/// # Errors
/// When the database cannot be read, or changes each time; and what `read` returns.
pub fn read<T, E: From<SourceError>>(path: &Path, mut read: impl FnMut(&Connection) -> Result<T, E>) -> Result<T, E> {
    for _ in 0..ATTEMPTS {
        let source = Source::find(path)?;
        let result = source.open().map_err(E::from).and_then(|connection| read(&connection));
        // An error that comes from reading while another writes is none of the database's.
        if source.unchanged() {
            return result;
        }
    }
    Err(SourceError::Changing(path.to_path_buf()).into())
}

/// Copies a database to `to`, where a file is replaced, in one state and with what its log holds, and checks the copy
/// by `PRAGMA quick_check`. Another program that writes waits meanwhile as for any reader: not at all in WAL mode, and for
/// its commit with a rollback journal.
///
/// # Errors
/// As [`read`]; [`SourceError::Damaged`] when the database itself is, and [`SourceError::Copy`] when `to` cannot be
/// written.
pub fn copy(path: &Path, to: &Path) -> Result<(), SourceError> {
    read(path, |from| {
        for file in ["", "-wal", "-shm", "-journal"].map(|suffix| sidecar(to, suffix)) {
            let _absent = std::fs::remove_file(file);
        }
        let failed = |error| SourceError::Copy { path: to.to_path_buf(), error };
        let mut copy = Connection::open(to).map_err(failed)?;
        back_up(from, &mut copy).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt) => damaged(path, describe(&error)),
            Some(ErrorCode::DiskFull | ErrorCode::CannotOpen) => failed(error),
            Some(ErrorCode::SystemIoFailure) if !is_read(&error) => failed(error),
            _ => SourceError::of(path, error),
        })?;
        let found = copy.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match found {
            Ok(answer) if answer == "ok" => {}
            Ok(answer) => return Err(damaged(path, answer)),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                return Err(damaged(path, describe(&error)));
            }
            Err(error) => return Err(failed(error)),
        }
        copy.close().map_err(|(_, error)| failed(error))
    })
}

fn damaged(path: &Path, message: String) -> SourceError {
    SourceError::Damaged { path: path.to_path_buf(), message }
}

/// Whether an I/O error is one of reading, and so of the original: what is copied to is only written.
fn is_read(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|e| e.extended_code);
    matches!(code, Some(ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS))
}

fn back_up(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    // Without a transaction the lock is given up between two steps, and the copy begins anew after each write.
    from.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")?;
    let backup = Backup::new(from, to)?;
    loop {
        let code = match backup.step(STEP)? {
            StepResult::Done => return Ok(()),
            StepResult::More => continue,
            StepResult::Locked => ffi::SQLITE_LOCKED,
            _ => ffi::SQLITE_BUSY,
        };
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
    }
}

/// What of a database at rest changes when it is written to.
#[derive(Debug, PartialEq, Eq)]
struct State {
    modified: SystemTime,
    inode: Inode,
    bytes: u64,
    /// Bytes of the log. The first connection creates it, the last one removes it.
    log: Option<u64>,
    /// The first bytes, among them the change counter.
    header: Vec<u8>,
}

impl State {
    /// None where there is no such file.
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        let mut header = Vec::new();
        std::fs::File::open(path).ok()?.take(DatabaseHeader::BYTES as u64).read_to_end(&mut header).ok()?;
        Some(Self {
            modified: metadata.modified().ok()?,
            inode: Inode::of(&metadata),
            bytes: metadata.len(),
            log: FileSizes::of(path).wal,
            header,
        })
    }

    /// As it is once the last write is so long ago that a further one has another time.
    fn settled(path: &Path) -> Option<Self> {
        for _ in 1..ATTEMPTS {
            let state = Self::of(path)?;
            // A time in the future says nothing; a write changes it all the same.
            match state.modified.elapsed() {
                Ok(age) if age < SETTLED => std::thread::sleep(SETTLED - age),
                _ => return Some(state),
            }
        }
        Self::of(path)
    }
}

/// Which file has a name: another one may have been moved there.
#[derive(Debug, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
    /// Time of its last change in seconds and nanoseconds; unlike that of modification it cannot be set.
    changed: (i64, i64),
}

impl Inode {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), number: metadata.ino(), changed: (metadata.ctime(), metadata.ctime_nsec()) }
    }

    /// Unknown.
    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self { device: 0, number: 0, changed: (0, 0) }
    }
}

/// The `file:` URI that opens a path as immutable.
fn immutable(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str("?immutable=1");
    uri
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn open(path: &Path) -> Connection {
        Connection::open(path).unwrap()
    }

    /// A database in a folder of its own.
    fn database(sql: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        open(&path).execute_batch(sql).unwrap();
        (folder, path)
    }

    const WAL: &str = "PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)";

    fn count(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
    }

    fn counted(path: &Path) -> Result<i64, SourceError> {
        read(path, |connection| Ok(count(connection)))
    }

    /// Names and bytes of all files of a folder.
    fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
        files.sort();
        files
    }

    #[test]
    fn reading_leaves_nothing_beside_a_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd name?#%é.db");
        let theirs = open(&path);
        theirs.execute_batch(WAL).unwrap();
        // As long as somebody writes, what is in the log is read, too.
        assert_eq!(counted(&path).unwrap(), 1);
        theirs.execute_batch("INSERT INTO t VALUES (2)").unwrap();
        assert_eq!(counted(&path).unwrap(), 2);
        drop(theirs);

        let before = files(folder.path());
        assert_eq!(before.len(), 1);
        let source = Source::find(&path).unwrap();
        let connection = source.open().unwrap();
        assert_eq!(count(&connection), 2);
        assert!(connection.execute_batch("INSERT INTO t VALUES (3)").is_err(), "it cannot be written");
        drop(connection);
        assert!(source.unchanged());
        assert_eq!(files(folder.path()), before, "no -wal, no -shm");
        // An empty log that somebody left holds nothing.
        std::fs::write(sidecar(&path, "-wal"), "").unwrap();
        assert_eq!(counted(&path).unwrap(), 2);
        assert_eq!(files(folder.path()).len(), 2, "no -shm");
    }

    #[test]
    fn a_database_at_rest_is_read_again_where_somebody_writes_meanwhile() {
        for closed in [true, false] {
            let (_folder, path) = database(WAL);
            let (mut attempts, mut theirs) = (0, None);
            let seen = read(&path, |connection| -> Result<i64, SourceError> {
                attempts += 1;
                let seen = count(connection);
                if attempts == 1 {
                    let writer = open(&path);
                    writer.execute_batch("INSERT INTO t VALUES (2)").unwrap();
                    theirs = (!closed).then_some(writer);
                }
                Ok(seen)
            });
            assert_eq!((seen.unwrap(), attempts), (2, 2), "closed: {closed}");
        }
    }

    #[test]
    fn an_error_that_a_writer_causes_is_none_of_the_database() {
        let (_folder, path) = database(WAL);
        let mut attempts = 0;
        let seen = read(&path, |connection| {
            attempts += 1;
            if attempts == 1 {
                open(&path).execute_batch("INSERT INTO t VALUES (2)").unwrap();
                return Err(damaged(&path, "half of it is new".into()));
            }
            Ok(count(connection))
        });
        assert_eq!(seen.unwrap(), 2);
    }

    #[test]
    fn reading_ends_where_the_database_changes_each_time() {
        let (_folder, path) = database(WAL);
        let mut attempts = 0;
        let seen = read(&path, |_| -> Result<(), SourceError> {
            attempts += 1;
            open(&path).execute_batch("INSERT INTO t VALUES (2)").unwrap();
            Ok(())
        });
        assert!(matches!(seen, Err(SourceError::Changing(_))), "{seen:?}");
        assert_eq!(attempts, ATTEMPTS);
    }

    /// Every transaction of the writer keeps the sum, and an index is checked against its table.
    #[test]
    fn a_copy_is_one_state_while_others_write() {
        for mode in ["WAL", "DELETE"] {
            let (folder, path) = database(&format!(
                "PRAGMA journal_mode = {mode}; CREATE TABLE t(a, b); CREATE INDEX by_b ON t(b);
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                 INSERT INTO t SELECT 0, hex(randomblob(50)) FROM n"
            ));
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let writer = open(&path);
                    writer.execute_batch("PRAGMA synchronous = OFF").unwrap();
                    while !done.load(Ordering::Relaxed) {
                        let sql = "BEGIN IMMEDIATE;
                            UPDATE t SET a = a + 1, b = hex(randomblob(50)) WHERE rowid IN (SELECT abs(random()) % 20000 + 1);
                            UPDATE t SET a = a - 1 WHERE rowid = (SELECT max(rowid) FROM t WHERE a > 0 OR rowid = 1); COMMIT";
                        writer.execute_batch(sql).unwrap();
                    }
                });
                let copied: Vec<_> = (0..5)
                    .map(|i| {
                        let to = folder.path().join(format!("copy-{i}.db"));
                        copy(&path, &to)?;
                        Ok::<_, SourceError>(to)
                    })
                    .collect();
                done.store(true, Ordering::Relaxed);
                for to in copied {
                    let copy = open(&to.unwrap());
                    let found: String = copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
                    let sum: i64 = copy.query_row("SELECT sum(a) FROM t", [], |row| row.get(0)).unwrap();
                    assert_eq!((found.as_str(), sum), ("ok", 0), "{mode}");
                }
            });
        }
    }

    #[test]
    fn a_copy_has_what_lies_in_the_log_and_virtual_tables() {
        let (folder, path) = database("PRAGMA journal_mode = WAL");
        let theirs = open(&path);
        let sql = "CREATE VIRTUAL TABLE f USING fts5(a); CREATE VIRTUAL TABLE r USING rtree(id, x0, x1);
            INSERT INTO f VALUES ('one two'); INSERT INTO r VALUES (1, 2, 3)";
        theirs.execute_batch(sql).unwrap();
        let to = folder.path().join("copy.db");
        std::fs::write(&to, "what was there").unwrap();
        copy(&path, &to).unwrap();
        let sql = "SELECT (SELECT count(*) FROM f WHERE f MATCH 'two') + (SELECT count(*) FROM r WHERE x0 < 3)";
        assert_eq!(open(&to).query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
    }

    #[test]
    fn a_damaged_database_is_named_and_so_is_a_copy_that_cannot_be_written() {
        let (folder, path) = database(
            "CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
             INSERT INTO t SELECT hex(randomblob(50)) FROM n",
        );
        let nowhere = copy(&path, &folder.path().join("no/copy.db")).unwrap_err();
        assert!(matches!(nowhere, SourceError::Copy { .. }) && !nowhere.is_bad_input(), "{nowhere}");
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2 / 4096 * 4096;
        bytes[middle..middle + 4096].fill(0);
        std::fs::write(&path, bytes).unwrap();
        let error = copy(&path, &folder.path().join("copy.db")).unwrap_err();
        assert!(matches!(error, SourceError::Damaged { .. }) && error.is_bad_input(), "{error}");
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    }

    /// The files of a database, without some, as a crash of its program leaves them.
    fn left(path: &Path, suffixes: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("app.db");
        for suffix in suffixes {
            std::fs::copy(sidecar(path, suffix), sidecar(&to, suffix)).unwrap();
        }
        (folder, to)
    }

    #[test]
    fn what_only_a_program_that_writes_can_read_is_refused_and_stays_as_it_is() {
        let (_folder, path) = database("CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(50000))");
        let theirs = open(&path);
        theirs.execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE t SET a = zeroblob(60000)").unwrap();
        theirs.cache_flush().unwrap();
        let (journal, hot) = left(&path, &["", "-journal"]);
        let (_folder, path) = database("PRAGMA journal_mode = WAL");
        let theirs = open(&path);
        theirs.execute_batch("CREATE TABLE t(a)").unwrap();
        let (log, unindexed) = left(&path, &["", "-wal"]);
        for (folder, path, words) in
            [(journal, hot, "app.db-journal has to be played back"), (log, unindexed, "app.db-wal")]
        {
            let before = files(folder.path());
            let error = counted(&path).unwrap_err();
            assert!(error.to_string().contains(words) && error.is_bad_input(), "{error}");
            assert_eq!(files(folder.path()), before);
            // The remedy that the message names.
            open(&path).query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).unwrap();
            counted(&path).unwrap();
        }
        drop(theirs);
    }

    #[test]
    fn a_locked_database_is_said_to_be() {
        let (_folder, path) = database("CREATE TABLE t(a)");
        let theirs = open(&path);
        theirs.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let error = counted(&path).unwrap_err();
        assert!(matches!(error, SourceError::Locked { .. }), "{error}");
        assert!(error.to_string().contains("database is locked (SQLITE_BUSY)"), "{error}");
    }

    #[test]
    fn what_is_no_database_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let refused = |path: &Path| {
            let error = counted(path).unwrap_err();
            assert!(error.is_bad_input(), "{error}");
            error.to_string()
        };
        assert!(refused(&path).ends_with("no such file"));
        assert!(refused(&path.join("below")).ends_with("no such file"));
        assert!(refused(folder.path()).ends_with("no regular file"));
        std::fs::write(&path, [7; 8192]).unwrap();
        let error = refused(&path);
        assert!(error.contains("no database, or an encrypted one"), "{error}");
    }
}
