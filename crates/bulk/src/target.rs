//! The file to generate, which is never the file of another program.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use litelab_database::{Guard, Script};
use litelab_observe::{Holders, sidecar};
use rusqlite::{Connection, OpenFlags};

use crate::{BulkError, GenerateOptions, LIMIT};

/// A claimed path. If it is dropped before [`Target::keep`], what was there before is restored.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    /// `None` before it is claimed, and after [`Target::keep`].
    before: Option<Before>,
}

/// What was at the path.
#[derive(Debug)]
enum Before {
    Nothing,
    EmptyFile,
    /// A database, under another name until it is replaced.
    Database {
        name: PathBuf,
        was_wal: bool,
    },
}

impl Target {
    /// Claims the path, which must be free or an empty file. With `replace` it may also be a database that contains
    /// only tables of the workload and that no process has open; that database is renamed until [`Target::keep`].
    pub(crate) fn claim(options: &GenerateOptions) -> Result<Self, BulkError> {
        let path = options.path.as_path();
        if path.as_os_str().is_empty() || path == Path::new(":memory:") {
            return Err(BulkError::Options("give the path of a file: a database in memory ends with the run".into()));
        }
        // A link stays, and what it leads to is replaced.
        let real = path.canonicalize();
        let path = real.as_deref().unwrap_or(path);
        let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        let from = options.data.from.as_deref().and_then(|from| identity(Path::new(from)));
        if from.is_some() && from == identity(path) {
            let reason = "it is the database that [data] starts from".into();
            return Err(BulkError::NotOurs { path: path.into(), reason });
        }
        let mut target = Self { path: path.into(), before: None };
        match fs::metadata(path) {
            Ok(found) if found.is_file() && found.len() == 0 => {}
            Ok(found) if !found.is_file() => {
                return Err(BulkError::NotOurs { path: path.into(), reason: "it is not a plain file".into() });
            }
            Ok(_) if options.replace => target.before = Some(rename_ours(path, &objects_of(options)?)?),
            Ok(_) => return Err(BulkError::Exists { path: path.into() }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(BulkError::Path { path: path.into(), error }),
        }
        // A log or journal may be all that remains of another database, and SQLite would delete it. The -shm file is
        // only an index of the -wal, so it may exist.
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
            Err(error) => return Err(BulkError::Path { path: path.into(), error }),
        };
        // If it was not created, it is the empty file from above, or another process has created it meanwhile.
        if !created && fs::metadata(path).is_ok_and(|found| found.len() > 0) {
            return Err(match target.before.take() {
                Some(Before::Database { name, .. }) => {
                    let reason =
                        format!("another process has made it meanwhile, and the old one is {}", name.display());
                    BulkError::NotOurs { path: path.into(), reason }
                }
                _ => BulkError::Exists { path: path.into() },
            });
        }
        target.before.get_or_insert(if created { Before::Nothing } else { Before::EmptyFile });
        Ok(target)
    }

