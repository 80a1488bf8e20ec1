//! Connections of an application in Rust to SQLite, with rusqlite.
//!
//! Checked by:
//!     litelab doctor app.db --driver rusqlite --dsn app.db --pragma journal_mode=WAL --pragma synchronous=FULL
//!         --pragma foreign_keys=1

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

/// Opens a connection. One thread uses it at a time; threads have connections of their own.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("name the database")?;
    let (mut writer, reader) = (connect(Path::new(&path))?, connect(Path::new(&path))?);
    // It waits for the write lock at the begin of a transaction, never in its middle. `query_only` would refuse that.
    writer.set_transaction_behavior(TransactionBehavior::Immediate);
    reader.pragma_update(None, "query_only", true)?;
    let transaction = writer.transaction()?;
    transaction.execute_batch("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)")?;
    // Compiled once for each connection.
    transaction.prepare_cached("INSERT INTO note(text) VALUES (?)")?.execute(["a"])?;
    transaction.commit()?;
    for (name, sql) in [
        ("journal_mode", "SELECT journal_mode FROM pragma_journal_mode"),
        ("synchronous", "SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous"),
        ("busy_timeout", "SELECT CAST(timeout AS TEXT) FROM pragma_busy_timeout"),
        ("foreign_keys", "SELECT CAST(foreign_keys AS TEXT) FROM pragma_foreign_keys"),
    ] {
        let read = |connection: &Connection| connection.query_row(sql, [], |row| row.get::<_, String>(0));
        assert_eq!(read(&writer)?, read(&reader)?, "{name}");
        println!("{name} {}", read(&writer)?);
    }
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
