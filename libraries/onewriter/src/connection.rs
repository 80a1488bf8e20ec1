//! Opening and configuring connections.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::Error;
use crate::options::{Durability, Options};

/// Use of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Write,
    Read,
    Checkpoint,
}

/// Capacity of the prepared statement cache of each connection.
const STATEMENTS: usize = 256;

/// Opens a connection. [`Options::on_connection`] runs before the settings of this crate.
pub fn open(options: &Options, purpose: Purpose) -> Result<Connection, Error> {
    let path = &options.path;
    let wrong = |error: rusqlite::Error| Error::Open { path: path.clone(), what: error.to_string() };
    let mode = match purpose {
        Purpose::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Purpose::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Purpose::Checkpoint => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let connection =
        Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI)
            .map_err(wrong)?;
    // The default depends on how SQLite was compiled.
    pragma(&connection, "PRAGMA foreign_keys = ON").map_err(wrong)?;
    (options.on_connection)(&connection).map_err(wrong)?;
    if options.checkpoints.is_external() {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(wrong)?;
    }
    set(&connection, options, purpose).map_err(wrong)?;
    check(&connection, path, options.durability).map_err(wrong)??;
    // Statements that `on_connection` left in the cache were prepared without the rules for closures.
    connection.flush_prepared_statement_cache();
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn set(connection: &Connection, options: &Options, purpose: Purpose) -> rusqlite::Result<()> {
    if purpose == Purpose::Write {
        pragma(connection, "PRAGMA journal_mode = WAL")?;
    }
    match options.durability {
        Durability::Full => pragma(connection, "PRAGMA synchronous = FULL")?,
        Durability::Normal => pragma(connection, "PRAGMA synchronous = NORMAL")?,
        Durability::AsSet => {}
    }
    // This crate runs the checkpoints.
    pragma(connection, "PRAGMA wal_autocheckpoint = 0")?;
    if purpose == Purpose::Read {
        pragma(connection, "PRAGMA query_only = ON")?;
    }
    Ok(())
}

/// Checks that the settings are in effect: on a file system without shared memory, SQLite keeps the old journal mode
/// and returns no error.
fn check(connection: &Connection, path: &Path, durability: Durability) -> rusqlite::Result<Result<(), Error>> {
    let journal: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    let synchronous: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
    let is_set = match durability {
        Durability::Full => synchronous == 2,
        Durability::Normal => synchronous == 1,
        Durability::AsSet => true,
    };
    let what = match (journal.as_str(), is_set) {
        ("wal", true) => return Ok(Ok(())),
        ("wal", false) => format!("synchronous is {synchronous} after it was set for {durability:?}"),
        _ => format!("its journal mode is {journal} and cannot be WAL, which one writer beside readers needs"),
    };
    Ok(Err(Error::Open { path: path.into(), what }))
}

/// Whether this version of SQLite can corrupt a database whose log one connection resets while another one checkpoints
/// it (<https://sqlite.org/wal.html#walresetbug>): 3.7.0 to 3.51.2 except 3.44.6 and 3.50.7.
pub const fn has_wal_reset_bug(version: i32) -> bool {
    version < 3_051_003
        && !(3_044_006 <= version && version < 3_045_000)
        && !(3_050_007 <= version && version < 3_051_000)
}

/// Runs a PRAGMA to completion; most return a row.
pub fn pragma(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// The busy timeout of the connection.
pub fn busy_timeout(connection: &Connection) -> rusqlite::Result<Duration> {
    let millis: i64 = connection.query_row("PRAGMA busy_timeout", [], |row| row.get(0))?;
    Ok(Duration::from_millis(millis.try_into().unwrap_or_default()))
}

/// The schema version, which changes with each change of the schema
/// (<https://sqlite.org/pragma.html#pragma_schema_version>).
pub fn schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))
}

/// Sets the value of `last_insert_rowid()` to 0, which is that of a new connection.
pub fn forget_last_row(connection: &Connection) {
    // SAFETY: the handle is open as long as the connection is borrowed.
    #[expect(unsafe_code, reason = "rusqlite has no function for it")]
    unsafe {
        rusqlite::ffi::sqlite3_set_last_insert_rowid(connection.handle(), 0);
    }
}

/// Ends the statements that a closure left running: they would prevent a commit, or keep the lock or the snapshot of
/// their transaction beyond its end.
pub fn end_statements(connection: &Connection) {
    // SAFETY: the handle is open as long as the connection is borrowed, and only this thread uses it. Safe code cannot
    // use a statement of a closure after its end.
    #[expect(unsafe_code, reason = "rusqlite has no function for it")]
    unsafe {
        let handle = connection.handle();
        let mut statement = rusqlite::ffi::sqlite3_next_stmt(handle, std::ptr::null_mut());
        while !statement.is_null() {
            if rusqlite::ffi::sqlite3_stmt_busy(statement) != 0 {
                // SQLite checks the constraints before the first row, so only a commit of its own can fail here.
                rusqlite::ffi::sqlite3_reset(statement);
            }
            statement = rusqlite::ffi::sqlite3_next_stmt(handle, statement);
        }
    }
}

/// Finalizes all statements before the connection is closed: SQLite closes no connection with a statement, such as one
/// that a closure has passed to `std::mem::forget`.
pub fn finalize_statements(connection: &Connection) {
    connection.flush_prepared_statement_cache();
    // SAFETY: as for `end_statements`. The cache, the other owner of statements, is empty.
    #[expect(unsafe_code, reason = "rusqlite has no function for it")]
    unsafe {
        let next = || rusqlite::ffi::sqlite3_next_stmt(connection.handle(), std::ptr::null_mut());
        let mut statement = next();
        while !statement.is_null() {
            rusqlite::ffi::sqlite3_finalize(statement);
            statement = next();
        }
    }
}

/// Runs a statement without parameters through the prepared statement cache.
pub fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// Whether deferred foreign keys are violated, so that a commit would fail
/// (<https://sqlite.org/c3ref/c_dbstatus_options.html>).
pub fn has_deferred_violations(connection: &Connection) -> bool {
    let (mut now, mut peak) = (0, 0);
    // SAFETY: the handle is open as long as the connection is borrowed, and the two integers outlive the call.
    #[expect(unsafe_code, reason = "rusqlite has no function for it")]
    unsafe {
        let handle = connection.handle();
        rusqlite::ffi::sqlite3_db_status(
            handle,
            rusqlite::ffi::SQLITE_DBSTATUS_DEFERRED_FKS,
            &raw mut now,
            &raw mut peak,
            0,
        );
    }
    now != 0
}

/// Extended result code of the last call on this connection.
pub fn last_code(connection: &Connection) -> i32 {
    // SAFETY: the handle is open as long as the connection is borrowed.
    #[expect(unsafe_code, reason = "rusqlite has no function for it")]
    unsafe {
        rusqlite::ffi::sqlite3_extended_errcode(connection.handle())
    }
}

#[cfg(test)]
mod tests {
    use super::has_wal_reset_bug;

    #[test]
    fn versions_with_the_wal_reset_bug_are_known() {
        for (version, has) in [
            (3_044_005, true),
            (3_044_006, false),
            (3_045_000, true),
            (3_050_006, true),
            (3_050_007, false),
            (3_051_000, true),
            (3_051_002, true),
            (3_051_003, false),
            (3_054_001, false),
        ] {
            assert_eq!(has_wal_reset_bug(version), has, "{version}");
        }
    }
}
