//! Conversion between files of this provider and of duroxide's own SQLite provider, to switch and to switch back.
//!
//! ```no_run
//! # fn main() -> Result<(), duroxide_onewriter::transfer::TransferError> {
//! use duroxide_onewriter::transfer;
//!
//! let rows = transfer::from_built_in("duroxide.db", "orchestrations.db")?;
//! println!("{} instances, {} events", rows.instances, rows.events);
//! # Ok(())
//! # }
//! ```
//!
//! **Before.** Every process that uses the source must have ended. A source that a process has open is refused: in WAL
//! mode, which both providers use, each connection holds a lock on the file. During the conversion SQLite's exclusive
//! lock keeps other processes out.
//!
//! **The source** is never written, also not by a checkpoint. What a killed process has left in its log is read.
//!
//! **The target** is a new file. It is written in one transaction under a provisional name, `<target>-transfer`, and
//! renamed when all of it is on disk. If the process is killed before, that file stays, and may be deleted.
//!
//! **Kept:** instances with their names, versions, parents, creation times and custom statuses; all executions, and
//! their histories byte for byte; queued messages, timers and activities with their order, times and numbers of
//! attempts; values, also those of the current execution. The rows of each kind are counted before the commit.
//!
//! **Not kept:** leases and sessions. As after a crash, a message or activity that was being processed is available at
//! once and has its attempt counted; a session goes to the worker that takes its next activity. Rows of the built-in
//! provider's `timer_queue`, which it does not use any more, are not read.
//!
//! The file of the built-in provider must have the tables of duroxide 0.1.32.

mod built_in;
mod error;

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

pub use error::TransferError;

use crate::store::schema;

/// Number of converted rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transferred {
    /// Instances, including names that have received events and no orchestration yet.
    pub instances: u64,
    /// Executions of these instances.
    pub executions: u64,
    /// Events of all histories.
    pub events: u64,
    /// Queued messages for orchestrations, including timers.
    pub messages: u64,
    /// Queued activities.
    pub activities: u64,
    /// Key-value pairs: those left by ended executions, and changes by current ones.
    pub values: u64,
}

/// Converts a file of duroxide's own SQLite provider into a new file of this provider.
///
/// Queued rows that this version cannot deserialise are copied, and quarantined when the new file is opened
/// ([`OneWriter::quarantined`](crate::OneWriter::quarantined)).
///
/// # Errors
/// If the source is in use or has unknown tables, the target exists, or a file cannot be read or written. The source is
/// unchanged and the target does not exist then.
pub fn from_built_in(source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<Transferred, TransferError> {
    let (source, target) = (source.as_ref(), target.as_ref());
    convert(source, target, [BUILT_IN, OURS], |connection| {
        built_in::check(connection, source)?;
        schema::create(connection)?;
        built_in::import(connection)
    })
}

/// Converts a file of this provider into a new file of duroxide's own SQLite provider.
///
/// # Errors
/// As for [`from_built_in`], and if a queued row cannot be deserialised: the built-in provider would drop it.
pub fn to_built_in(source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<Transferred, TransferError> {
    let (source, target) = (source.as_ref(), target.as_ref());
    convert(source, target, [OURS, BUILT_IN], |connection| {
        check(connection, source)?;
        built_in::export(connection)
    })
}

/// Kinds of rows, in the order of [`Transferred`].
const KINDS: [&str; 6] = ["instances", "executions", "events", "messages", "activities", "values"];

/// Counts the rows of each kind; `$` is the name of the database.
const BUILT_IN: &str = "SELECT
    (SELECT count(*) FROM (SELECT instance_id FROM $.instances UNION SELECT instance_id FROM $.executions
         UNION SELECT instance_id FROM $.history UNION SELECT instance_id FROM $.kv_store
         UNION SELECT instance_id FROM $.kv_delta)),
    (SELECT count(*) FROM $.executions), (SELECT count(*) FROM $.history),
    (SELECT count(*) FROM $.orchestrator_queue), (SELECT count(*) FROM $.worker_queue),
    (SELECT count(*) FROM $.kv_store) + (SELECT count(*) FROM $.kv_delta)";

/// Like [`BUILT_IN`], of the tables of this crate.
const OURS: &str = "SELECT
    (SELECT count(*) FROM $.instance), (SELECT count(*) FROM $.execution), (SELECT count(*) FROM $.history),
    (SELECT count(*) FROM $.message), (SELECT count(*) FROM $.work),
    (SELECT count(*) FROM $.settled_value) + (SELECT count(*) FROM $.pending_value)";

/// Checks that the attached `source` is a file of this crate with the known tables.
fn check(connection: &Connection, path: &Path) -> Result<(), TransferError> {
    let pragma = |name| connection.query_row(&format!("PRAGMA source.{name}"), [], |row| row.get::<_, i64>(0));
    let (known, found) = (schema::VERSION, pragma("user_version")?);
    if pragma("application_id")? != schema::APPLICATION {
        return Err(TransferError::Foreign { path: path.into(), owner: "duroxide-onewriter" });
    }
    // Version 1 has the same tables.
    let is_known = (1..=known).contains(&found);
    if is_known { Ok(()) } else { Err(TransferError::Version { path: path.into(), found, known }) }
}

/// Runs `fill` in one transaction on a new database to which the source is attached as `source`, and gives the new file
/// its name. `counts` are the queries for the rows of the source and of the target.
fn convert(
    source: &Path,
    target: &Path,
    counts: [&str; 2],
    fill: impl FnOnce(&Connection) -> Result<(), TransferError>,
) -> Result<Transferred, TransferError> {
    if !source.is_file() {
        return Err(TransferError::Missing { path: source.into() });
    }
    // SQLite would take a log or journal beside the new file for its own.
    for path in ["", "-wal", "-shm", "-journal"].map(|suffix| beside(target, suffix)) {
        if path.symlink_metadata().is_ok() {
            return Err(TransferError::Exists { path });
        }
    }
    let file = Provisional::create(beside(target, "-transfer"))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&file.path, flags)?;
    // Instances in any order.
    connection.execute_batch("PRAGMA foreign_keys = OFF")?;
    attach(&connection, source)?;
    let transaction = connection.transaction()?;
    fill(&transaction)?;
    let [all, converted] =
        [("source", counts[0]), ("main", counts[1])].map(|(name, sql)| count(&transaction, name, sql));
    let converted = complete(&all?, &converted?)?;
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)?;
    file.rename(target)?;
    Ok(converted)
}

