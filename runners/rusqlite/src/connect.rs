//! Opening a connection as an application would, setting it, and asking what took effect.

use std::collections::BTreeMap;

use litelab_harness::{Fault, refuse_options};
use litelab_protocol::{Connection as Settings, Database, Setting};
use rusqlite::Connection;

use crate::fault::fault;
use crate::row::column;

/// Opens with rusqlite's defaults (read-write, created when absent, URI names, no mutex, 5 s busy timeout), then runs
/// the pragmas in order.
pub fn open(database: &Database, settings: &Settings) -> Result<Connection, Fault> {
    refuse_options(settings, &[])?;
    let connection = match database {
        Database::File { path, .. } => Connection::open(path),
        Database::Memory { shared: true, name, .. } => {
            Connection::open(format!("file:{name}?mode=memory&cache=shared"))
        }
        Database::Memory { shared: false, .. } => Connection::open_in_memory(),
    };
    let connection = connection.map_err(fault)?;
    for pragma in &settings.pragmas {
        let sql = format!("PRAGMA {} = {}", pragma.name, pragma.value);
        run_to_end(&connection, &sql).map_err(|error| fault(error).during(&sql))?;
    }
    Ok(connection)
}

/// Runs one statement and drops its rows. rusqlite's `execute_batch` would stop at the first row.
pub fn run_to_end(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}

/// The value of each PRAGMA after one read transaction: some settings are only decided when the file is first read.
pub fn read_back(connection: &Connection, names: &[String]) -> Result<BTreeMap<String, Setting>, Fault> {
    run_to_end(connection, "SELECT count(*) FROM sqlite_schema").map_err(fault)?;
    let read = |name: &String| {
        let mut statement = connection.prepare(&format!("PRAGMA {name}")).map_err(fault)?;
        let mut rows = statement.raw_query();
        let setting = match rows.next().map_err(fault)? {
            None => Setting::Null,
            Some(row) => column(row.get_ref(0))?.to_value()?.to_json(),
        };
        Ok((name.clone(), setting))
    };
    names.iter().map(read).collect()
}
