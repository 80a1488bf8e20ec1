//! Trials, and a database to inspect.
#![allow(dead_code)]

pub use litelab_harness::testing::*;
use litelab_protocol::{Begin, Connection, Database, Executor, Failed, Role, Source, Transaction, Trial};

pub const RUNNER: Program = Program(env!("CARGO_BIN_EXE_litelab-runner-rusqlite"));

/// Makes two tests of each of these functions: one for each driver with a session of the harness.
macro_rules! on_each_driver {
    ($($name:ident)+) => {
        mod on_rusqlite {
            $(#[test]
            fn $name() {
                super::$name("rusqlite");
            })+
        }
        mod on_c {
            $(#[test]
            fn $name() {
                super::$name("c");
            })+
        }
    };
}
pub(crate) use on_each_driver;

/// Executors within one process.
pub const EXECUTORS: [Executor; 4] = [Executor::Threads, Executor::Inline, Executor::Offload, Executor::Dedicated];

pub fn run(trial: &Trial) -> Outcome {
    RUNNER.run(trial)
}

pub fn fail(trial: &Trial) -> Failed {
    RUNNER.fail(trial)
}

/// Insert into `t(id, a, b)` that most tests use.
pub fn insert(begin: Begin) -> Transaction {
    let params = vec![uniform("a", 1, 100), param("b", Source::Hex { bytes: 8 })];
    transaction("insert", begin, params, vec![statement("INSERT INTO t(a, b) VALUES (?1, ?2)", &[0, 1])])
}

/// One connection for each worker, WAL, no sync, 5 s busy timeout (rusqlite's default), no retry, no warm-up, no probe.
pub fn trial(driver: &str, databases: Vec<Database>, transactions: Vec<Transaction>, roles: Vec<Role>) -> Trial {
    let settings = pragmas(&[("busy_timeout", "5000"), ("journal_mode", "WAL"), ("synchronous", "OFF")]);
    let connection = Connection { settings, ..Connection::default() };
    Trial { connection, ..litelab_harness::testing::trial(driver, databases, transactions, roles) }
}

/// A database file with an empty `t`, in a directory that is deleted with it.
pub struct Scratch {
    directory: tempfile::TempDir,
    pub connection: rusqlite::Connection,
}

impl Scratch {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("directory");
        let connection = rusqlite::Connection::open(directory.path().join("test.db")).expect("open");
        connection.execute_batch("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)").expect("schema");
        Self { directory, connection }
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    pub fn database(&self) -> Database {
        file(&self.path("test.db"))
    }

    pub fn run(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    pub fn number(&self, sql: &str) -> i64 {
        self.connection.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// Inserts rows 1 to n, `a` = `id`, `b` some text.
    pub fn fill(&self, n: u32) {
        self.run(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n})
             INSERT INTO t SELECT i, i, 'text of row ' || i FROM n"
        ));
    }
}
