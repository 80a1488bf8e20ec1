//! The database of a check, and the suite's own access to it, which does not depend on reports of the runner.

use std::any::Any;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use litelab_protocol::Database;
use litelab_protocol::draw::Value;
use rusqlite::Connection;
use rusqlite::types::{Value as Sql, ValueRef};

use crate::error::{At, Result};

/// Rows as generated values.
pub type Rows = Vec<Vec<Value>>;

/// A connection that runs statements.
pub type Writer<'a> = Box<dyn FnMut(&str) -> Result + 'a>;

/// An SQLite file, or a schema on a server.
pub trait CheckDatabase {
    /// The database in the form in which a trial names it.
    fn database(&self) -> Database;

    /// Returns all rows of a query.
    fn rows(&self, sql: &str) -> Result<Rows>;

    /// Inserts rows into a table that has one column per value.
    fn insert(&self, table: &str, rows: Rows) -> Result;

    /// Content hash of a table, computed as the engine does after a trial.
    fn content(&self, table: &str) -> Result<String>;

    /// Blocks all other writers of an empty table until the returned value is dropped: by the file's write lock, a
    /// table lock in PostgreSQL, a gap lock in InnoDB.
    fn hold(&self, table: &str) -> Result<Box<dyn Any>>;

    /// A connection that runs statements. Its commits do not sync, so that each holds its lock only briefly.
    fn writer(&self) -> Result<Writer<'_>>;

    /// Returns the integers of a query's first column.
    fn integers(&self, sql: &str) -> Result<Vec<i64>> {
        let integer = |row: &Vec<Value>| match row.first() {
            Some(Value::Integer(i)) => Ok(*i),
            other => Err(format!("{sql}: {other:?} is no integer").into()),
        };
        self.rows(sql)?.iter().map(integer).collect()
    }

    /// Returns the first integer of a query. An error if there is no row.
    fn integer(&self, sql: &str) -> Result<i64> {
        self.integers(sql)?.first().copied().ok_or_else(|| format!("{sql}: no row").into())
    }

    /// Runs a statement every 10 ms for the time `long`.
    fn meddle(&self, sql: &str, long: Duration) -> Result {
        let begun = Instant::now();
        let mut write = self.writer()?;
        while begun.elapsed() < long {
            std::thread::sleep(Duration::from_millis(10));
            write(sql)?;
        }
        Ok(())
    }
}

/// An SQLite file; removed with the folder of the check.
pub struct File(pub PathBuf);

impl File {
    /// Creates a database with this schema and closes it.
    pub fn create(path: PathBuf, schema: &str) -> Result<Self> {
        let file = Self(path);
        file.writer()?(schema)?;
        Ok(file)
    }

    /// Opens the database with the suite's own settings.
    pub fn open(&self) -> Result<Connection> {
        let connection = Connection::open(&self.0).at(self.0.display())?;
        // Processes that a killed runner had started may still hold a lock.
        connection.busy_timeout(Duration::from_secs(60))?;
        Ok(connection)
    }
}

impl CheckDatabase for File {
    fn database(&self) -> Database {
        Database::File { path: self.0.display().to_string() }
    }

    /// A BLOB is returned as text: no runner writes one.
    fn rows(&self, sql: &str) -> Result<Rows> {
        let connection = self.open()?;
        let mut statement = connection.prepare(sql).at(sql)?;
        let columns = statement.column_count();
        let value = |value: ValueRef<'_>| match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(i) => Value::Integer(i),
            ValueRef::Real(r) => Value::Real(r),
            ValueRef::Text(t) => Value::Text(String::from_utf8_lossy(t).into_owned()),
            ValueRef::Blob(b) => Value::Text(format!("a BLOB of {} bytes", b.len())),
        };
        let rows = statement.query_map([], |row| (0..columns).map(|i| row.get_ref(i).map(value)).collect());
        rows.and_then(Iterator::collect).at(sql)
    }

    fn insert(&self, table: &str, rows: Rows) -> Result {
        let mut connection = self.open()?;
        let transaction = connection.transaction()?;
        let sql = insert(table, &rows, |i| format!("?{i}"));
        for row in rows {
            let values = row.into_iter().map(|value| match value {
                Value::Null => Sql::Null,
                Value::Integer(i) => Sql::Integer(i),
                Value::Real(r) => Sql::Real(r),
                Value::Text(t) => Sql::Text(t),
            });
            transaction.prepare_cached(&sql)?.execute(rusqlite::params_from_iter(values))?;
        }
        Ok(transaction.commit()?)
    }

    fn content(&self, table: &str) -> Result<String> {
        Ok(litelab_engine::verify::content_hash(&self.open()?, table)?)
    }

    fn hold(&self, _: &str) -> Result<Box<dyn Any>> {
        let lock = self.open()?;
        lock.execute_batch("BEGIN IMMEDIATE")?;
        Ok(Box::new(lock))
    }

    fn writer(&self) -> Result<Writer<'_>> {
        let connection = self.open()?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        Ok(Box::new(move |sql| Ok(connection.execute_batch(sql)?)))
    }
}

/// SQL that inserts one of the rows; `mark` returns the parameter for each column, counted from 1.
pub fn insert(table: &str, rows: &Rows, mark: impl Fn(usize) -> String) -> String {
    let marks: Vec<String> = (1..=rows.first().map_or(0, Vec::len)).map(mark).collect();
    format!("INSERT INTO {table} VALUES ({})", marks.join(", "))
}
