//! Description of the driver apalis-sqlite.

use apalis_sqlite::SqlitePool;
use litelab_harness::{About, Fault, locked_version, waiting};
use litelab_protocol::SqliteBuild;

use super::fault;

/// Reads the build of the SQLite inside from a database in memory.
pub fn about() -> Result<About, Fault> {
    let sqlite = Some(waiting()?.block_on(sqlite_build()).map_err(fault::fault)?);
    let version = locked_version(include_str!("../../Cargo.lock"), "apalis-sqlite").unwrap_or("unknown").into();
    Ok(About { version, sqlite })
}

async fn sqlite_build() -> Result<SqliteBuild, sqlx::Error> {
    let pool = SqlitePool::connect("sqlite::memory:").await?;
    let (version, source_id) = sqlx::query_as("SELECT sqlite_version(), sqlite_source_id()").fetch_one(&pool).await?;
    let compile_options = sqlx::query_scalar("PRAGMA compile_options").fetch_all(&pool).await?;
    pool.close().await;
    Ok(SqliteBuild { version, source_id, compile_options })
}