    /// Keeps the file from now on, because it has content, and deletes the one that it replaces.
    pub(crate) fn keep(&mut self) {
        if let Some(Before::Database { name, .. }) = self.before.take() {
            // A failure here is ignored: the new database is there.
            let _ = fs::remove_file(name);
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn open(&self) -> Result<Connection, BulkError> {
        // Not SQLITE_OPEN_URI: a path stays a path, even if it begins with "file:".
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let mut conn = Connection::open_with_flags(&self.path, flags)?;
            litelab_database::guard::deny_files(&mut conn)?;
            Ok(conn)
        };
        open().map_err(BulkError::doing("open the database"))
    }

    /// Size in bytes of the database and of a log that remains.
    pub(crate) fn bytes(&self) -> u64 {
        let mut files = companions(&self.path).to_vec();
        files.push(self.path.clone());
        files.iter().filter_map(|file| fs::metadata(file).ok()).map(|found| found.len()).sum()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let Some(before) = self.before.take() else { return };
        for companion in companions(&self.path) {
            let _ = fs::remove_file(companion);
        }
        // A failure here is ignored: the error that led to it is reported.
        let _ = match before {
            Before::Nothing => fs::remove_file(&self.path),
            Before::EmptyFile => OpenOptions::new().write(true).open(&self.path).and_then(|file| file.set_len(0)),
            Before::Database { name, was_wal } => fs::rename(name, &self.path).map(|()| {
                if was_wal {
                    let _ = Connection::open(&self.path).and_then(|old| old.pragma_update(None, "journal_mode", "wal"));
                }
            }),
        };
    }
}

fn companions(path: &Path) -> [PathBuf; 3] {
    ["-journal", "-wal", "-shm"].map(|suffix| sidecar(path, suffix))
}

/// Renames a generated database under its exclusive lock, which ends its WAL mode: a file that another process has open
/// stays.
fn rename_ours(path: &Path, ours: &[Object]) -> Result<Before, BulkError> {
    let not_ours = |reason: String| BulkError::NotOurs { path: path.into(), reason };
    // An idle connection in rollback mode has no lock.
    if let Some(holder) = Holders::of(path).processes.first() {
        return Err(not_ours(format!("process {} has it open", holder.pid)));
    }
    let look = |connection: &Connection| objects(connection).map_err(BulkError::doing("look at the tables"));
    let found = litelab_database::read(path, look).map_err(|error| not_ours(error.to_string()))?;
    let other = match found.iter().find(|object| !ours.contains(object)) {
        Some(Object { kind, name, .. }) if !ours.iter().any(|our| our.kind == *kind && our.name == *name) => {
            Some(format!("it holds the {kind} `{name}`"))
        }
        Some(Object { kind, name, columns }) => Some(format!("its {kind} `{name}` has the columns {columns}")),
        None if found.is_empty() => Some("it holds no table of the workload".into()),
        None => None,
    };
    if let Some(other) = other {
        return Err(not_ours(other));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let lock = || {
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(std::time::Duration::ZERO)?;
        let before: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        // A connection can leave WAL mode only if it is the only one; it also empties and deletes the log.
        let mode: String = conn.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
        conn.execute_batch("BEGIN EXCLUSIVE")?;
        Ok::<_, rusqlite::Error>((conn, before, mode))
    };
    let (conn, before, mode) = lock().map_err(|error| not_ours(format!("it is in use ({error})")))?;
    if mode != "delete" {
        return Err(not_ours("it is in use".into()));
    }
    let name = sidecar(path, &format!(".{}.old", std::process::id()));
    if name.symlink_metadata().is_ok() {
        return Err(not_ours(format!("{} is in the way", name.display())));
    }
    // A journal that was kept (`journal_mode = PERSIST`) belongs to it, and was rolled back if it was hot.
    let _ = fs::remove_file(sidecar(path, "-journal"));
    fs::rename(path, &name).map_err(|error| BulkError::Io { doing: "rename the old database", error })?;
    drop(conn);
    Ok(Before::Database { name, was_wal: before == "wal" })
}

/// A table, index, view or trigger.
#[derive(Debug, PartialEq, Eq)]
struct Object {
    kind: String,
    name: String,
    /// Columns of a table or view; table of an index or trigger.
    columns: String,
}

/// Objects that a workload creates; those of a database that is copied first are not known.
fn objects_of(options: &GenerateOptions) -> Result<Vec<Object>, BulkError> {
    let empty = || Guard::new(Connection::open_in_memory()?);
    let guard = empty().map_err(BulkError::doing("look at the schema"))?;
    for (what, sql) in [("schema", Some(&options.schema)), ("data.then", options.data.then.as_ref())] {
        guard.within(LIMIT);
        let made = guard.script(sql.map_or("", String::as_str), Script::Schema);
        made.map_err(|error| BulkError::Sql { what, error })?;
    }
    objects(&guard).map_err(BulkError::doing("look at the schema"))
}

/// All objects of a database, without those that SQLite creates itself.
fn objects(connection: &Connection) -> rusqlite::Result<Vec<Object>> {
    let sql = "SELECT type, name, CASE WHEN type IN ('table', 'view') \
               THEN (SELECT group_concat(i.name) FROM pragma_table_xinfo(s.name) i) ELSE tbl_name END \
               FROM sqlite_schema s WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut statement = connection.prepare(sql)?;
    let object = |row: &rusqlite::Row<'_>| Ok(Object { kind: row.get(0)?, name: row.get(1)?, columns: row.get(2)? });
    statement.query_map([], object)?.collect()
}
