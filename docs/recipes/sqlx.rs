//! Connections of an application in Rust to SQLite, with sqlx.
//!
//! Checked by:
//!     litelab doctor app.db --driver sqlx --dsn 'sqlite:app.db?mode=rwc' --pragma journal_mode=WAL
//!         --pragma synchronous=FULL --pragma foreign_keys=1 --pragma busy_timeout=5000

use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Executor, Row};

/// Opens the pool that writes, of one connection, and the pool that reads. Who waits for a connection longer than
/// `acquire_timeout`, by default 30 s, gets `PoolTimedOut`.
async fn open(path: &str) -> sqlx::Result<(SqlitePool, SqlitePool)> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(5));
    // A local file needs no ping before each use, which is a trip to the connection's thread.
    let pool = |connections| SqlitePoolOptions::new().max_connections(connections).test_before_acquire(false);
    let writer = pool(1).connect_with(options.clone()).await?;
    let reader = pool(4).connect_with(options.pragma("query_only", "1")).await?;
    Ok((writer, reader))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name the database")?;
    let (writer, reader) = open(&path).await?;
    // `begin()` would be deferred, and fail at once if it read before it wrote while another connection wrote.
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    transaction.execute("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)").await?;
    sqlx::query("INSERT INTO note(text) VALUES (?)").bind("a").execute(&mut *transaction).await?;
    transaction.commit().await?;
    for (name, sql) in [
        ("journal_mode", "SELECT journal_mode FROM pragma_journal_mode"),
        ("synchronous", "SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous"),
        ("busy_timeout", "SELECT CAST(timeout AS TEXT) FROM pragma_busy_timeout"),
        ("foreign_keys", "SELECT CAST(foreign_keys AS TEXT) FROM pragma_foreign_keys"),
    ] {
        let one: String = writer.fetch_one(sql).await?.get(0);
        let other: String = reader.fetch_one(sql).await?.get(0);
        assert_eq!(one, other, "{name}");
        println!("{name} {one}");
    }
    println!("ready");
    std::io::Read::read_to_end(&mut std::io::stdin(), &mut Vec::new())?;
    reader.close().await;
    writer.close().await;
    Ok(())
}
