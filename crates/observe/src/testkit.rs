//! A real SQLite in another process: this test binary, started with only [`sqlite_child`] to run. Tests of an observer
//! must not open connections themselves, see the contract of the crate.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use proptest::sample::Index;

use crate::sidecar;

/// Number of cases of a test with hostile input: 256, or the value of LITELAB_FUZZ_CASES.
pub(crate) fn cases() -> proptest::prelude::ProptestConfig {
    let cases = std::env::var("LITELAB_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(256);
    proptest::prelude::ProptestConfig { cases, failure_persistence: None, ..Default::default() }
}

const DATABASE: &str = "LITELAB_TEST_SQLITE_CHILD";

/// A child with two connections to one database, driven by one line per request.
pub(crate) struct Sqlite {
    child: Child,
    replies: BufReader<ChildStderr>,
    path: PathBuf,
    _dir: Option<tempfile::TempDir>,
}

impl Sqlite {
    pub(crate) fn spawn() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::start(dir.path().join("trial.db"), Some(dir))
    }

    /// Another process on the same database.
    pub(crate) fn spawn_on(path: &Path) -> Self {
        Self::start(path.to_owned(), None)
    }

    fn start(path: PathBuf, dir: Option<tempfile::TempDir>) -> Self {
        let mut child = this_test("testkit::sqlite_child")
            .env(DATABASE, &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let replies = BufReader::new(child.stderr.take().unwrap());
        Sqlite { child, replies, path, _dir: dir }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A database with one table and one row of 20,000 bytes, all of it still in the log.
    pub(crate) fn wal_database(&mut self, page_size: u32) {
        self.exec(&format!("PRAGMA page_size={page_size}"));
        self.exec("PRAGMA journal_mode=WAL");
        self.exec("PRAGMA wal_autocheckpoint=0");
        self.exec("PRAGMA synchronous=OFF");
        self.exec("CREATE TABLE t(x)");
        self.exec("INSERT INTO t(x) VALUES (zeroblob(20000))");
    }

    pub(crate) fn exec(&mut self, sql: &str) -> Vec<i64> {
        self.ask('1', sql)
    }

    /// Executes SQL on the second connection.
    pub(crate) fn exec_second(&mut self, sql: &str) -> Vec<i64> {
        self.ask('2', sql)
    }

    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        self.exec(sql)[0]
    }

    /// `[busy, log, checkpointed]` as the PRAGMA reports it.
    pub(crate) fn checkpoint(&mut self, mode: &str) -> [i64; 3] {
        self.exec(&format!("PRAGMA wal_checkpoint({mode})")).try_into().unwrap()
    }

    /// Begins a read transaction on the second connection and leaves it open.
    pub(crate) fn begin_reader(&mut self) {
        self.exec_second("BEGIN");
        self.exec_second("SELECT count(*) FROM t");
    }

    /// Locks a byte of the wal-index for an open file description of the child, which it keeps.
    pub(crate) fn lock_description(&mut self, byte: i64) {
        self.ask('3', &byte.to_string());
    }

    /// Closes both connections, which removes the log and the wal-index, and waits for the child's end.
    pub(crate) fn close(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    fn ask(&mut self, connection: char, sql: &str) -> Vec<i64> {
        writeln!(self.child.stdin.as_mut().unwrap(), "{connection}{sql}").unwrap();
        let mut reply = String::new();
        self.replies.read_line(&mut reply).unwrap();
        let numbers = reply.trim_end().strip_prefix("ok").unwrap_or_else(|| panic!("{sql}: {reply}"));
        numbers.split_whitespace().map(|number| number.parse().unwrap()).collect()
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Command that runs the one ignored test of that name in this test binary.
pub(crate) fn this_test(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", name]);
    command
}

#[test]
#[ignore = "the child side of the tests, not a test"]
fn sqlite_child() {
    let Some(path) = std::env::var_os(DATABASE) else {
        return;
    };
    let connections = [(); 2].map(|()| rusqlite::Connection::open(&path).unwrap());
    let mut described = Vec::new();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let (connection, sql) = line.split_at(1);
        if connection == "3" {
            described.push(lock_description(Path::new(&path), sql.parse().unwrap()));
            writeln!(std::io::stderr(), "ok").unwrap();
            continue;
        }
        let connection = &connections[usize::from(connection == "2")];
        let reply = first_row(connection, sql).map_or_else(
            |error| format!("error {error}"),
            |row| row.iter().fold("ok".to_owned(), |line, number| format!("{line} {number}")),
        );
        // Standard error, because libtest writes to standard output.
        writeln!(std::io::stderr(), "{reply}").unwrap();
    }
}

/// Opens the wal-index and locks a byte of it exclusively for that open file description.
pub(crate) fn lock_description(database: &Path, byte: i64) -> File {
    let shm = File::options().read(true).write(true).open(sidecar(database, "-shm")).unwrap();
    // SAFETY: the structure is valid as zeros, and the descriptor is open.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_start, lock.l_len) = (libc::F_WRLCK as _, byte, 1);
    assert_eq!(unsafe { libc::fcntl(shm.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }, 0);
    shm
}

/// The integers of the first row, if any; a text is replaced by its length, for PRAGMAs that return a word.
fn first_row(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else {
        return Ok(vec![]);
    };
    (0..columns)
        .map(|column| {
            Ok(match row.get_ref(column)? {
                rusqlite::types::ValueRef::Integer(number) => number,
                other => other.as_bytes().map_or(0, <[u8]>::len) as i64,
            })
        })
        .collect()
}

/// A text with some characters replaced, cut at some place.
pub(crate) fn changed_text(text: &str, edits: &[(Index, char)], cut: Index) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for (at, character) in edits {
        let at = at.index(characters.len());
        characters[at] = *character;
    }
    characters.truncate(cut.index(2 * text.len()));
    characters.into_iter().collect()
}
