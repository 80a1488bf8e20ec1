//! A database that is only read.

use std::path::Path;

use litelab_observe::{DatabaseHeader, FileSizes};
use rusqlite::{Connection, OpenFlags};

use crate::error::RecordError;

/// Opens somebody else's database: never to write, and leaving nothing beside it.
///
/// SQLite makes a `-wal` and a `-shm` file even for a connection that only reads a database in WAL mode, and such a
/// connection cannot remove them. Where there is no log, nobody has the database open, and it is read as immutable
/// (<https://sqlite.org/c3ref/open.html>), which needs neither. `PRAGMA journal_mode` then says `delete`.
///
/// # Errors
/// When there is no such file, or it is no database.
pub fn open_read_only(path: &Path) -> Result<Connection, RecordError> {
    if !path.exists() {
        return Err(RecordError::BadInput(format!("{}: no such file", path.display())));
    }
    // A pipe would be waited for, and a device has no end.
    if !path.is_file() {
        return Err(RecordError::BadInput(format!("{}: this is no regular file", path.display())));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let at_rest =
        matches!(DatabaseHeader::read(path), Ok(Some(header)) if header.wal) && FileSizes::of(path).wal.is_none();
    let opened = match uri(path) {
        Some(uri) if at_rest => Connection::open_with_flags(format!("{uri}?immutable=1"), flags),
        _ => Connection::open_with_flags(path, flags & !OpenFlags::SQLITE_OPEN_URI),
    };
    let connection = opened.map_err(|e| RecordError::sqlite("open", path, &e))?;
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(|e| RecordError::sqlite("read", path, &e))?;
    Ok(connection)
}

/// The path as a `file:` URI; none where it is not UTF-8.
fn uri(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let mut uri = String::from("file:");
    for byte in path.to_str()?.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    Some(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_somebodys_database_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd name?#%é.db");
        let theirs = Connection::open(&path).unwrap();
        theirs.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)").unwrap();
        // As long as somebody writes, what is in the log is read, too.
        let count = |c: &Connection| c.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0)).unwrap();
        assert_eq!(count(&open_read_only(&path).unwrap()), 1);
        theirs.execute_batch("INSERT INTO t VALUES (2)").unwrap();
        assert_eq!(count(&open_read_only(&path).unwrap()), 2);
        drop(theirs);

        let before = std::fs::read(&path).unwrap();
        let connection = open_read_only(&path).unwrap();
        assert_eq!(count(&connection), 2);
        assert!(connection.execute_batch("INSERT INTO t VALUES (3)").is_err(), "it cannot be written");
        drop(connection);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no -wal, no -shm");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn what_is_no_database_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        assert!(open_read_only(&path).is_err_and(|e| e.to_string().contains("no such file") && e.is_bad_input()));
        std::fs::write(&path, [7; 5000]).unwrap();
        assert!(open_read_only(&path).is_err_and(|e| e.to_string().contains("no database") && e.is_bad_input()));
    }
}
