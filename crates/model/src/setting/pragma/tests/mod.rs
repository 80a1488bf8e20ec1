//! Tests of the vocabulary against a real SQLite: the bundled one, on files in a temporary directory.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod actions;
mod grid;
mod messages;
mod order;
mod properties;
mod vocabulary;

use super::parse;
use crate::Scalar;
use crate::setting::Setting;
use litelab_protocol::Value;
use rusqlite::Connection;
use rusqlite::types::Value as Stored;
use tempfile::TempDir;

/// A directory for databases, with a counter for new files.
pub(crate) struct Bench {
    directory: TempDir,
    files: usize,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), files: 0 }
    }

    /// A connection to a database that does not exist yet.
    pub(crate) fn fresh(&mut self) -> Connection {
        self.files += 1;
        Connection::open(self.directory.path().join(format!("{}.db", self.files))).unwrap()
    }

    /// Runs a profile on a new database, then creates a table, as an application would.
    fn with_profile(&mut self, profile: &[Setting]) -> Connection {
        let connection = self.fresh();
        for value in profile {
            execute(&connection, value.sql.as_ref().unwrap()).unwrap();
        }
        create_table(&connection);
        connection
    }
}

/// A text as a TOML value.
fn text_value(text: &str) -> Scalar {
    Scalar::Text(text.to_owned())
}

/// Names and values of a table in TOML.
fn pairs(toml: &str) -> Vec<(String, Scalar)> {
    toml::from_str::<indexmap::IndexMap<String, Scalar>>(toml).unwrap().into_iter().collect()
}

/// A profile from pairs of name and text.
fn profile(pairs: &[(&str, &str)]) -> Vec<Setting> {
    pairs.iter().map(|(name, text)| parse(name, &text_value(text)).unwrap()).collect()
}

/// Runs a statement to its end, ignoring its rows.
fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Runs `PRAGMA name = 'text'`, the form of a driver that quotes values.
pub(crate) fn put(connection: &Connection, name: &str, text: &str) -> rusqlite::Result<()> {
    execute(connection, &format!("PRAGMA {name} = '{}'", text.replace('\'', "''")))
}

/// The value that `PRAGMA name` reports.
pub(crate) fn report(connection: &Connection, name: &str) -> Value {
    let mut statement = connection.prepare(&format!("PRAGMA {name}")).unwrap();
    let mut rows = statement.query([]).unwrap();
    match rows.next().unwrap().map(|row| row.get_unwrap::<_, Stored>(0)) {
        Some(Stored::Integer(number)) => Value::Integer(number),
        Some(Stored::Text(text)) => Value::Text(text),
        None => Value::Null,
        Some(other) => panic!("PRAGMA {name} reported {other:?}"),
    }
}

fn create_table(connection: &Connection) {
    connection.execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(200000))").unwrap();
}
