//! Descriptions of the drivers.

use litelab_harness::{About, Fault, locked_version};
use litelab_protocol::SqliteBuild;
use sqlx::{Connection, Row, SqliteConnection};

use crate::fault::fault;

/// Version of a library, and build of the SQLite inside, which each calls through sqlx.
pub fn about(package: &str) -> Result<About, Fault> {
    let version = locked_version(include_str!("../Cargo.lock"), package).unwrap_or("unknown").into();
    Ok(About { version, sqlite: Some(litelab_harness::waiting()?.block_on(build()).map_err(fault)?) })
}

/// Reads the build of the SQLite inside from a database in memory.
async fn build() -> Result<SqliteBuild, sqlx::Error> {
    let mut connection = SqliteConnection::connect("sqlite::memory:").await?;
    let row = sqlx::query("SELECT sqlite_version(), sqlite_source_id()").fetch_one(&mut connection).await?;
    let options = sqlx::query("PRAGMA compile_options").fetch_all(&mut connection).await?;
    let compile_options = options.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let build = SqliteBuild { version: row.try_get(0)?, source_id: row.try_get(1)?, compile_options };
    connection.close().await?;
    Ok(build)
}
