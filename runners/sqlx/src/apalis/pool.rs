//! The connection of the library, and the settings in effect on it.

use std::collections::BTreeMap;

use apalis_sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteStorage};
use litelab_harness::{Fault, Row};
use litelab_protocol::{Connection, Database, Value};
use sqlx::{AssertSqlSafe, Executor};

use super::fault;
use crate::row::Fetched;

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
    for setting in &settings.settings {
        run(&pool, &setting.sql).await?;
    }
    Ok(pool)
}

/// Runs SQL to its end.
pub async fn run(pool: &SqlitePool, sql: &str) -> Result<(), Fault> {
    let ran = sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await;
    ran.map(drop).map_err(|e| fault::fault(e).during(sql))
}

/// The value of each PRAGMA on the pool's connection, after a read transaction.
pub async fn read_back(pool: &SqlitePool, names: &[String]) -> Result<BTreeMap<String, Value>, Fault> {
    run(pool, "SELECT count(*) FROM sqlite_schema").await?;
    let mut settings = BTreeMap::new();
    for name in names {
        let row = pool.fetch_optional(AssertSqlSafe(format!("PRAGMA {name}"))).await.map_err(fault::fault)?;
        let setting = row.map_or(Ok(Value::Null), |row| Fetched(row).column(0)?.to_value());
        settings.insert(name.clone(), setting?);
    }
    Ok(settings)
}
