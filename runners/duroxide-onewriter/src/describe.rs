//! Descriptions of the drivers.

use litelab_harness::{About, Fault, locked_version};
use litelab_protocol::SqliteBuild;
use rusqlite::Connection;

const LOCK: &str = include_str!("../../../Cargo.lock");

/// Description of the provider, with the build of its SQLite and the versions of the provider and of duroxide.
pub fn ours() -> Result<About, Fault> {
    let sqlite = Some(sqlite_build().map_err(Fault::other)?);
    Ok(About { version: version(), sqlite })
}

/// Description of the provider without storage, which contains no SQLite.
pub fn ceiling() -> Result<About, Fault> {
    Ok(About { version: version(), sqlite: None })
}

fn version() -> String {
    let of = |package| locked_version(LOCK, package).unwrap_or("unknown");
    format!("{} on duroxide {}", of("duroxide-onewriter"), of("duroxide"))
}

fn sqlite_build() -> rusqlite::Result<SqliteBuild> {
    let connection = Connection::open_in_memory()?;
    let source_id = connection.query_row("SELECT sqlite_source_id()", [], |row| row.get(0))?;
    let mut options = connection.prepare("PRAGMA compile_options")?;
    let compile_options = options.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(SqliteBuild { version: rusqlite::version().into(), source_id, compile_options })
}
