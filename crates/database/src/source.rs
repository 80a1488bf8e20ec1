//! A user's database: read in one consistent state, never written, no files left next to it.
//!
//! | state of the database | method of reading |
//! |---|---|
//! | rollback journal | under SQLite's shared lock |
//! | WAL, with `-wal` and `-shm` | in a read transaction: a snapshot, also during writes of others |
//! | WAL at rest: no log, or an empty one without `-shm` | as immutable; repeated if the file changed meanwhile |
//! | hot journal, or a log without its index | refused: both need a program with write access |
//!
//! A read-only connection creates `-wal` and `-shm` next to a WAL database at rest and cannot remove them
//! (<https://sqlite.org/wal.html#readonly>). `immutable=1` (<https://sqlite.org/c3ref/open.html>) creates neither, but
//! takes no lock: the data is valid only if the file has not changed since.

use std::fs::Metadata;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use litelab_observe::{DatabaseHeader, FileSizes, has_journal, sidecar};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::error::{SourceError, describe};
use crate::guard;

/// Maximum number of attempts to read a database that changes meanwhile.
const ATTEMPTS: u32 = 10;

/// Age from which a modification time differs from that of every later write. File systems use the time of the kernel's
/// last tick, 1 to 10 ms ago, so that two writes within one tick have the same modification time.
const SETTLED: Duration = Duration::from_millis(100);

/// Number of pages per step of a copy.
const STEP: i32 = 1000;

/// A database, with its state at the time of lookup.
#[derive(Debug)]
pub struct Source {
    /// As it was named, for messages.
    path: PathBuf,
    /// Its absolute path without symbolic links: SQLite keeps the log beside the file that a link leads to, and takes a path
    /// that begins with `file:` for a URI.
    file: PathBuf,
    /// State of a database at rest, which is read as immutable; `None` for any other.
    at_rest: Option<State>,
}

impl Source {
    /// Inspects the files of the database at `path`. Opens and closes the database without SQLite, which drops all
    /// locks of this process on it (<https://sqlite.org/howtocorrupt.html>, section 2.2): the process must hold none.
    ///
    /// # Errors
    /// If the file does not exist, or cannot be read without writing next to it.
    pub fn find(path: &Path) -> Result<Self, SourceError> {
        let file = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let source = |at_rest| Self { path: path.to_path_buf(), file: file.clone(), at_rest };
        match std::fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => return Err(SourceError::NoFile(path.to_path_buf())),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(SourceError::Missing(path.to_path_buf()));
            }
            _ => {}
        }
        // SQLite reports the error for a file that is unreadable or not a database.
        if !matches!(DatabaseHeader::read(&file), Ok(Some(header)) if header.wal) {
            return Ok(source(None));
        }
        let at_rest = || match FileSizes::of(&file) {
            // With `immutable=1` SQLite would ignore the journal.
            _ if has_journal(&file) => Ok(false),
            FileSizes { wal: None, .. } | FileSizes { wal: Some(0), shm: None, .. } => Ok(true),
            FileSizes { shm: None, .. } => Err(SourceError::Log(path.to_path_buf())),
            _ => Ok(false),
        };
        if !at_rest()? {
            return Ok(source(None));
        }
        let state = State::settled(&file);
        // A program that has opened the database since has created a log.
        Ok(source(if at_rest()? { state } else { None }))
    }

    /// Opens a read-only connection.
    ///
    /// # Errors
    /// If the file is not a database, or SQLite cannot read it.
    pub fn open(&self) -> Result<Connection, SourceError> {
        let failed = |error| SourceError::of(&self.path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = match self.at_rest {
            Some(_) => Connection::open_with_flags(immutable(&self.file), flags | OpenFlags::SQLITE_OPEN_URI),
            None => Connection::open_with_flags(&self.file, flags),
        }
        .map_err(failed)?;
        guard::deny_files(&mut connection).map_err(failed)?;
        // Opening a connection reads nothing, so a query finds errors here.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(failed)?;
        Ok(connection)
    }

    /// Whether all data read since [`Source::find`] belongs to one state of the database: always `true` under locks;
    /// for a database at rest, if it has not changed. All connections to it must be closed.
    #[must_use]
    pub fn unchanged(&self) -> bool {
        self.at_rest.as_ref().is_none_or(|before| State::of(&self.file).as_ref() == Some(before))
    }
}

