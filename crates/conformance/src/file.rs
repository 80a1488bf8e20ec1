//! The suite's own look at the database, after the runner has closed it or while it must wait.

use std::path::Path;
use std::time::Duration;

use litelab_protocol::draw::Value;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ToSql};

/// Rows of [`draw::Value`](litelab_protocol::draw::Value)s.
pub type Rows = Vec<Vec<Value>>;

/// Makes a database with this schema and nothing left open.
pub fn create(path: &Path, schema: &str) -> Result<(), String> {
    let connection = open(path)?;
    connection.execute_batch("PRAGMA synchronous = OFF").map_err(|e| e.to_string())?;
    connection.execute_batch(schema).map_err(|e| e.to_string())
}

/// Opens it as the suite does.
pub fn open(path: &Path) -> Result<Connection, String> {
    let open = || {
        let connection = Connection::open(path)?;
        // For what a runner that was killed has left running.
        connection.busy_timeout(Duration::from_secs(60))?;
        Ok(connection)
    };
    open().map_err(|e: rusqlite::Error| format!("{}: {e}", path.display()))
}

/// All rows of a query; a BLOB is shown as text, for no runner writes one.
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

/// A value on its way into SQLite.
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
