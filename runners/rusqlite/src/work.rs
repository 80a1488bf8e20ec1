//! What the client does with each row it fetches.

use std::hint::black_box;

use litelab_protocol::Work;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

use crate::driver::{Effect, Fault};

/// [`Work`] with its columns found.
pub enum Job {
    /// Columns are not read.
    None,
    /// Every column is read.
    Read,
    /// Every column is read, and these two are compared.
    Verify { value: usize, hash: usize },
}

impl Job {
    /// Finds the columns by name.
    pub fn new(work: &Work, columns: &[&str]) -> Result<Self, Fault> {
        let find = |name: &str| {
            let at = columns.iter().position(|c| *c == name);
            at.ok_or_else(|| Fault::Other(format!("no column `{name}` to verify among {columns:?}")))
        };
        Ok(match work {
            Work::None => Self::None,
            Work::Read => Self::Read,
            Work::Sha256Verify { value, hash } => Self::Verify { value: find(value)?, hash: find(hash)? },
        })
    }

    /// Does the work on one row of `columns` columns. Each is read as a value of the language, in a way that the
    /// compiler cannot leave out.
    #[inline(always)]
    pub fn run<'r>(
        &self,
        columns: usize,
        column: impl Fn(usize) -> rusqlite::Result<ValueRef<'r>>,
        effect: &mut Effect<'_>,
    ) -> Result<(), Fault> {
        if matches!(self, Self::None) {
            return Ok(());
        }
        for at in 0..columns {
            // Matched where it is: moving a column about first costs as much as reading it.
            match column(at) {
                Ok(ValueRef::Null) => {}
                Ok(ValueRef::Integer(i)) => drop(black_box(i)),
                Ok(ValueRef::Real(r)) => drop(black_box(r)),
                Ok(ValueRef::Text(text)) => drop(black_box(std::str::from_utf8(text).map_err(Fault::other)?)),
                Ok(ValueRef::Blob(blob)) => drop(black_box(blob)),
                Err(error) => return Err(error.into()),
            }
        }
        if let Self::Verify { value, hash } = self {
            effect.verified += 1;
            effect.mismatches += u64::from(!agree(column(*value)?, column(*hash)?));
        }
        Ok(())
    }
}

/// Whether `hash` is the SHA-256 of the bytes that `value` spells. What is no text or no hex agrees with nothing.
fn agree(value: ValueRef<'_>, hash: ValueRef<'_>) -> bool {
    let (ValueRef::Text(value), ValueRef::Text(hash)) = (value, hash) else { return false };
    let mut expected = [0_u8; 32];
    if hash.len() != 64 || !decode(hash, |i, byte| expected[i] = byte) {
        return false;
    }
    let mut hasher = Sha256::new();
    // Hashed in pieces of a fixed size, so that a row of any length needs no memory of its own.
    for piece in value.chunks(256) {
        let mut bytes = [0_u8; 128];
        if !decode(piece, |i, byte| bytes[i] = byte) {
            return false;
        }
        hasher.update(&bytes[..piece.len() / 2]);
    }
    hasher.finalize()[..] == expected
}

/// Hands over each byte with its index; false when the digits are odd in number or none.
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
        let text = |s: &'static str| ValueRef::Text(s.as_bytes());
        // SHA-256 of no bytes, and of "abc" (FIPS 180-4 examples).
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert!(agree(text(""), text(empty)));
        assert!(agree(text("616263"), text(abc)));
        assert!(!agree(text("616262"), text(abc)));
        assert!(!agree(text("61626"), text(abc)));
        assert!(!agree(text("61626g"), text(abc)));
        assert!(!agree(text("616263"), text(&abc[..63])));
        assert!(!agree(ValueRef::Null, text(empty)));
        assert!(!agree(text("616263"), ValueRef::Null));
    }

    #[test]
    fn a_long_value_is_hashed_whole() {
        let value = "00ff".repeat(500);
        let bytes: Vec<u8> = [0x00, 0xff].repeat(500);
        let hash = litelab_protocol::draw::hex(&Sha256::digest(&bytes));
        assert!(agree(ValueRef::Text(value.as_bytes()), ValueRef::Text(hash.as_bytes())));
    }
}
