//! Tables of duroxide's own SQLite provider.

use std::path::Path;

use duroxide::providers::WorkItem;
use rusqlite::Connection;

use crate::core::instance::target;
use crate::transfer::error::TransferError;

/// Tables of the provider of duroxide 0.1.32, and its list of migrations.
const TABLES: &str = include_str!("built_in.sql");

/// Checks that the attached `source` is a file of the provider with the known tables, by its list of migrations.
///
/// # Errors
/// If it is not.
pub fn check(connection: &Connection, path: &Path) -> Result<(), TransferError> {
    let foreign = || TransferError::Foreign { path: path.into(), owner: "duroxide's SQLite provider" };
    let tables = "SELECT count(*) FROM source.sqlite_schema WHERE name IN ('_sqlx_migrations', 'instances')";
    if connection.query_row(tables, [], |row| row.get::<_, i64>(0))? != 2 {
        return Err(foreign());
    }
    let reference = Connection::open_in_memory()?;
    reference.execute_batch(TABLES)?;
    let (known, found) = (migrations(&reference, "main")?, migrations(connection, "source")?);
    let newest = |migrations: &[(i64, Vec<u8>)]| migrations.last().map_or(0, |(version, _)| *version);
    match (newest(&known), newest(&found)) {
        _ if known == found => Ok(()),
        (known, found) if known != found => Err(TransferError::Version { path: path.into(), found, known }),
        _ => Err(foreign()),
    }
}

/// Version and checksum of each migration that was applied.
fn migrations(connection: &Connection, database: &str) -> rusqlite::Result<Vec<(i64, Vec<u8>)>> {
    let sql = format!("SELECT version, checksum FROM {database}._sqlx_migrations WHERE success ORDER BY version");
    let mut statement = connection.prepare(&sql)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Fills the empty tables of this crate from the attached `source`.
///
/// # Errors
/// If SQLite refuses it.
pub fn import(connection: &Connection) -> Result<(), TransferError> {
    Ok(connection.execute_batch(include_str!("import.sql"))?)
}

/// Creates the provider's tables and fills them from the attached `source`, a file of this crate.
///
/// # Errors
/// If a queued row cannot be deserialised, or SQLite refuses it.
pub fn export(connection: &Connection) -> Result<(), TransferError> {
    connection.execute_batch(TABLES)?;
    connection.execute_batch(include_str!("export.sql"))?;
    export_queue(connection, "message", |id, visible, attempts, text, item| {
        let Some(instance) = target(item) else { return Ok(false) };
        let sql = "INSERT INTO orchestrator_queue(id, instance_id, work_item, visible_at, attempt_count)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        connection.prepare_cached(sql)?.execute((id, instance, text, visible, attempts))?;
        Ok(true)
    })?;
    export_queue(connection, "work", |row, visible, attempts, text, item| {
        let WorkItem::ActivityExecute { instance, execution_id, id, session_id, tag, .. } = item else {
            return Ok(false);
        };
        let sql = "INSERT INTO worker_queue(id, work_item, attempt_count, visible_at, instance_id, execution_id,
                                            activity_id, session_id, tag)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let (execution, activity) = (execution_id.cast_signed(), id.cast_signed());
        let values = (row, text, attempts, visible, instance, execution, activity, session_id, tag);
        connection.prepare_cached(sql)?.execute(values)?;
        Ok(true)
    })
}

/// Calls `insert` with each row of a queue in `source`: number, time from which it is visible, attempts, text and item.
/// It returns false if the item is not of this queue.
fn export_queue(
    connection: &Connection,
    table: &'static str,
    insert: impl Fn(i64, i64, i64, &str, &WorkItem) -> rusqlite::Result<bool>,
) -> Result<(), TransferError> {
    let sql = format!("SELECT id, visible, attempts, item FROM source.{table} ORDER BY id");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, text) = (row.get(0)?, row.get_ref(3)?.as_str().unwrap_or_default());
        let unreadable = |reason| TransferError::Unreadable { table, id, reason };
        let item = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        if !insert(id, row.get(1)?, row.get(2)?, text, &item)? {
            return Err(unreadable("an item of another queue".to_owned()));
        }
    }
    Ok(())
}
