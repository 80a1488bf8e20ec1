//! All facts about a database, without its application's connections.

use std::path::{Path, PathBuf};

use litelab_database::{SourceError, describe, guard};
use litelab_observe::is_in_transaction;
use litelab_observe::temporary::Temporary;
use rusqlite::{Connection, ErrorCode};
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
    // `hidepid` of procfs hides the processes of other users, the first one of all.
    host.sees_all_processes = complete && host.container.is_none() && Path::new("/proc/1").exists();
    // A transaction under way has a journal, too, and a lock, which shows also if its process is not seen. One that was
    // under way above may have ended before the lock was looked for, and another one begun.
    file.journal_hot =
        file.journal_hot && !is_in_transaction(path) && file::journal_hot(path) && !is_in_transaction(path);
    let mut statements = Vec::new();
    let schema = if matches!(file.state, "database" | "empty") {
        content(path, options, &mut file, &mut statements)
    } else {
        Schema { unread: Some(format!("the file is {}", file.state)), ..Schema::default() }
    };
    if let (true, Some(sql), None) = (options.advise, &options.sql, &schema.unread)
        && let Err(reason) = advise(path, &schema, sql, &mut statements)
    {
        file.unchecked.push(format!("indexes for the statements, as there is no copy to try them on: {reason}"));
    }
    Ok(Facts { file, host, schema, processes, app: None, statements })
}

fn advise(path: &Path, schema: &Schema, sql: &str, statements: &mut [Statement]) -> Result<(), String> {
    let folder = Temporary::folder().map_err(|error| format!("{error}; TMPDIR names the folder for it"))?;
    let copy = folder.path().join("copy.db");
    litelab_database::copy(path, &copy).map_err(|error| match error {
        SourceError::Copy { .. } => format!("{error}; TMPDIR names the folder for it"),
        _ => error.to_string(),
    })?;
    let tried = Connection::open(&copy).and_then(|mut copy| {
        guard::deny_files(&mut copy)?;
        advice::advise(&mut copy, schema, sql, statements)
    });
    tried.map_err(|error| describe(&error))
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

/// Schema and statements, from one state of the database, and the checks.
fn content(path: &Path, options: &Options, file: &mut File, statements: &mut Vec<Statement>) -> Schema {
    let read = snapshot::read(path, |connection| {
        let schema = schema::look(connection)?;
        let found = match &options.sql {
            Some(text) => statement::look(connection, &schema, text)?,
            None => Vec::new(),
        };
        Ok((schema, found))
    });
    let schema = match read {
        // What looks like damage can be a part of a transaction.
        Ok(read) if read.locked && options.check => {
            return Schema { unread: Some(SnapshotError::Transaction.to_string()), ..Schema::default() };
        }
        Ok(read) => {
            let (mut schema, found) = read.content;
            schema.behind = read.behind;
            *statements = found;
            schema
        }
        Err(error) => Schema { unread: Some(error.to_string()), ..Schema::default() },
    };
    if options.check {
        check(path, schema.behind, file);
    }
    schema
}

/// Looks for damage and for rows without a parent. Each check fails for itself.
fn check(path: &Path, behind: bool, file: &mut File) {
    const BEHIND: &str = "damage: the log has newer commits, and without them the file need not be a state of the \
                          database; check a copy made by `VACUUM INTO`";
    let read = match behind {
        true => None,
        false => Some(snapshot::read(path, |connection| Ok((quick(connection), orphans(connection))))),
    };
    let (damage, orphans) = match read {
        Some(Ok(read)) if read.locked => return file.unchecked.push(format!("damage: {}", SnapshotError::Transaction)),
        Some(Ok(read)) if !read.behind => read.content,
        Some(Err(error)) => return file.unchecked.push(format!("damage: {error}")),
        _ => return file.unchecked.push(BEHIND.into()),
    };
    match damage {
        Ok(damage) => (file.damage, file.checked) = (damage, true),
        Err(error) if is_damage(&error) => (file.damage, file.checked) = (vec![describe(&error)], true),
        Err(error) => file.unchecked.push(format!("damage: {}", describe(&error))),
    }
    match orphans {
        Ok(orphans) => file.orphans = Some(orphans),
        Err(error) if is_damage(&error) && file.damage.is_empty() => file.damage.push(describe(&error)),
        Err(error) => file.unchecked.push(format!("rows without a parent: {}", describe(&error))),
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Messages of `quick_check`.
fn quick(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let messages: Vec<String> = connection
        .prepare(&format!("PRAGMA quick_check({MOST_MESSAGES})"))?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(if messages == ["ok"] { Vec::new() } else { messages })
}

/// Number of rows whose parent is missing.
fn orphans(connection: &Connection) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.raw_query();
    let mut orphans = 0;
    while rows.next()?.is_some() {
        orphans += 1;
    }
    Ok(orphans)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts after `--check` of a database with this content.
    fn checked(sql: &str, then: impl FnOnce(&Connection, &Path)) -> Facts {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
        then(&connection, &path);
        look(&path, &Options { check: true, ..Options::default() }).unwrap()
    }

    #[test]
    fn a_check_that_fails_leaves_the_others_and_the_schema() {
        let facts = checked(
            "CREATE TABLE p(id INTEGER PRIMARY KEY, code TEXT); CREATE TABLE a(r TEXT REFERENCES p(code))",
            |_, _| {},
        );
        assert!(facts.file.checked && facts.file.damage.is_empty() && facts.file.orphans.is_none(), "{:?}", facts.file);
        assert!(facts.file.unchecked[0].contains("foreign key mismatch"), "{:?}", facts.file.unchecked);
        assert!(facts.schema.unread.is_none() && facts.schema.tables.len() == 2);
    }

    #[test]
    fn damage_is_found_where_a_check_fails_because_of_it() {
        let sql = "PRAGMA page_size = 512; CREATE TABLE p(id INTEGER PRIMARY KEY); \
                   CREATE TABLE a(r INT REFERENCES p(id), x); INSERT INTO p VALUES (1); \
                   WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200) \
                   INSERT INTO a SELECT 1, zeroblob(100) FROM n";
        let facts = checked(sql, |connection, path| {
            let root: i64 = connection
                .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'a'", [], |row| row.get(0))
                .unwrap();
            let mut bytes = std::fs::read(path).unwrap();
            bytes[(root as usize - 1) * 512..][..8].fill(0xff);
            std::fs::write(path, bytes).unwrap();
        });
        assert!(facts.file.checked && !facts.file.damage.is_empty(), "{:?}", facts.file);
    }

    #[test]
    fn a_file_without_its_log_is_not_judged() {
        // More than is copied.
        let facts = checked(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(a); \
             INSERT INTO t VALUES (zeroblob(70000000))",
            |_, _| {},
        );
        assert!(facts.schema.behind || facts.schema.unread.is_some(), "{:?}", facts.schema);
        assert!(!facts.file.checked && facts.file.damage.is_empty() && !facts.file.unchecked.is_empty());
    }
}