/// Attaches the source as `source` under SQLite's exclusive lock, which refuses a file that another connection has open
/// in WAL mode, and needs no shared-memory file (<https://sqlite.org/wal.html#noshm>).
fn attach(connection: &Connection, source: &Path) -> Result<(), TransferError> {
    let io = |error| TransferError::Io { path: source.into(), source: error };
    // The last connection removes a log, but must not write its frames to the file.
    if beside(source, "-wal").metadata().is_ok_and(|log| log.len() > 0) {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    }
    // An absolute path is not a special name of SQLite.
    let path = std::path::absolute(source).map_err(io)?;
    let path = path.to_str().ok_or_else(|| io(std::io::Error::other("the path is not UTF-8")))?;
    connection.busy_timeout(Duration::ZERO)?;
    // Without the name of a database also for those attached later. ATTACH itself reads the schema.
    connection.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(()))?;
    connection.execute("ATTACH ?1 AS source", [path]).map(drop).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => TransferError::InUse { path: source.into() },
        Some(ErrorCode::NotADatabase) => TransferError::Foreign { path: source.into(), owner: "SQLite" },
        _ => error.into(),
    })
}

fn count(connection: &Connection, database: &str, sql: &str) -> rusqlite::Result<[u64; KINDS.len()]> {
    connection.query_row(&sql.replace('$', database), [], |row| {
        let mut counts = [0; KINDS.len()];
        for (column, count) in counts.iter_mut().enumerate() {
            *count = row.get::<_, i64>(column)?.unsigned_abs();
        }
        Ok(counts)
    })
}

/// Checks that no row is missing.
fn complete(all: &[u64; KINDS.len()], converted: &[u64; KINDS.len()]) -> Result<Transferred, TransferError> {
    for (what, (&all, &converted)) in KINDS.into_iter().zip(all.iter().zip(converted)) {
        if all != converted {
            return Err(TransferError::Incomplete { what, converted, all });
        }
    }
    let [instances, executions, events, messages, activities, values] = *converted;
    Ok(Transferred { instances, executions, events, messages, activities, values })
}

/// The path with this suffix.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A new file under a provisional name, removed with its journal on drop.
struct Provisional {
    path: PathBuf,
}

impl Provisional {
    fn create(path: PathBuf) -> Result<Self, TransferError> {
        match File::create_new(&path) {
            Ok(_) => Ok(Self { path }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(TransferError::Exists { path }),
            Err(source) => Err(TransferError::Io { path, source }),
        }
    }

    /// Gives the file its name, durably.
    fn rename(self, name: &Path) -> Result<(), TransferError> {
        let io = |source| TransferError::Io { path: name.into(), source };
        std::fs::rename(&self.path, name).map_err(io)?;
        #[cfg(unix)]
        {
            let path = std::path::absolute(name).map_err(io)?;
            let synced = File::open(path.parent().unwrap_or(&path)).and_then(|folder| folder.sync_all());
            synced.inspect_err(|_| drop(std::fs::remove_file(name))).map_err(io)?;
        }
        Ok(())
    }
}

impl Drop for Provisional {
    fn drop(&mut self) {
        for path in [self.path.clone(), beside(&self.path, "-journal")] {
            let _absent = std::fs::remove_file(path);
        }
    }
}
