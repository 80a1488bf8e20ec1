//! All facts about a database, without its application's connections.

use std::path::{Path, PathBuf};

use litelab_database::guard;
use litelab_observe::temporary::Temporary;
use rusqlite::Connection;
use thiserror::Error;

use crate::facts::{Facts, File, Host, Schema, Statement};
use crate::snapshot::SnapshotError;
use crate::{advice, file, host, process, schema, snapshot, statement};

/// Largest number of messages of `PRAGMA quick_check` that are kept.
const MOST_MESSAGES: u32 = 10;

/// What to look at beside the usual facts.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Run `PRAGMA quick_check` and `PRAGMA foreign_key_check`, which read the whole database.
    pub check: bool,
    /// Measure synced writes in scratch files of the database's folder.
    pub fsync: bool,
    /// Text of a file of SQL statements to examine.
    pub sql: Option<String>,
    /// Try indexes for these statements on a copy of the database, in the folder of temporary files.
    pub advise: bool,
}

/// There is nothing to examine.
#[derive(Debug, Error)]
pub enum LookError {
    /// No such file.
    #[error("{0}: no such file")]
    Missing(PathBuf),
    /// A folder.
    #[error("{0}: a folder; name the database in it")]
    Folder(PathBuf),
    /// A device, pipe or socket.
    #[error("{0}: no regular file")]
    Special(PathBuf),
    /// No copy to try indexes on.
    #[error("no copy to try indexes on: {0}; TMPDIR names the folder for it")]
    Copy(String),
}

/// Observes the database at `path`. Takes no lock and writes nothing.
///
/// # Errors
/// If there is no regular file. A file that is damaged, foreign or unreadable is a fact.
pub fn look(path: &Path, options: &Options) -> Result<Facts, LookError> {
    let mut file = file::look(path);
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    match file.state {
        "missing" => return Err(LookError::Missing(path.to_path_buf())),
        "folder" => return Err(LookError::Folder(path.to_path_buf())),
        "special" => return Err(LookError::Special(path.to_path_buf())),
        _ => {}
    }
    let mut host = host::look(path, options.fsync);
    let (processes, complete) = process::look(path);
    host.sees_all_processes = complete;
    // A live transaction has a journal too; its process holds a lock.
    file.journal_hot &= !processes.iter().any(|process| process.locks.iter().any(|lock| lock != "shared"));
    // A transaction that was live above may have ended before its process was looked at.
    file.journal_hot = file.journal_hot && file::journal_hot(path);
    let mut statements = Vec::new();
    let schema = if matches!(file.state, "database" | "empty") {
        content(path, options, &mut file, &mut statements)
    } else {
        Schema { unread: Some(format!("the file is {}", file.state)), ..Schema::default() }
    };
    if let (true, Some(sql), None) = (options.advise, &options.sql, &schema.unread) {
        advise(path, &schema, sql, &mut statements)?;
    }
    Ok(Facts { file, host, schema, processes, app: None, statements })
}

fn advise(path: &Path, schema: &Schema, sql: &str, statements: &mut [Statement]) -> Result<(), LookError> {
    let folder = Temporary::folder().map_err(|error| LookError::Copy(error.to_string()))?;
    let copy = folder.path().join("copy.db");
    litelab_database::copy(path, &copy).map_err(|error| LookError::Copy(error.to_string()))?;
    let tried = Connection::open(&copy).and_then(|mut copy| {
        guard::deny_files(&mut copy)?;
        advice::advise(&mut copy, schema, sql, statements)
    });
    tried.map_err(|error| LookError::Copy(litelab_database::describe(&error)))
}

/// Facts without a database: for a DSN in a place that has none, such as a CI job.
#[must_use]
pub fn nothing(name: &str) -> Facts {
    let file = File { name: name.to_owned(), state: "unknown", links: 1, ..File::default() };
    let file = File { readable: true, writable: true, folder_writable: true, ..file };
    let host = Host { os: std::env::consts::OS, filesystem_class: "unknown", ..Host::default() };
    let host = Host { sees_all_processes: true, ..host };
    Facts { file, host, schema: Schema::default(), processes: Vec::new(), app: None, statements: Vec::new() }
}

/// Schema, statements and checks, from one state of the database.
fn content(path: &Path, options: &Options, file: &mut File, statements: &mut Vec<Statement>) -> Schema {
    let read = snapshot::read(path, |connection| {
        let mut schema = schema::look(connection)?;
        let found = match &options.sql {
            Some(text) => statement::look(connection, &schema, text)?,
            None => Vec::new(),
        };
        let checks = if options.check { Some(checks(connection)?) } else { None };
        schema.unread = None;
        Ok((schema, found, checks))
    });
    match read {
        // What looks like damage can be a part of a transaction.
        Ok(read) if read.locked && options.check => {
            Schema { unread: Some(SnapshotError::Transaction.to_string()), ..Schema::default() }
        }
        Ok(read) => {
            let (mut schema, found, checks) = read.content;
            schema.behind = read.behind;
            *statements = found;
            if let Some((damage, orphans)) = checks {
                (file.damage, file.orphans, file.checked) = (damage, Some(orphans), true);
            }
            schema
        }
        Err(error) => Schema { unread: Some(error.to_string()), ..Schema::default() },
    }
}

/// Messages of `quick_check`, and the number of rows whose parent is missing.
fn checks(connection: &Connection) -> rusqlite::Result<(Vec<String>, u64)> {
    let messages: Vec<String> = connection
        .prepare(&format!("PRAGMA quick_check({MOST_MESSAGES})"))?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let damage = if messages == ["ok"] { Vec::new() } else { messages };
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.raw_query();
    let mut orphans = 0;
    while rows.next()?.is_some() {
        orphans += 1;
    }
    Ok((damage, orphans))
}
