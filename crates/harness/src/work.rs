//! Work of the client on each fetched row.

use litelab_protocol::{Statement, Transaction, Work};
use sha2::{Digest, Sha256};

use crate::fault::Fault;
use crate::row::{Column, Row};
use crate::session::Execution;

/// [`Work`] with column names resolved to indices.
pub enum Job {
    /// Columns are not read.
    None,
    /// Every column is read.
    Read,
    /// Every column is read, and two of them are compared.
    Verify {
        /// Index of the column that contains hex digits.
        value: usize,
        /// Index of the column that contains the hash of the bytes that these digits encode.
        hash: usize,
    },
}

impl Job {
    /// Finds the columns by name.
    ///
    /// # Errors
    /// A missing column.
    pub fn new(work: &Work, columns: &[&str]) -> Result<Self, Fault> {
        let find = |name: &str| {
            let at = columns.iter().position(|c| *c == name);
            at.ok_or_else(|| Fault::Other(format!("no column `{name}` to verify among {columns:?}")))
        };
        Ok(match work {
            Work::None => Self::None,
            Work::Read => Self::Read,
            Work::Verify { value, hash } => Self::Verify { value: find(value)?, hash: find(hash)? },
        })
    }

    /// As [`Job::new`], for a statement with this number of parameters and these columns, both as compiled.
    ///
    /// # Errors
    /// Also a number of parameters that is not the number of bound values, and fewer columns than yields.
    pub fn check(spec: &Statement, parameters: usize, columns: &[&str]) -> Result<Self, Fault> {
        let bound = spec.bind.len() * spec.tuples as usize;
        if parameters != bound {
            return Err(Fault::Other(format!("it has {parameters} parameters, and {bound} are bound")));
        }
        if columns.len() < spec.yields.len() {
            return Err(Fault::Other(format!("it has columns {columns:?}, and yields {:?}", spec.yields)));
        }
        Self::new(&spec.work, columns)
    }

    /// Does the work on one row of `columns` columns.
    ///
    /// # Errors
    /// Those of `row`.
    #[inline(always)]
    pub fn run(&self, columns: usize, row: &impl Row, execution: &mut Execution) -> Result<(), Fault> {
        if matches!(self, Self::None) {
            return Ok(());
        }
        for at in 0..columns {
            row.read(at)?;
        }
        match self {
            Self::Verify { value, hash } => verify(row, *value, *hash, execution),
            Self::None | Self::Read => Ok(()),
        }
    }
}

/// Prepares the statements of the transactions at the indices `used`; the others have none. Errors name the statement.
///
/// # Errors
/// Those of `one`.
pub fn prepare_each<T>(
    transactions: &[Transaction],
    used: &[usize],
    one: impl Fn(&Statement) -> Result<T, Fault>,
) -> Result<Vec<Vec<T>>, Fault> {
    let of = |(index, transaction): (usize, &Transaction)| {
        let specs = if used.contains(&index) { &transaction.statements[..] } else { &[] };
        specs.iter().map(|spec| one(spec).map_err(|fault| fault.during(&spec.sql))).collect()
    };
    transactions.iter().enumerate().map(of).collect()
}

/// Not inlined: the loop stays small, and hashing takes far longer than a call.
#[inline(never)]
fn verify(row: &impl Row, value: usize, hash: usize, execution: &mut Execution) -> Result<(), Fault> {
    execution.verified += 1;
    execution.mismatches += u64::from(!agree(row.column(value)?, row.column(hash)?));
    Ok(())
}

/// Whether `hash` is the SHA-256 of the bytes that `value` encodes in hex. `false` if either is not text or not hex.
fn agree(value: Column<'_>, hash: Column<'_>) -> bool {
    let (Column::Text(value), Column::Text(hash)) = (value, hash) else { return false };
    let mut expected = [0_u8; 32];
    if hash.len() != 64 || !decode(hash, |i, byte| expected[i] = byte) {
        return false;
    }
    let mut hasher = Sha256::new();
    // Hashed in pieces of a fixed size, so that a row of any length needs no allocation.
    for piece in value.chunks(256) {
        let mut bytes = [0_u8; 128];
        if !decode(piece, |i, byte| bytes[i] = byte) {
            return false;
        }
        hasher.update(&bytes[..piece.len() / 2]);
    }
    hasher.finalize()[..] == expected
}

/// Passes each byte with its index to `put`. Returns `false` if the number of digits is odd or a character is not a
/// digit.
fn decode(digits: &[u8], mut put: impl FnMut(usize, u8)) -> bool {
    let nibble = |c: u8| char::from(c).to_digit(16);
    for (i, pair) in digits.chunks(2).enumerate() {
        let [high, low] = pair else { return false };
        let (Some(high), Some(low)) = (nibble(*high), nibble(*low)) else { return false };
        put(i, (high << 4 | low) as u8);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_hash_agrees() {
        let text = |s: &'static str| Column::Text(s.as_bytes());
        // SHA-256 of no bytes, and of "abc" (FIPS 180-4 examples).
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert!(agree(text(""), text(empty)));
        assert!(agree(text("616263"), text(abc)));
        assert!(!agree(text("616262"), text(abc)));
        assert!(!agree(text("61626"), text(abc)));
        assert!(!agree(text("61626g"), text(abc)));
        assert!(!agree(text("616263"), text(&abc[..63])));
        assert!(!agree(Column::Null, text(empty)));
        assert!(!agree(text("616263"), Column::Null));
    }

    #[test]
    fn a_long_value_is_hashed_whole() {
        let value = "00ff".repeat(500);
        let bytes: Vec<u8> = [0x00, 0xff].repeat(500);
        let hash = litelab_protocol::draw::hex(&Sha256::digest(&bytes));
        assert!(agree(Column::Text(value.as_bytes()), Column::Text(hash.as_bytes())));
    }
}
