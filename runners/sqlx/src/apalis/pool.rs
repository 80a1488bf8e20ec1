//! The connection of the library, and the settings in effect on it.

use std::sync::Arc;

use apalis_sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteStorage};
use litelab_harness::{AsyncSession, Fault};
use litelab_protocol::{Connection, Database};

use crate::fault;
use crate::session::Lent;

/// A pool of one connection, because `own-connection` has a connection for each worker. It is opened with sqlx's
/// defaults (foreign keys, 5 s busy timeout), except that the file may be absent and that the connection is never
/// replaced by a newer one, which would lack its settings; apalis-sqlite's own `SqliteStorageFactory` disables the
/// replacement as well.
///
/// `SqliteStorage::setup` then creates the tables and sets PRAGMAs, including `synchronous = OFF`, on the one
/// connection that it receives: in a larger pool the others would have sqlx's. The trial's settings are applied after
/// it.
pub async fn open(database: &Database, settings: &Connection) -> Result<SqlitePool, Fault> {
    let Database::File { path, .. } = database else {
        return Err(Fault::Other("a queue is kept in a file, and not in memory".into()));
    };
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let one = SqlitePoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
    let pool = one.connect_with(options).await.map_err(fault::fault)?;
    SqliteStorage::setup(&pool).await.map_err(|e| fault::apalis(e).during("SqliteStorage::setup"))?;
    let settings: Vec<String> = settings.settings.iter().map(|setting| setting.sql.clone()).collect();
    lend(&pool).await?.script(&settings).await?;
    Ok(pool)
}

/// The connection, outside of the operations of the queue.
pub async fn lend(pool: &SqlitePool) -> Result<Lent, Fault> {
    Ok(Lent::new(pool.acquire().await.map_err(fault::fault)?, Arc::default()))
}
