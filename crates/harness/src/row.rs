//! Rows and their columns, borrowed from the driver.

use std::hint::black_box;

use litelab_protocol::draw::Value;

use crate::fault::Fault;

/// A fetched row.
pub trait Row {
    /// The column at this index, counted from 0.
    ///
    /// # Errors
    /// A column that the driver cannot return.
    fn column(&self, at: usize) -> Result<Column<'_>, Fault>;

    /// Reads a column as a value of the language; the compiler cannot remove the read. A driver whose own type of value
    /// can be matched overrides it: converting to a [`Column`] first costs as much as the read itself.
    ///
    /// # Errors
    /// Those of `column`, or text that is not UTF-8.
    #[inline(always)]
    fn read(&self, at: usize) -> Result<(), Fault> {
        match self.column(at)? {
            Column::Null => {}
            Column::Integer(i) => drop(black_box(i)),
            Column::Real(r) => drop(black_box(r)),
            Column::Text(text) => drop(black_box(utf8(text)?)),
            Column::Blob(blob) => drop(black_box(blob)),
        }
        Ok(())
    }
}

/// A column as SQLite stores it. Text is a sequence of bytes whose encoding has not been checked.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "SQLite's own words")]
pub enum Column<'a> {
    Null,
    Integer(i64),
    Real(f64),
    /// UTF-8 unless the database contains invalid text.
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

impl Column<'_> {
    /// Converts the column to a value of the protocol.
    ///
    /// # Errors
    /// A BLOB, or text that is not UTF-8.
    pub fn to_value(self) -> Result<Value, Fault> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Integer(i) => Value::Integer(i),
            Self::Real(r) => Value::Real(r),
            Self::Text(text) => Value::Text(utf8(text)?.into()),
            Self::Blob(_) => return Err(Fault::Other("a BLOB cannot be yielded or reported".into())),
        })
    }
}

/// Converts text to the language's type.
///
/// # Errors
/// Text that is not UTF-8. It is not an error of SQLite's, because SQLite does not check.
#[inline(always)]
pub fn utf8(text: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(text).map_err(Fault::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_protocol_has_is_a_value() {
        assert_eq!(Column::Text(b"caf\xc3\xa9").to_value().ok(), Some(Value::Text("café".into())));
        assert_eq!(Column::Integer(-1).to_value().ok(), Some(Value::Integer(-1)));
        assert!(Column::Text(b"\xff").to_value().is_err());
        assert!(Column::Blob(b"abc").to_value().is_err_and(|f| f.to_string().contains("BLOB")));
    }
}
