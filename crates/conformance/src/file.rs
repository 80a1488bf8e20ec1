//! Access of the suite itself to the database file, after the runner has closed it or while the runner must wait.

use std::path::Path;
use std::time::Duration;

use litelab_protocol::draw::Value;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ToSql};

/// Rows as [`draw::Value`](litelab_protocol::draw::Value)s.
pub type Rows = Vec<Vec<Value>>;

/// Creates a database with this schema and closes it.
pub fn create(path: &Path, schema: &str) -> Result<(), String> {
    let connection = open(path)?;
    connection.execute_batch("PRAGMA synchronous = OFF").map_err(|e| e.to_string())?;
    connection.execute_batch(schema).map_err(|e| e.to_string())
}

/// Opens the database with the suite's own settings.
pub fn open(path: &Path) -> Result<Connection, String> {
    let open = || {
        let connection = Connection::open(path)?;
        // Processes that a killed runner had started may still hold a lock.
        connection.busy_timeout(Duration::from_secs(60))?;
        Ok(connection)
    };
    open().map_err(|e: rusqlite::Error| format!("{}: {e}", path.display()))
}

/// Returns all rows of a query. A BLOB is returned as text: no runner writes one.
pub fn rows(path: &Path, sql: &str) -> Result<Rows, String> {
    let connection = open(path)?;
    let read = || -> rusqlite::Result<Rows> {
        let mut statement = connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            let mut values = Vec::new();
            for column in 0..columns {
                values.push(match row.get_ref(column)? {
                    ValueRef::Null => Value::Null,
                    ValueRef::Integer(i) => Value::Integer(i),
                    ValueRef::Real(r) => Value::Real(r),
                    ValueRef::Text(t) => Value::Text(String::from_utf8_lossy(t).into_owned()),
                    ValueRef::Blob(b) => Value::Text(format!("a BLOB of {} bytes", b.len())),
                });
            }
            out.push(values);
        }
        Ok(out)
    };
    read().map_err(|e| format!("{sql}: {e}"))
}

/// Implements `ToSql` for a generated value.
pub struct Bound<'a>(pub &'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::{ToSqlOutput, Value as Sql};
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Owned(Sql::Null),
            Value::Integer(i) => ToSqlOutput::Owned(Sql::Integer(*i)),
            Value::Real(r) => ToSqlOutput::Owned(Sql::Real(*r)),
            Value::Text(t) => ToSqlOutput::Borrowed(ValueRef::Text(t.as_bytes())),
        })
    }
}
