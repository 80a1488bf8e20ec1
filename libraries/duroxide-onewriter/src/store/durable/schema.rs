//! The schema of the database file.

use std::path::Path;

use onewriter::Database;
use rusqlite::Connection;

use crate::error::Error;

/// SQL of schema version 1.
const SCHEMA: &str = include_str!("schema.sql");

/// SQL that makes version 2 of version 1.
const INDEXES: &str = include_str!("indexes.sql");

/// Schema version, in the file header as `user_version` (<https://sqlite.org/pragma.html#pragma_user_version>).
pub const VERSION: i64 = 2;

/// `application_id` in the file header, "onew": identifies files of this crate.
pub const APPLICATION: i64 = 0x6f6e_6577;

/// Creates the tables in an empty file.
///
/// # Errors
/// If SQLite refuses it.
pub fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)?;
    connection.execute_batch(INDEXES)?;
    mark(connection)
}

/// Writes the version to the file header.
fn mark(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"))
}

/// Creates the tables in an empty file, upgrades those of version 1, and checks those of an existing one.
///
/// # Errors
/// If the file belongs to another program, or has an unsupported version.
pub fn prepare(database: &Database, path: &Path) -> Result<(), Error> {
    let found = database.write_with(|connection| {
        let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let tables = number("SELECT count(*) FROM sqlite_schema")?;
        if tables == 0 {
            create(connection)?;
        } else if (number("PRAGMA application_id")?, number("PRAGMA user_version")?) == (APPLICATION, 1) {
            connection.execute_batch(INDEXES)?;
            mark(connection)?;
        }
        Ok::<_, onewriter::Error>((number("PRAGMA application_id")?, number("PRAGMA user_version")?))
    })?;
    match found {
        (APPLICATION, VERSION) => Ok(()),
        (APPLICATION, version) => Err(Error::Version { path: path.into(), version, known: VERSION }),
        _ => Err(Error::Foreign { path: path.into() }),
    }
}
