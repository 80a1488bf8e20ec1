//! A database of a check, a file or a schema on a server, and the suite's own look at it.
//!
//! The suite looks by a connection of its own: a runner is believed in nothing that can be seen another way.

use std::path::{Path, PathBuf};
use std::time::Duration;

use litelab_protocol::Database;
use litelab_protocol::draw::Value;

use crate::file::{self, Rows};
use crate::server::{self, Schema};

/// Where a check has its tables.
pub enum Place {
    /// A file of SQLite's, removed with the check's folder.
    File(PathBuf),
    /// Dropped with this.
    Schema(Schema),
}

/// A lock of the suite's, which ends when this is dropped.
pub enum Held {
    /// A transaction on the file.
    File(#[expect(dead_code, reason = "held")] rusqlite::Connection),
    /// One on the server.
    Schema(#[allow(dead_code, reason = "held")] server::Held),
}

impl Place {
    /// An empty schema of its own on the server, and the tables of a script in it.
    pub fn on_server(url: &str, script: &str) -> Result<Self, String> {
        Schema::make(url, script).map(Self::Schema)
    }

    /// What a trial is given.
    pub fn database(&self) -> Database {
        match self {
            Self::File(path) => Database::File { path: path.display().to_string() },
            Self::Schema(schema) => schema.database(),
        }
    }

    /// The file; of a schema none.
    pub fn file(&self) -> Result<&Path, String> {
        match self {
            Self::File(path) => Ok(path),
            Self::Schema(_) => Err("a schema on a server is no file".into()),
        }
    }

    /// All rows of a query.
    pub fn rows(&self, sql: &str) -> Result<Rows, String> {
        match self {
            Self::File(path) => file::rows(path, sql),
            Self::Schema(schema) => schema.rows(sql).map_err(|e| format!("{sql}: {e}")),
        }
    }

    /// The integers of a query's first column.
    pub fn integers(&self, sql: &str) -> Result<Vec<i64>, String> {
        let integer = |row: &Vec<Value>| match row.first() {
            Some(Value::Integer(i)) => Ok(*i),
            other => Err(format!("{sql}: {other:?} is no integer")),
        };
        self.rows(sql)?.iter().map(integer).collect()
    }

    /// The only integer of a query.
    pub fn integer(&self, sql: &str) -> Result<i64, String> {
        self.integers(sql)?.first().copied().ok_or_else(|| format!("{sql}: no row"))
    }

    /// Inserts rows into a table, which has one column for each value.
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

    /// The hash of a table's content, as the core takes it after a trial.
    pub fn content(&self, table: &str) -> Result<String, String> {
        match self {
            Self::File(path) => {
                litelab_engine::verify::content_hash(&file::open(path)?, table).map_err(|e| e.to_string())
            }
            Self::Schema(schema) => schema.content(table),
        }
    }

    /// Keeps all others from writing to an empty table: the file's write lock, a lock on a table of PostgreSQL's, the gap
    /// that InnoDB's rows would go to.
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

    /// Runs a statement every 10 ms for so long, and never after. No commit waits for a disk: who syncs holds a lock for long.
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

/// An INSERT of one row, with the mark of each of its values.
pub fn insert(table: &str, columns: usize, mark: impl Fn(usize) -> String) -> String {
    let marks: Vec<String> = (1..=columns).map(mark).collect();
    format!("INSERT INTO {table} VALUES ({})", marks.join(", "))
}
