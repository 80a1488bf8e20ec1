//! Rows of sqlx for the harness.

use litelab_harness::{Column, Fault};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, TypeInfo, ValueRef};

use crate::fault::fault;

/// A row that sqlx has copied.
pub struct Fetched(pub SqliteRow);

impl litelab_harness::Row for Fetched {
    fn column(&self, at: usize) -> Result<Column<'_>, Fault> {
        column(&self.0, at).map_err(fault)
    }
}

/// Reads a column with the type of its value in SQLite, not with the declared type.
fn column(row: &SqliteRow, at: usize) -> Result<Column<'_>, sqlx::Error> {
    let value = row.try_get_raw(at)?;
    if value.is_null() {
        return Ok(Column::Null);
    }
    Ok(match value.type_info().name() {
        "INTEGER" => Column::Integer(row.try_get_unchecked(at)?),
        "REAL" => Column::Real(row.try_get_unchecked(at)?),
        "BLOB" => Column::Blob(row.try_get_unchecked(at)?),
        _ => Column::Text(row.try_get_unchecked(at)?),
    })
}
