//! Interpretation of a PRAGMA's value by the linked SQLite, found by trying it on a new file.

use litelab_observe::temporary::Temporary;
use litelab_protocol::Value;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::guard;

/// Sets a PRAGMA of a new database to `first` and then to `second`, each as SQL text. Returns its values before and
/// after the second statement; the latter is `None` if SQLite returns an error. Returns `None` if no file can be
/// created or `first` fails.
///
/// `name` must be a PRAGMA of SQLite, and none that affects the whole process, such as `hard_heap_limit`.
#[must_use]
pub fn tried(name: &str, first: &str, second: &str) -> Option<(Value, Option<Value>)> {
    let folder = Temporary::folder().ok()?;
    // A file, because an in-memory database has no write-ahead log and no memory map.
    let connection = Connection::open(folder.path().join("tried.db")).ok()?;
    set(&connection, name, first).ok()?;
    let before = value(&connection, name).ok()?;
    let after = set(&connection, name, second).and_then(|()| value(&connection, name));
    Some((before, after.ok()))
}

fn set(connection: &Connection, name: &str, text: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(&format!("PRAGMA {name} = '{}'", text.replace('\'', "''")))?;
    guard::to_its_end(&mut statement)
}

/// Value of `PRAGMA name`; null if it returns no row.
///
/// # Errors
/// When SQLite refuses the statement.
pub fn value(connection: &Connection, name: &str) -> rusqlite::Result<Value> {
    let mut statement = connection.prepare(&format!("PRAGMA {name}"))?;
    let mut rows = statement.raw_query();
    let Some(row) = rows.next()? else { return Ok(Value::Null) };
    Ok(match row.get_ref(0)? {
        ValueRef::Null | ValueRef::Blob(_) => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_kept_or_refused() {
        let synchronous = tried("synchronous", "off", "WAL").unwrap();
        assert_eq!(synchronous, (Value::Integer(0), Some(Value::Integer(1))));
        let journal = tried("journal_mode", "truncate", "WALL").unwrap();
        assert_eq!(journal, ("truncate".into(), Some("truncate".into())));
        assert_eq!(tried("journal_mode", "delete", "wal").unwrap().1, Some("wal".into()));
        assert_eq!(tried("encoding", "UTF-8", "latin1").unwrap(), ("UTF-8".into(), None));
        assert_eq!(tried("mmap_size", "1", "64MB").unwrap().1, Some(Value::Integer(64)));
        assert_eq!(tried("synchronous", "off", "it's").unwrap().1, Some(Value::Integer(1)));
    }
}