/// Reads a database in one consistent state. Calls `read` again if the database changed meanwhile. If several
/// statements must see the same state, `read` begins a transaction.
///
/// # Errors
/// If the database cannot be read or changes during every attempt, and the error of `read`.
pub fn read<T, E: From<SourceError>>(path: &Path, mut read: impl FnMut(&Connection) -> Result<T, E>) -> Result<T, E> {
    for _ in 0..ATTEMPTS {
        let source = Source::find(path)?;
        let result = source.open().map_err(E::from).and_then(|connection| read(&connection));
        // An error caused by a concurrent write is not an error of the database.
        if source.unchanged() {
            return result;
        }
    }
    Err(SourceError::Changing(path.to_path_buf()).into())
}

/// Copies a database including its log to `to`, replacing a file there, in one consistent state, and checks the copy by
/// `PRAGMA quick_check`. Writers are blocked as by any reader: not at all in WAL mode, and at their commit with a
/// rollback journal.
///
/// # Errors
/// Those of [`read`]; [`SourceError::Damaged`] if the database is corrupt, and [`SourceError::Copy`] if `to` cannot be
/// written.
pub fn copy(path: &Path, to: &Path) -> Result<(), SourceError> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    copy_until(path, to, &NEVER)
}

/// Like [`copy`], which ends when `stop` is set.
///
/// # Errors
/// Those of [`copy`], and [`SourceError::Stopped`], after which a part of the copy remains.
pub fn copy_until(path: &Path, to: &Path, stop: &AtomicBool) -> Result<(), SourceError> {
    read(path, |from| {
        for file in ["", "-wal", "-shm", "-journal"].map(|suffix| sidecar(to, suffix)) {
            let _absent = std::fs::remove_file(file);
        }
        let failed = |error| SourceError::Copy { path: to.to_path_buf(), error };
        // An absolute path is no URI.
        let absolute = std::path::absolute(to).unwrap_or_else(|_| to.to_path_buf());
        let mut copy = Connection::open(absolute).map_err(failed)?;
        let stopped = || SourceError::Stopped(path.to_path_buf());
        back_up(from, &mut copy, stop).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => stopped(),
            Some(ErrorCode::DatabaseCorrupt) => damaged(path, describe(&error)),
            Some(ErrorCode::DiskFull | ErrorCode::CannotOpen) => failed(error),
            Some(ErrorCode::SystemIoFailure) if !is_read(&error) => failed(error),
            _ => SourceError::of(path, error),
        })?;
        let check = || copy.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match interruptible(&copy, stop, check) {
            Ok(answer) if answer == "ok" || is_of_content(&answer) => {}
            Ok(answer) => return Err(damaged(path, answer)),
            // It does not compile where an index or a CHECK needs a collation or function of the application.
            Err(rusqlite::Error::SqlInputError { .. }) => {}
            Err(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseCorrupt) => return Err(damaged(path, describe(&error))),
                Some(ErrorCode::OperationInterrupted) => return Err(stopped()),
                Some(ErrorCode::Unknown) => {}
                _ => return Err(failed(error)),
            },
        }
        copy.close().map_err(|(_, error)| failed(error))
    })
}

/// Executes `work`, and interrupts the connection while `stop` is set. A progress handler would need a `stop` that is never
/// dropped.
fn interruptible<T>(connection: &Connection, stop: &AtomicBool, work: impl FnOnce() -> T) -> T {
    let (handle, done) = (connection.get_interrupt_handle(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if stop.load(Ordering::Relaxed) {
                    handle.interrupt();
                }
                std::thread::park_timeout(Duration::from_millis(50));
            }
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        watch.thread().unpark();
        result
    })
}

fn damaged(path: &Path, message: String) -> SourceError {
    SourceError::Damaged { path: path.to_path_buf(), message }
}

/// Whether a message of `quick_check` is of a value that a constraint forbids, in a file that is whole. Those of the pages
/// come first.
fn is_of_content(message: &str) -> bool {
    let starts = ["CHECK constraint failed in ", "NULL value in ", "TEXT value in ", "NUMERIC value in ", "non-"];
    starts.iter().any(|start| message.starts_with(start))
}

/// Whether an I/O error is a read error, and so of the original: the copy is only written.
fn is_read(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|e| e.extended_code);
    matches!(code, Some(ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS))
}

