//! Check of one row.

use super::hash;
use rusqlite::types::ValueRef;

/// A row whose `rand` is not a text of 16 lowercase hex digits, or whose `hash` is not the hash of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// `ID` of the row, in the form in which SQL prints it.
    pub id: String,
    /// The wrong column, `rand` or `hash`.
    pub column: &'static str,
    /// Expected content of the column.
    pub expected: String,
    /// Content of the column; a long value is cut.
    pub found: String,
}

impl Mismatch {
    /// Describes a row that is not right.
    #[cold]
    pub(super) fn new(id: ValueRef<'_>, rand: ValueRef<'_>, hash: ValueRef<'_>) -> Self {
        let (column, expected, found) = match hash_of(rand) {
            None => ("rand", "16 lowercase hex digits".to_owned(), show(rand)),
            Some(expected) => ("hash", String::from_utf8_lossy(&expected).into_owned(), show(hash)),
        };
        Self { id: show(id), column, expected, found }
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "row {}: {} is {}, expected {}", self.id, self.column, self.found, self.expected)
    }
}

/// Decodes `rand` and returns its hash; `None` if it is not a text of 16 lowercase hex digits.
#[inline]
fn hash_of(rand: ValueRef<'_>) -> Option<[u8; 64]> {
    let ValueRef::Text(rand) = rand else { return None };
    hash::decode_8(rand).map(|bytes| hash::encode(&hash::sha256_of_8(&bytes)))
}

/// Whether `hash` is the hash of `rand`.
#[inline]
pub(super) fn is_right(rand: ValueRef<'_>, hash: ValueRef<'_>) -> bool {
    hash_of(rand).is_some_and(|expected| matches!(hash, ValueRef::Text(found) if *found == expected))
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
    fn a_right_row_is_right_and_a_wrong_one_says_how() {
        assert!(is_right(ValueRef::Text(RAND), ValueRef::Text(HASH)));
        let id = ValueRef::Integer(7);
        let upper = HASH.to_ascii_uppercase();
        for (rand, hash, column, found) in [
            (ValueRef::Null, ValueRef::Text(HASH), "rand", "NULL"),
            (ValueRef::Integer(5), ValueRef::Text(HASH), "rand", "5"),
            (ValueRef::Blob(RAND), ValueRef::Text(HASH), "rand", "a BLOB of 16 bytes"),
            (ValueRef::Text(b"\xFF\0"), ValueRef::Text(HASH), "rand", "\u{FFFD}\\0"),
            (ValueRef::Text(RAND), ValueRef::Real(0.5), "hash", "0.5"),
            (ValueRef::Text(RAND), ValueRef::Blob(HASH), "hash", "a BLOB of 64 bytes"),
            (ValueRef::Text(RAND), ValueRef::Text(b""), "hash", ""),
            (ValueRef::Text(RAND), ValueRef::Text(&upper), "hash", std::str::from_utf8(&upper).expect("hex")),
        ] {
            assert!(!is_right(rand, hash), "{found}");
            let seen = Mismatch::new(id, rand, hash);
            assert_eq!((seen.id.as_str(), seen.column, seen.found.as_str()), ("7", column, found));
            let expected: &[u8] = if column == "hash" { HASH } else { b"16 lowercase hex digits" };
            assert_eq!(seen.expected.as_bytes(), expected);
        }
        let cut = show(ValueRef::Text(&[b'a'; 1000]));
        assert!(cut.ends_with("… (1000 bytes)") && cut.chars().count() < 100, "{cut}");
    }
}
