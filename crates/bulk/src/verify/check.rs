//! Check of one row.

use super::hash;
use rusqlite::types::ValueRef;

/// A row whose hash is not that of its `rand`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// `ID` of the row, in the form in which SQL prints it.
    pub id: String,
    /// Kind of the mismatch.
    pub kind: MismatchKind,
    /// Expected content of the column.
    pub expected: String,
    /// Content of the column; a long value is cut.
    pub found: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let column = match self.kind {
            MismatchKind::Rand => "rand",
            MismatchKind::Hash => "hash",
        };
        write!(f, "row {}: {column} is {}, expected {}", self.id, self.found, self.expected)
    }
}

/// Kind of a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MismatchKind {
    /// `rand` is not a text of 16 lowercase hex digits, so that there is nothing to hash.
    Rand,
    /// `hash` is not the hash of `rand`.
    Hash,
}

/// A mismatch before it is described.
#[derive(Debug)]
pub(super) enum Wrong {
    Rand,
    Hash { expected: [u8; 64] },
}

/// Decodes `rand`, hashes it and compares the result with `hash`.
#[inline]
pub(super) fn check(rand: ValueRef<'_>, hash: ValueRef<'_>) -> Result<(), Wrong> {
    let ValueRef::Text(rand) = rand else { return Err(Wrong::Rand) };
    let Some(bytes) = hash::decode_8(rand) else { return Err(Wrong::Rand) };
    let expected: [u8; 64] = hash::encode(&hash::sha256_of_8(&bytes));
    match hash {
        ValueRef::Text(found) if *found == expected => Ok(()),
        _ => Err(Wrong::Hash { expected }),
    }
}

impl Wrong {
    /// Describes the mismatch, off the fast path.
    #[cold]
    pub(super) fn describe(self, id: ValueRef<'_>, rand: ValueRef<'_>, hash: ValueRef<'_>) -> Mismatch {
        let (kind, expected, found) = match self {
            Self::Rand => (MismatchKind::Rand, "16 lowercase hex digits".to_owned(), show(rand)),
            Self::Hash { expected } => {
                (MismatchKind::Hash, String::from_utf8_lossy(&expected).into_owned(), show(hash))
            }
        };
        Mismatch { id: show(id), kind, expected, found }
    }
}

/// Formats a value: text unchanged, a BLOB with its type and size.
fn show(value: ValueRef<'_>) -> String {
    /// Largest number of printed characters: a whole hash, and some more to show that the value is longer.
    const LONGEST: usize = 80;
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => format!("{number:?}"),
        ValueRef::Text(text) => {
            let cut = String::from_utf8_lossy(&text[..text.len().min(4 * LONGEST)]);
            let mut shown: String = cut.chars().take(LONGEST).flat_map(char::escape_debug).collect();
            if text.len() > LONGEST {
                shown.push_str(&format!("… ({} bytes)", text.len()));
            }
            shown
        }
        ValueRef::Blob(blob) => format!("a BLOB of {} bytes", blob.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAND: &[u8] = b"0001020304050607";
    // Output of `printf '\0\1\2\3\4\5\6\7' | sha256sum`.
    const HASH: &[u8] = b"8a851ff82ee7048ad09ec3847f1ddf44944104d2cbd17ef4e3db22c6785a0d45";

    #[test]
    fn a_right_row_is_right() {
        assert!(check(ValueRef::Text(RAND), ValueRef::Text(HASH)).is_ok());
    }

    #[test]
    fn a_wrong_row_says_how() {
        let id = ValueRef::Integer(7);
        let mut other = HASH.to_vec();
        other[63] = b'6';
        let upper = HASH.to_ascii_uppercase();
        let long = [b'a'; 1000];
        for (rand, hash, kind, found) in [
            (ValueRef::Null, ValueRef::Text(HASH), MismatchKind::Rand, "NULL"),
            (ValueRef::Integer(5), ValueRef::Text(HASH), MismatchKind::Rand, "5"),
            (ValueRef::Blob(RAND), ValueRef::Text(HASH), MismatchKind::Rand, "a BLOB of 16 bytes"),
            (ValueRef::Text(b"xyz"), ValueRef::Text(HASH), MismatchKind::Rand, "xyz"),
            (ValueRef::Text(b"\xFF\0"), ValueRef::Text(HASH), MismatchKind::Rand, "\u{FFFD}\\0"),
            (ValueRef::Text(RAND), ValueRef::Null, MismatchKind::Hash, "NULL"),
            (ValueRef::Text(RAND), ValueRef::Real(0.5), MismatchKind::Hash, "0.5"),
            (ValueRef::Text(RAND), ValueRef::Blob(HASH), MismatchKind::Hash, "a BLOB of 64 bytes"),
            (ValueRef::Text(RAND), ValueRef::Text(b""), MismatchKind::Hash, ""),
            (
                ValueRef::Text(RAND),
                ValueRef::Text(&other),
                MismatchKind::Hash,
                std::str::from_utf8(&other).expect("hex"),
            ),
            (
                ValueRef::Text(RAND),
                ValueRef::Text(&upper),
                MismatchKind::Hash,
                std::str::from_utf8(&upper).expect("hex"),
            ),
        ] {
            let seen = check(rand, hash).expect_err(found).describe(id, rand, hash);
            assert_eq!((seen.id.as_str(), seen.kind, seen.found.as_str()), ("7", kind, found));
            if kind == MismatchKind::Hash {
                assert_eq!(seen.expected.as_bytes(), HASH);
            }
        }
        let cut = show(ValueRef::Text(&long));
        assert!(cut.ends_with("… (1000 bytes)") && cut.chars().count() < 100, "{cut}");
    }
}