fn back_up(from: &Connection, to: &mut Connection, stop: &AtomicBool) -> rusqlite::Result<()> {
    // Without a transaction SQLite releases the lock between steps, and restarts the copy after each write.
    from.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")?;
    let backup = Backup::new(from, to)?;
    loop {
        let code = match backup.step(STEP)? {
            StepResult::Done => return Ok(()),
            StepResult::More if stop.load(Ordering::Relaxed) => ffi::SQLITE_INTERRUPT,
            StepResult::More => continue,
            StepResult::Locked => ffi::SQLITE_LOCKED,
            _ => ffi::SQLITE_BUSY,
        };
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
    }
}

/// Properties of a database at rest that a write changes.
#[derive(Debug, PartialEq, Eq)]
struct State {
    modified: SystemTime,
    inode: Inode,
    bytes: u64,
    /// Size of the log in bytes. The first connection creates the log, the last one removes it.
    log: Option<u64>,
    /// Database header, which contains the change counter.
    header: Vec<u8>,
}

impl State {
    /// Reads the state; `None` if the file does not exist.
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

    /// The state, read once the last write is old enough that the next one has another modification time.
    fn settled(path: &Path) -> Option<Self> {
        for _ in 1..ATTEMPTS {
            let state = Self::of(path)?;
            // A modification time in the future has no age, but every write changes it.
            match state.modified.elapsed() {
                Ok(age) if age < SETTLED => std::thread::sleep(SETTLED - age),
                _ => return Some(state),
            }
        }
        Self::of(path)
    }
}

/// Identity of a file, which detects that another file was moved to its path.
#[derive(Debug, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
    /// Change time in seconds and nanoseconds; unlike the modification time it cannot be set.
    changed: (i64, i64),
}

impl Inode {
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), number: metadata.ino(), changed: (metadata.ctime(), metadata.ctime_nsec()) }
    }
}

/// What is percent-encoded in a path within a URI.
pub const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The `file:` URI that opens a path as immutable.
#[must_use]
pub fn immutable(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    format!("file:{}?immutable=1", percent_encode(path.as_os_str().as_encoded_bytes(), PATH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path) -> Connection {
        Connection::open(path).unwrap()
    }

    /// A database in a temporary folder.
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
        // During another connection's writes the content of the log is read too.
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
        // An abandoned empty log contains nothing.
        std::fs::write(sidecar(&path, "-wal"), "").unwrap();
        assert_eq!(counted(&path).unwrap(), 2);
        assert_eq!(files(folder.path()).len(), 2, "no -shm");
    }

    #[test]
    fn a_forbidden_value_is_no_damage_to_a_copy() {
        let (folder, path) = database(
            "CREATE TABLE t(a INT NOT NULL CHECK (a > 0)); PRAGMA ignore_check_constraints = ON; INSERT INTO t VALUES (0)",
        );
        let to = folder.path().join("copy.db");
        copy(&path, &to).unwrap();
        assert_eq!(counted(&to).unwrap(), 1);
    }

    #[test]
    fn a_copy_ends_when_it_is_to() {
        let (folder, path) = database("CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(8000000))");
        let stop = AtomicBool::new(true);
        assert!(matches!(copy_until(&path, &folder.path().join("copy.db"), &stop), Err(SourceError::Stopped(_))));
    }

    #[test]
    fn a_statement_ends_when_it_is_to() {
        let (connection, stop) = (Connection::open_in_memory().unwrap(), AtomicBool::new(false));
        let sql = |end: &str| {
            format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n {end}) SELECT count(*) FROM n")
        };
        let count = |end| connection.query_row(&sql(end), [], |row| row.get::<_, i64>(0));
        assert_eq!(interruptible(&connection, &stop, || count("LIMIT 3")).unwrap(), 3);
        let endless = interruptible(&connection, &stop, || {
            stop.store(true, Ordering::Relaxed);
            count("")
        });
        assert_eq!(endless.unwrap_err().sqlite_error_code(), Some(ErrorCode::OperationInterrupted));
    }

    #[test]
    fn a_link_leads_to_the_database_and_its_log() {
        let (_folder, path) = database(WAL);
        let theirs = open(&path);
        theirs.execute_batch("INSERT INTO t VALUES (2)").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let link = elsewhere.path().join("link.db");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(counted(&link).unwrap(), 2, "the log is beside the file");
        assert_eq!(files(elsewhere.path()).len(), 1, "nothing is beside the link");
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

    /// Each transaction of the writer keeps the sum constant, and the index is checked against its table.
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

    /// A copy of some of a database's files, as after a crash.
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
            // Applies the remedy in the message.
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
