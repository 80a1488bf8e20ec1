//! The vocabulary against a real SQLite: the bundled one, on files in a temporary directory.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod actions;
mod durability;
mod grid;
mod messages;
mod order;
mod properties;
mod vocabulary;

use super::{PragmaInput, PragmaValue, Reported, parse};
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

/// A directory for databases, and connections to new ones in it.
struct Bench {
    directory: TempDir,
    files: usize,
}

impl Bench {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), files: 0 }
    }

    /// A connection to a database that does not exist yet.
    fn fresh(&mut self) -> Connection {
        self.files += 1;
        Connection::open(self.directory.path().join(format!("{}.db", self.files))).unwrap()
    }

    /// Runs a profile on a new database, then gives it a table as an application would.
    fn with_profile(&mut self, profile: &[PragmaValue]) -> Connection {
        let connection = self.fresh();
        for value in profile {
            execute(&connection, &value.statement()).unwrap();
        }
        create_table(&connection);
        connection
    }
}

/// A profile from pairs of name and text.
fn profile(pairs: &[(&str, &str)]) -> Vec<PragmaValue> {
    pairs.iter().map(|(name, text)| parse(name, &PragmaInput::Text((*text).to_owned())).unwrap()).collect()
}

/// Runs a statement to its end, whatever rows it has.
fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// `PRAGMA name = 'text'`, as a driver that quotes would send it.
fn put(connection: &Connection, name: &str, text: &str) -> rusqlite::Result<()> {
    execute(connection, &format!("PRAGMA {name} = '{}'", text.replace('\'', "''")))
}

/// `PRAGMA name`.
fn report(connection: &Connection, name: &str) -> Reported {
    let mut statement = connection.prepare(&format!("PRAGMA {name}")).unwrap();
    let mut rows = statement.query([]).unwrap();
    match rows.next().unwrap().map(|row| row.get_unwrap::<_, Value>(0)) {
        Some(Value::Integer(number)) => Reported::Integer(number),
        Some(Value::Text(text)) => Reported::Text(text),
        None => Reported::Nothing(()),
        Some(other) => panic!("PRAGMA {name} reported {other:?}"),
    }
}

fn create_table(connection: &Connection) {
    connection.execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(200000))").unwrap();
}
