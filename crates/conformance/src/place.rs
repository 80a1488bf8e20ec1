//! A database of a check, a file or a schema on a server, and the suite's own look at it.
//!
//! The suite looks by a connection of its own: a runner is believed in nothing that can be seen another way.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use litelab_protocol::draw::Value;
use litelab_protocol::{Database, Dialect};
use litelab_servers::{Admin, ServersError};

use crate::file::{self, Rows};

/// Where a check has its tables.
pub enum Place {
    /// A file of SQLite's, removed with the check's folder.
    File(PathBuf),
    /// Dropped with this.
    Schema(Schema),
}

/// A schema on a server (of MySQL: a database).
pub struct Schema {
    // A check is on one thread.
    admin: RefCell<Admin>,
    url: String,
    name: String,
}

/// A lock of the suite's, which ends when this is dropped.
pub enum Held {
    /// A transaction on the file.
    File(#[expect(dead_code, reason = "held")] rusqlite::Connection),
    /// One on the server.
    Schema(#[expect(dead_code, reason = "held")] Box<Admin>),
}

impl Place {
    /// An empty schema of its own on the server, and the tables of a script in it.
    pub fn on_server(url: &str, script: &str) -> Result<Self, String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("litelab_check_{}_{number}", std::process::id());
        let mut admin = Admin::connect(url).map_err(said)?;
        admin.create_schema(&name).map_err(said)?;
        // From here on dropping it drops the schema.
        let schema = Schema { admin: RefCell::new(admin), url: url.to_owned(), name };
        schema.ask(|admin, name| admin.script(name, script))?;
        Ok(Self::Schema(schema))
    }

    /// What a trial is given.
    pub fn database(&self) -> Database {
        match self {
            Self::File(path) => Database::File { path: path.display().to_string() },
            Self::Schema(schema) => Database::Server { url: schema.url.clone(), schema: schema.name.clone() },
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
            Self::Schema(schema) => schema.ask(|admin, name| admin.rows(name, sql)).map_err(|e| format!("{sql}: {e}")),
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
        let marks = |mark: &dyn Fn(usize) -> String| (1..=columns).map(mark).collect::<Vec<_>>().join(", ");
        let sql = |marks: String| format!("INSERT INTO {table} VALUES ({marks})");
        match self {
            Self::File(path) => {
                let mut connection = file::open(path)?;
                let mut fill = || -> rusqlite::Result<()> {
                    let transaction = connection.transaction()?;
                    for row in &rows {
                        let values = rusqlite::params_from_iter(row.iter().map(file::Bound));
                        transaction.prepare_cached(&sql(marks(&|i| format!("?{i}"))))?.execute(values)?;
                    }
                    transaction.commit()
                };
                fill().map_err(|e| e.to_string())
            }
            Self::Schema(schema) => schema.ask(|admin, name| {
                let mark = |i| if admin.dialect() == Dialect::Postgres { format!("${i}") } else { "?".into() };
                let sql = sql(marks(&mark));
                admin.insert(name, &sql, rows).map(drop)
            }),
        }
    }

    /// The hash of a table's content, as the core takes it after a trial.
    pub fn content(&self, table: &str) -> Result<String, String> {
        match self {
            Self::File(path) => {
                litelab_engine::verify::content_hash(&file::open(path)?, table).map_err(|e| e.to_string())
            }
            Self::Schema(schema) => schema.ask(|admin, name| admin.content_hash(name, table)),
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
            Self::Schema(schema) => {
                let mut admin = Admin::connect(&schema.url).map_err(said)?;
                let sql = match admin.dialect() {
                    Dialect::Postgres => format!("BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE"),
                    _ => format!("START TRANSACTION; SELECT * FROM {table} FOR UPDATE"),
                };
                admin.script(&schema.name, &sql).map_err(said)?;
                Ok(Held::Schema(Box::new(admin)))
            }
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
            Self::Schema(schema) => Box::new(|| schema.ask(|admin, name| admin.script(name, sql))),
        };
        while begun.elapsed() < long {
            std::thread::sleep(Duration::from_millis(10));
            once()?;
        }
        Ok(())
    }
}

impl Schema {
    fn ask<T>(&self, what: impl FnOnce(&mut Admin, &str) -> Result<T, ServersError>) -> Result<T, String> {
        what(&mut self.admin.borrow_mut(), &self.name).map_err(said)
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // Where the server itself is gone, so are its schemas.
        if self.admin.get_mut().drop_schema(&self.name).is_err() {
            let _left = Admin::connect(&self.url).and_then(|mut admin| admin.drop_schema(&self.name));
        }
    }
}

fn said(error: ServersError) -> String {
    error.to_string()
}
