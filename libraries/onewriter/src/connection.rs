//! Opening and configuring connections.

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
    /// Maintenance beside the connection that writes.
    Exclusive,
}

/// Capacity of the prepared statement cache of each connection.
const STATEMENTS: usize = 256;

/// Opens a connection. [`Options::on_writer`] or [`Options::on_reader`] runs before the settings of this crate.
pub fn open(options: &Options, purpose: Purpose) -> Result<Connection, Error> {
    try_open(options, purpose).map_err(|source| Error::Open { path: options.path.clone(), source })
}

fn try_open(options: &Options, purpose: Purpose) -> Result<Connection, Box<dyn std::error::Error + Send + Sync>> {
    let mode = match purpose {
        Purpose::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Purpose::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Purpose::Checkpoint | Purpose::Exclusive => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let mode = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_with_flags(&options.path, mode)?;
    // The default depends on how SQLite was compiled.
    pragma(&connection, "PRAGMA foreign_keys = ON")?;
    // Before the closure, which may commit or fail, and after it, in case it changes them.
    leave_checkpoints(&connection, options)?;
    match purpose {
        Purpose::Read => (options.on_reader)(&mut connection)?,
        Purpose::Write | Purpose::Checkpoint | Purpose::Exclusive => (options.on_writer)(&mut connection)?,
    }
    leave_checkpoints(&connection, options)?;
    set(&connection, options.durability, purpose)?;
    check(&connection, options.durability)?;
    // Statements that were left in the cache were prepared without the rules for closures.
    connection.flush_prepared_statement_cache();
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Leaves checkpoints to this crate, or to another program.
fn leave_checkpoints(connection: &Connection, options: &Options) -> rusqlite::Result<()> {
    if options.checkpoints.is_external() {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    }
    pragma(connection, "PRAGMA wal_autocheckpoint = 0")
}

fn set(connection: &Connection, durability: Durability, purpose: Purpose) -> rusqlite::Result<()> {
    if purpose == Purpose::Write {
        pragma(connection, "PRAGMA journal_mode = WAL")?;
    }
    if let Some((name, _)) = synchronous(durability) {
        pragma(connection, &format!("PRAGMA synchronous = {name}"))?;
    }
    if durability == Durability::Full && cfg!(target_vendor = "apple") {
        pragma(connection, "PRAGMA fullfsync = ON")?;
        pragma(connection, "PRAGMA checkpoint_fullfsync = ON")?;
    }
    if purpose == Purpose::Read {
        pragma(connection, "PRAGMA query_only = ON")?;
    }
    Ok(())
}

/// Value of `PRAGMA synchronous` (<https://sqlite.org/pragma.html#pragma_synchronous>).
const fn synchronous(durability: Durability) -> Option<(&'static str, i64)> {
    match durability {
        Durability::Full => Some(("FULL", 2)),
        Durability::Normal => Some(("NORMAL", 1)),
        Durability::Off => Some(("OFF", 0)),
        Durability::Unchanged => None,
    }
}

/// Checks that the settings are in effect: on a file system without shared memory, SQLite keeps the old journal mode
/// and returns no error.
fn check(connection: &Connection, durability: Durability) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let journal: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    let value: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
    let is_set = synchronous(durability).is_none_or(|(_, set)| set == value);
    match (journal.as_str(), is_set) {
        ("wal", true) => Ok(()),
        ("wal", false) => Err(format!("synchronous is {value} after it was set for {durability:?}").into()),
        _ => {
            let what =
                format!("its journal mode is {journal} and cannot be WAL, which one writer beside readers needs");
            Err(what.into())
        }
    }
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

/// Releases the savepoints with this name that a closure has left open.
pub fn release(connection: &Connection, name: &str) {
    let release = format!("RELEASE \"{}\"", name.replace('"', "\"\""));
    while connection.execute_batch(&release).is_ok() {}
}

/// Whether a prepared statement contains this word, and not the other one.
pub fn is_prepared(connection: &Connection, word: &str, without: &str) -> bool {
    let has = |sql: &[u8], word: &str| sql.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    // SAFETY: the handle is open as long as the connection is borrowed, and only this thread uses it. The text of a
    // statement lives as long as the statement.
    #[expect(unsafe_code, reason = "rusqlite has no function for it")]
    unsafe {
        let mut statement = rusqlite::ffi::sqlite3_next_stmt(connection.handle(), std::ptr::null_mut());
        while !statement.is_null() {
            let sql = rusqlite::ffi::sqlite3_sql(statement);
            // The statement of an open blob has no text.
            if !sql.is_null() {
                let sql = std::ffi::CStr::from_ptr(sql).to_bytes();
                if has(sql, word) && !has(sql, without) {
                    return true;
                }
            }
            statement = rusqlite::ffi::sqlite3_next_stmt(connection.handle(), statement);
        }
    }
    false
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
    // SAFETY: as for `end_statements`. The cache is empty, and virtual tables (FTS5), the other owners of statements, are
    // disconnected by `sqlite3_close` before it refuses to close because of a statement, of which there is one.
    #[expect(unsafe_code, reason = "rusqlite has no function for it")]
    unsafe {
        let handle = connection.handle();
        let mut one = std::ptr::null_mut();
        let made =
            rusqlite::ffi::sqlite3_prepare_v2(handle, c"SELECT 1".as_ptr(), -1, &raw mut one, std::ptr::null_mut());
        if made != rusqlite::ffi::SQLITE_OK {
            return;
        }
        let _refused = rusqlite::ffi::sqlite3_close(handle);
        let next = || rusqlite::ffi::sqlite3_next_stmt(handle, std::ptr::null_mut());
        let mut statement = next();
        while !statement.is_null() {
            rusqlite::ffi::sqlite3_finalize(statement);
            statement = next();
        }
    }
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
