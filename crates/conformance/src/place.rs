//! The database of a check, a file or a schema on a server, and the suite's own access to it.
//!
//! The suite uses its own connection, so that it does not depend on reports of the runner.

use std::path::{Path, PathBuf};
use std::time::Duration;

use litelab_protocol::Database;
use litelab_protocol::draw::Value;

use crate::file::{self, Rows};
use crate::server::{self, Schema};

/// Where the tables of a check are.
pub enum CheckDatabase {
    /// An SQLite file; removed with the folder of the check.
    File(PathBuf),
    /// A schema on a server; dropped with this value.
    Schema(Schema),
}

/// A lock that the suite holds until this value is dropped.
pub enum Held {
    /// An open transaction on the file.
    File(#[expect(dead_code, reason = "held")] rusqlite::Connection),
    /// An open transaction on the server.
    Schema(#[allow(dead_code, reason = "held")] server::Held),
}

impl CheckDatabase {
    /// Creates a new schema on the server and runs a script in it.
    pub fn on_server(url: &str, script: &str) -> Result<Self, String> {
        Schema::make(url, script).map(Self::Schema)
    }

    /// The database in the form in which a trial names it.
    pub fn database(&self) -> Database {
        match self {
            Self::File(path) => Database::File { path: path.display().to_string() },
            Self::Schema(schema) => schema.database(),
        }
    }

    /// Path of the file. An error for a schema.
    pub fn file(&self) -> Result<&Path, String> {
        match self {
            Self::File(path) => Ok(path),
            Self::Schema(_) => Err("a schema on a server is no file".into()),
        }
    }

    /// Returns all rows of a query.
    pub fn rows(&self, sql: &str) -> Result<Rows, String> {
        match self {
            Self::File(path) => file::rows(path, sql),
            Self::Schema(schema) => schema.rows(sql).map_err(|e| format!("{sql}: {e}")),
        }
    }

    /// Returns the integers of a query's first column.
    pub fn integers(&self, sql: &str) -> Result<Vec<i64>, String> {
        let integer = |row: &Vec<Value>| match row.first() {
            Some(Value::Integer(i)) => Ok(*i),
            other => Err(format!("{sql}: {other:?} is no integer")),
        };
        self.rows(sql)?.iter().map(integer).collect()
    }

    /// Returns the first integer of a query. An error if there is no row.
    pub fn integer(&self, sql: &str) -> Result<i64, String> {
        self.integers(sql)?.first().copied().ok_or_else(|| format!("{sql}: no row"))
    }

    /// Inserts rows into a table that has one column per value.
    pub fn insert(&self, table: &str, rows: Vec<Vec<Value>>) -> Result<(), String> {
        let columns = rows.first().map_or(0, Vec::len);
        match self {
            Self::File(path) => {
                let mut connection = file::open(path)?;
                let mut fill = || -> rusqlite::Result<()> {
                    let transaction = connection.transaction()?;
                    for row in &rows {
                        let values = rusqlite::params_from_iter(row.iter().map(file::Bound));
                        transaction.prepare_cached(&insert(table, columns, |i| format!("?{i}")))?.execute(values)?;
                    }
                    transaction.commit()
                };
                fill().map_err(|e| e.to_string())
            }
            Self::Schema(schema) => schema.insert(table, rows),
        }
    }

    /// Content hash of a table, computed as the engine does after a trial.
    pub fn content(&self, table: &str) -> Result<String, String> {
        match self {
            Self::File(path) => {
                litelab_engine::verify::content_hash(&file::open(path)?, table).map_err(|e| e.to_string())
            }
            Self::Schema(schema) => schema.content(table),
        }
    }

    /// Blocks all other writers of an empty table: by the file's write lock, a table lock in PostgreSQL, a gap lock in
    /// InnoDB.
    pub fn hold(&self, table: &str) -> Result<Held, String> {
        match self {
            Self::File(path) => {
                let lock = file::open(path)?;
                lock.execute_batch("BEGIN IMMEDIATE").map_err(|e| e.to_string())?;
                Ok(Held::File(lock))
            }
            Self::Schema(schema) => schema.hold(table).map(Held::Schema),
        }
    }

    /// Runs a statement every 10 ms for the time `long`. Commits do not sync, so that each holds its lock only briefly.
    pub fn meddle(&self, sql: &str, long: Duration) -> Result<(), String> {
        let begun = std::time::Instant::now();
        let mut once: Box<dyn FnMut() -> Result<(), String>> = match self {
            Self::File(path) => {
                let connection = file::open(path)?;
                connection.busy_timeout(Duration::from_secs(1)).map_err(|e| e.to_string())?;
                connection.pragma_update(None, "synchronous", "OFF").map_err(|e| e.to_string())?;
                Box::new(move || connection.execute_batch(sql).map_err(|e| e.to_string()))
            }
            Self::Schema(schema) => Box::new(|| schema.script(sql)),
        };
        while begun.elapsed() < long {
            std::thread::sleep(Duration::from_millis(10));
            once()?;
        }
        Ok(())
    }
}

/// SQL that inserts one row; `mark` returns the parameter for each column, counted from 1.
pub fn insert(table: &str, columns: usize, mark: impl Fn(usize) -> String) -> String {
    let marks: Vec<String> = (1..=columns).map(mark).collect();
    format!("INSERT INTO {table} VALUES ({})", marks.join(", "))
}
