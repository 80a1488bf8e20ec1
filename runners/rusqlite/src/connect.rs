//! Opening a connection as an application would, setting it, and asking what took effect.

use std::collections::BTreeMap;

use litelab_protocol::draw::Value;
use litelab_protocol::{Connection as Settings, Database, Setting};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::driver::Fault;

/// Opens with rusqlite's defaults (read-write, created when absent, URI names, no mutex, 5 s busy timeout), then runs
/// the pragmas in order.
pub fn open(database: &Database, settings: &Settings) -> Result<Connection, Fault> {
    refuse_options(settings)?;
    let connection = match database {
        Database::File { path, .. } => Connection::open(path)?,
        Database::Memory { shared: true, name, .. } => {
            Connection::open(format!("file:{name}?mode=memory&cache=shared"))?
        }
        Database::Memory { shared: false, .. } => Connection::open_in_memory()?,
    };
    for pragma in &settings.pragmas {
        let sql = format!("PRAGMA {} = {}", pragma.name, pragma.value);
        run_to_end(&connection, &sql).map_err(|fault| fault.during(&sql))?;
    }
    Ok(connection)
}

/// This runner's drivers have no options of their own; one that is given was meant to have an effect.
pub fn refuse_options(settings: &Settings) -> Result<(), Fault> {
    match settings.options.keys().next() {
        None => Ok(()),
        Some(name) => Err(Fault::Other(format!("option `{name}`: this driver has none of that name"))),
    }
}

/// Runs one statement and drops its rows. rusqlite's `execute_batch` would stop at the first row.
pub fn run_to_end(connection: &Connection, sql: &str) -> Result<(), Fault> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}

/// The value of each PRAGMA after one read transaction: some settings are only decided when the file is first read.
pub fn read_back(connection: &Connection, names: &[String]) -> Result<BTreeMap<String, Setting>, Fault> {
    run_to_end(connection, "SELECT count(*) FROM sqlite_schema")?;
    let read = |name: &String| {
        let mut statement = connection.prepare(&format!("PRAGMA {name}"))?;
        let mut rows = statement.raw_query();
        let setting = match rows.next()? {
            None => Setting::Null,
            Some(row) => value(row.get_ref(0)?)?.to_json(),
        };
        Ok((name.clone(), setting))
    };
    names.iter().map(read).collect()
}

/// A column as the protocol's value; it has none for a BLOB.
pub fn value(column: ValueRef<'_>) -> Result<Value, Fault> {
    Ok(match column {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(i) => Value::Integer(i),
        ValueRef::Real(r) => Value::Real(r),
        ValueRef::Text(text) => Value::Text(std::str::from_utf8(text).map_err(Fault::other)?.into()),
        ValueRef::Blob(_) => return Err(Fault::Other("a BLOB cannot be yielded or reported".into())),
    })
}
