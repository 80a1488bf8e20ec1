//! Trials of libraries under tokio, and their database.

use super::{file, param, pragmas, statement, transaction, uniform};
use litelab_protocol::{Begin, Connection, Database, Executor, Role, Source, Transaction, Trial};

/// One millisecond in nanoseconds.
pub const MS: u64 = 1_000_000;

/// The insert that most tests use, into `t(id, a, b)`.
pub fn insert(begin: Begin) -> Transaction {
    let params = vec![uniform("a", 1, 100), param("b", Source::Hex { bytes: 8 })];
    transaction("insert", begin, params, vec![statement("INSERT INTO t(a, b) VALUES (?1, ?2)", &[0, 1])])
}

/// A trial with WAL, `synchronous = OFF`, a probe and one thread for tasks; without retry and warm-up.
pub fn trial(
    (driver, executor): (&str, Executor),
    databases: Vec<Database>,
    transactions: Vec<Transaction>,
    roles: Vec<Role>,
) -> Trial {
    let settings = pragmas(&[("journal_mode", "WAL"), ("synchronous", "OFF")]);
    let connection = Connection { settings, ..Connection::default() };
    let trial = super::trial(driver, databases, transactions, roles);
    Trial { executor, connection, runtime_threads: Some(1), probe_ms: 5, ..trial }
}

/// A database file with an empty table `t`, in a directory that is removed with this value.
pub struct Scratch {
    directory: tempfile::TempDir,
    /// Connection to inspect the database after the runner.
    pub connection: rusqlite::Connection,
}

impl Scratch {
    /// A database in a new directory.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("directory");
        let connection = rusqlite::Connection::open(directory.path().join("test.db")).expect("open");
        connection.execute_batch("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)").expect("schema");
        Self { directory, connection }
    }

    /// Path of a file in the directory.
    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    /// The database, for a trial.
    pub fn database(&self) -> Database {
        file(&self.path("test.db"))
    }

    /// Runs SQL.
    pub fn run(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    /// Inserts rows 1 to n, `a` = `id`, `b` some text.
    pub fn fill(&self, n: u32) {
        self.run(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n})
             INSERT INTO t SELECT i, i, 'text of row ' || i FROM n"
        ));
    }

    /// Result of a query that returns one number.
    pub fn number(&self, sql: &str) -> i64 {
        self.connection.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// The first column of every row of a query, which is text.
    pub fn column(&self, sql: &str) -> Vec<String> {
        let column = || -> rusqlite::Result<Vec<String>> {
            self.connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
        };
        column().unwrap_or_else(|e| panic!("{sql}: {e}"))
    }
}
