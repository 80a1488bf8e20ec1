//! A value of a table, in SQLite's type system.

use std::cmp::Ordering;

use litelab_protocol::content::ContentHash;
use litelab_protocol::draw::Value;

use crate::ServersError;

/// A value of one of SQLite's storage classes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl Cell {
    /// Parses a decimal number: an integer if it is integral and fits into 64 bits, else a double.
    pub fn decimal(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        match whole.parse() {
            Ok(integer) if fraction.bytes().all(|b| b == b'0') => Some(Self::Integer(integer)),
            _ => text.parse().ok().map(Self::Real),
        }
    }

    /// The value in the type of the parameter generator, which has no BLOBs.
    pub fn value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Integer(i) => Value::Integer(i),
            Self::Real(r) => Value::Real(r),
            Self::Text(t) => Value::Text(String::from_utf8_lossy(&t).into_owned()),
            Self::Blob(b) => Value::Text(format!("a BLOB of {} bytes", b.len())),
        }
    }

    /// Adds the value to a hash.
    pub fn hash(&self, hash: &mut ContentHash) {
        match self {
            Self::Null => hash.null(),
            Self::Integer(i) => hash.integer(*i),
            Self::Real(r) => hash.real(*r),
            Self::Text(t) => hash.text(t),
            Self::Blob(b) => hash.blob(b),
        }
    }

    /// SQLite's order (<https://sqlite.org/datatype3.html>, section 4.1).
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Real(a), Self::Real(b)) => a.total_cmp(b),
            // Integers and doubles occur together only in a column of decimals. Its integers are assumed to be small
            // enough to be exact doubles.
            (Self::Integer(a), Self::Real(b)) => (*a as f64).total_cmp(b),
            (Self::Real(a), Self::Integer(b)) => a.total_cmp(&(*b as f64)),
            (Self::Text(a), Self::Text(b)) | (Self::Blob(a), Self::Blob(b)) => a.cmp(b),
            _ => self.class().cmp(&other.class()),
        }
    }

    fn class(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Integer(_) | Self::Real(_) => 1,
            Self::Text(_) => 2,
            Self::Blob(_) => 3,
        }
    }
}

/// Hashes rows and checks that they arrive in SQLite's order. Without this check, a server that sorts long texts by a
/// prefix only would appear to have other content.
#[derive(Default)]
pub(super) struct Rows {
    hash: ContentHash,
    last: Vec<Cell>,
}

impl Rows {
    /// Adds the next row. An error if it is out of order.
    pub fn add(&mut self, row: Vec<Cell>) -> Result<(), ServersError> {
        let order = self.last.iter().zip(&row).map(|(a, b)| a.cmp(b)).find(|o| o.is_ne());
        if order == Some(Ordering::Greater) {
            return Err(ServersError::Failed("the server does not sort its rows as SQLite does".into()));
        }
        for cell in &row {
            cell.hash(&mut self.hash);
        }
        self.last = row;
        Ok(())
    }

    /// Hash of all rows.
    pub fn finish(self) -> String {
        self.hash.finish()
    }
}

/// Error for a column whose type has no equivalent in SQLite.
pub(super) fn foreign(column: &str, its_type: &str) -> ServersError {
    ServersError::Failed(format!(
        "column `{column}` is of type {its_type}, which has no like in SQLite: make it an integer, double, text or blob"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integral_decimals_are_integers() {
        assert_eq!(Cell::decimal("12"), Some(Cell::Integer(12)));
        assert_eq!(Cell::decimal("-3.00"), Some(Cell::Integer(-3)));
        assert_eq!(Cell::decimal("0.25"), Some(Cell::Real(0.25)));
        assert_eq!(Cell::decimal("-0.5"), Some(Cell::Real(-0.5)));
        assert_eq!(Cell::decimal("92233720368547758080"), Some(Cell::Real(92_233_720_368_547_758_080.0)));
        assert_eq!(Cell::decimal("x"), None);
    }

    #[test]
    fn rows_out_of_order_are_refused() {
        let text = |t: &str| Cell::Text(t.into());
        let mut rows = Rows::default();
        for row in [
            vec![Cell::Null, text("b")],
            vec![Cell::Integer(-1), text("b")],
            vec![Cell::Real(-0.5), Cell::Null],
            vec![Cell::Integer(2), text("a")],
            vec![Cell::Integer(2), text("a")],
            vec![Cell::Integer(2), text("ä")],
            vec![Cell::Integer(2), Cell::Blob(vec![0])],
            vec![text(""), Cell::Null],
        ] {
            rows.add(row).unwrap();
        }
        assert!(rows.add(vec![Cell::Integer(9), text("z")]).unwrap_err().to_string().contains("sort"));
    }
}
