//! What `describe` says of rusqlite.

use litelab_harness::{About, Fault, locked_version};
use litelab_protocol::SqliteBuild;

use crate::fault::fault;

/// Opens a database in memory to ask the SQLite inside for its build.
pub fn about() -> Result<About, Fault> {
    let sqlite = Some(sqlite_build().map_err(fault)?);
    let version = locked_version(include_str!("../Cargo.lock"), "rusqlite").unwrap_or("unknown").into();
    Ok(About { version, sqlite })
}

fn sqlite_build() -> rusqlite::Result<SqliteBuild> {
    let connection = rusqlite::Connection::open_in_memory()?;
    let source_id = connection.query_row("SELECT sqlite_source_id()", [], |row| row.get(0))?;
    let mut options = connection.prepare("PRAGMA compile_options")?;
    let compile_options = options.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(SqliteBuild { version: rusqlite::version().into(), source_id, compile_options })
}
