//! Locates a database, sets PRAGMAs and reads them back.

use std::collections::BTreeMap;

use crate::Fault;
use litelab_protocol::{Connection as Settings, Database, SqliteBuild, Value};
use rusqlite::Connection;

use super::fault::fault;
use super::row::column;

/// Location of the database, in the form that SQLite's `open` accepts.
pub fn location(database: &Database) -> String {
    match database {
        Database::File { path, .. } => path.clone(),
        Database::Memory { shared: true, name, .. } => format!("file:{name}?mode=memory&cache=shared"),
        Database::Memory { shared: false, .. } => ":memory:".into(),
        Database::Server { .. } => unreachable!("the harness refuses it before any driver sees it"),
    }
}

/// Runs the settings in order.
pub fn set(connection: &Connection, settings: &Settings) -> Result<(), Fault> {
    script(connection, settings.settings.iter().map(|setting| &setting.sql))
}

/// Runs statements in order, each to its end.
pub fn script<'a>(connection: &Connection, statements: impl IntoIterator<Item = &'a String>) -> Result<(), Fault> {
    let run = |sql: &String| run_to_end(connection, sql).map_err(|error| fault(error).during(sql));
    statements.into_iter().try_for_each(run)
}

/// Runs one statement and drops its rows. rusqlite's `execute_batch` would stop at the first row.
pub fn run_to_end(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}

/// Value of each PRAGMA after one read transaction: SQLite decides some settings only when it first reads the file.
pub fn read_back(connection: &Connection, names: &[String]) -> Result<BTreeMap<String, Value>, Fault> {
    run_to_end(connection, "SELECT count(*) FROM sqlite_schema").map_err(fault)?;
    let read = |name: &String| {
        let mut statement = connection.prepare(&format!("PRAGMA {name}")).map_err(fault)?;
        let mut rows = statement.raw_query();
        let setting = match rows.next().map_err(fault)? {
            None => Value::Null,
            Some(row) => column(row.get_ref(0))?.to_value()?,
        };
        Ok((name.clone(), setting))
    };
    names.iter().map(read).collect()
}

/// Build of the linked SQLite, read from a database in memory.
pub fn build() -> rusqlite::Result<SqliteBuild> {
    let connection = Connection::open_in_memory()?;
    let source_id = connection.query_row("SELECT sqlite_source_id()", [], |row| row.get(0))?;
    let mut options = connection.prepare("PRAGMA compile_options")?;
    let compile_options = options.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(SqliteBuild { version: rusqlite::version().into(), source_id, compile_options })
}
