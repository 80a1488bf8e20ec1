//! The file to be generated: claimed, never taken from somebody else.

use crate::BulkError;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A path that is ours. Dropped before [`Target::keep`], it leaves what was there before: nothing, or an empty file.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    created: bool,
    keep: bool,
}

impl Target {
    /// Claims `path`: it must be free or an empty file. With `replace` it may also be a database that holds the
    /// `bench` table and nothing else, and that nobody has open; that one is deleted.
    pub(crate) fn claim(path: &Path, replace: bool) -> Result<Self, BulkError> {
        if path.as_os_str().is_empty() || path == Path::new(":memory:") {
            return Err(BulkError::Options("give the path of a file: a database in memory ends with the run".into()));
        }
        match fs::metadata(path) {
            Ok(found) if found.is_file() && found.len() == 0 => {}
            Ok(found) if !found.is_file() => {
                return Err(BulkError::NotOurs { path: path.into(), reason: "it is not a plain file".into() });
            }
            Ok(_) if replace => delete_ours(path)?,
            Ok(_) => return Err(BulkError::Exists { path: path.into() }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(BulkError::Io { doing: "look at the path", source }),
        }
        // Without their database they may be all that is left of it, and SQLite would delete them. The -shm file is
        // only an index of the -wal, so that one may lie about.
        let [journal, wal, _shm] = companions(path);
        for companion in [journal, wal] {
            if fs::metadata(&companion).is_ok_and(|found| found.len() > 0) {
                let reason = format!("{} belongs to another database of that name", companion.display());
                return Err(BulkError::NotOurs { path: path.into(), reason });
            }
        }
        let created = match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(source) => return Err(BulkError::Io { doing: "create the database", source }),
        };
        // Not created, it is the empty file from above, or somebody has been quicker.
        if !created && fs::metadata(path).is_ok_and(|found| found.len() > 0) {
            return Err(BulkError::Exists { path: path.into() });
        }
        Ok(Self { path: path.into(), created, keep: false })
    }

    /// From here on the file holds something.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }

    pub(crate) fn open(&self) -> Result<Connection, BulkError> {
        // Not SQLITE_OPEN_URI: a path is a path, even if it starts with "file:".
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let mut conn = Connection::open_with_flags(&self.path, flags)?;
            litelab_database::guard::deny_files(&mut conn)?;
            Ok(conn)
        };
        open().map_err(BulkError::doing("open the database"))
    }

    /// Bytes of the database and of its log, should one remain.
    pub(crate) fn bytes(&self) -> u64 {
        let mut files = companions(&self.path).to_vec();
        files.push(self.path.clone());
        files.iter().filter_map(|file| fs::metadata(file).ok()).map(|found| found.len()).sum()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing to be done about a failure here: the error that led to this is the one to report.
            let _ = if self.created {
                fs::remove_file(&self.path)
            } else {
                OpenOptions::new().write(true).open(&self.path).and_then(|file| file.set_len(0))
            };
            for companion in companions(&self.path) {
                let _ = fs::remove_file(companion);
            }
        }
    }
}

fn companions(path: &Path) -> [PathBuf; 3] {
    ["-journal", "-wal", "-shm"].map(|suffix| {
        let mut name = OsString::from(path);
        name.push(suffix);
        name.into()
    })
}

/// Deletes a generated database, holding its exclusive lock: who has it open keeps it.
fn delete_ours(path: &Path) -> Result<(), BulkError> {
    let not_ours = |reason: String| BulkError::NotOurs { path: path.into(), reason };
    let look = |conn: &Connection| other_content(conn).map_err(BulkError::doing("look at the tables"));
    if let Some(other) = litelab_database::read(path, look).map_err(|error| not_ours(error.to_string()))? {
        return Err(not_ours(other));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let lock = || {
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(std::time::Duration::ZERO)?;
        // To leave WAL a connection must be alone; it also empties and deletes the log.
        let mode: String = conn.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
        conn.execute_batch("BEGIN EXCLUSIVE")?;
        Ok::<_, rusqlite::Error>((conn, mode))
    };
    let (conn, mode) = lock().map_err(|error| not_ours(format!("it is in use ({error})")))?;
    if mode != "delete" {
        return Err(not_ours("it is in use".into()));
    }
    fs::remove_file(path).map_err(|source| BulkError::Io { doing: "delete the old database", source })?;
    drop(conn);
    Ok(())
}

/// What a database holds besides the `bench` table, or in its place.
fn other_content(conn: &Connection) -> rusqlite::Result<Option<String>> {
    let mut objects = conn.prepare("SELECT type, name, tbl_name FROM sqlite_schema")?;
    let mut rows = objects.query([])?;
    let mut found = false;
    while let Some(row) = rows.next()? {
        let (kind, name, table): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let ours = table == "bench" && (kind == "table" || name == "sqlite_autoindex_bench_1");
        if !ours {
            return Ok(Some(format!("it holds the {kind} `{name}`")));
        }
        found = true;
    }
    if !found {
        return Ok(Some("it holds no table `bench`".into()));
    }
    let columns: String =
        conn.query_row("SELECT group_concat(name) FROM pragma_table_xinfo('bench')", [], |row| row.get(0))?;
    Ok((columns != "ID,rand,hash").then(|| format!("its table `bench` has the columns {columns}")))
}
