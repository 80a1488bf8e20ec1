//! Rows of rusqlite in the harness's types.

use std::hint::black_box;

use crate::{Column, Fault, utf8};
use rusqlite::Row;
use rusqlite::types::{Value, ValueRef};

use super::fault::fault;

/// A row in SQLite's memory.
pub struct Borrowed<'a>(pub &'a Row<'a>);

/// A row of owned values.
pub struct Owned<'a>(pub &'a [Value]);

impl crate::Row for Borrowed<'_> {
    #[inline(always)]
    fn column(&self, at: usize) -> Result<Column<'_>, Fault> {
        column(self.0.get_ref(at))
    }

    // Matched in place: moving a column first costs as much as reading it.
    #[inline(always)]
    fn read(&self, at: usize) -> Result<(), Fault> {
        match self.0.get_ref(at) {
            Ok(ValueRef::Null) => {}
            Ok(ValueRef::Integer(i)) => drop(black_box(i)),
            Ok(ValueRef::Real(r)) => drop(black_box(r)),
            Ok(ValueRef::Text(text)) => drop(black_box(utf8(text)?)),
            Ok(ValueRef::Blob(blob)) => drop(black_box(blob)),
            Err(error) => return Err(fault(error)),
        }
        Ok(())
    }
}

impl crate::Row for Owned<'_> {
    #[inline(always)]
    fn column(&self, at: usize) -> Result<Column<'_>, Fault> {
        column(Ok(ValueRef::from(&self.0[at])))
    }
}

/// Converts a column to the harness's type.
pub fn column(value: rusqlite::Result<ValueRef<'_>>) -> Result<Column<'_>, Fault> {
    Ok(match value.map_err(fault)? {
        ValueRef::Null => Column::Null,
        ValueRef::Integer(i) => Column::Integer(i),
        ValueRef::Real(r) => Column::Real(r),
        ValueRef::Text(text) => Column::Text(text),
        ValueRef::Blob(blob) => Column::Blob(blob),
    })
}
