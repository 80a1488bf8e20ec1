//! Values that are bound, and rows that were read.

use std::ffi::c_int;
use std::hint::black_box;
use std::{ptr, slice};

use litelab_harness::{Bound, Column, Fault, Row};
use rusqlite::ffi;

use super::driver::{Content, Rows, Value, litelab_c_free_rows};

impl From<Bound<'_>> for Value {
    #[inline]
    fn from(bound: Bound<'_>) -> Self {
        let of = |kind, length, content| Self { kind, is_volatile: 0, length, content };
        match bound {
            Bound::Null => of(ffi::SQLITE_NULL, 0, Content { integer: 0 }),
            Bound::Integer(integer) => of(ffi::SQLITE_INTEGER, 0, Content { integer }),
            Bound::Real(real) => of(ffi::SQLITE_FLOAT, 0, Content { real }),
            Bound::Text(text) => of(ffi::SQLITE_TEXT, text.len(), Content { bytes: text.as_ptr() }),
        }
    }
}

/// A row that was read; its bytes are valid for the lifetime of this value.
pub struct Cells<'a>(pub &'a [Value]);

impl Row for Cells<'_> {
    #[inline]
    fn column(&self, at: usize) -> Result<Column<'_>, Fault> {
        let Value { kind, length, content, .. } = &self.0[at];
        // SAFETY: `kind` selects the field. Bytes are null only if `length` is 0.
        unsafe {
            let bytes = || if *length == 0 { &[] } else { slice::from_raw_parts(content.bytes, *length) };
            Ok(match *kind {
                ffi::SQLITE_INTEGER => Column::Integer(content.integer),
                ffi::SQLITE_FLOAT => Column::Real(content.real),
                ffi::SQLITE_TEXT => Column::Text(bytes()),
                ffi::SQLITE_BLOB => Column::Blob(bytes()),
                _ => Column::Null,
            })
        }
    }

    /// C has read the column already. It does not validate the encoding of text.
    #[inline]
    fn read(&self, at: usize) -> Result<(), Fault> {
        black_box(&self.0[at]);
        Ok(())
    }
}

impl Rows {
    pub fn new(columns: usize) -> Self {
        Self { values: ptr::null_mut(), count: 0, columns: columns as c_int }
    }

    pub fn iter(&self) -> impl Iterator<Item = Cells<'_>> {
        let columns = self.columns as usize;
        let values = match self.count {
            0 => &[],
            // SAFETY: `litelab_c_fetch_all` has written `count` rows of `columns` values.
            count => unsafe { slice::from_raw_parts(self.values, count * columns) },
        };
        values.chunks_exact(columns).map(Cells)
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // SAFETY: filled by `litelab_c_fetch_all`, or still empty.
        unsafe { litelab_c_free_rows(self) }
    }
}
