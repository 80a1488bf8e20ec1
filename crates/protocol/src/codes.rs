//! Error names: SQLite's result codes (<https://sqlite.org/rescode.html>), and the error names of database servers
//! ([`server_names`] and the functions exported with it).

mod server;

pub use server::{
    CONNECTION_LOST, CONNECTION_REFUSED, CONNECTION_TIMEOUT, contention, is_busy, is_known, server_names,
};

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The JSON table of SQLite's primary and extended result codes by name, shared by all runners.
pub const TABLE: &str = include_str!("../result-codes.json");

static BY_NAME: LazyLock<BTreeMap<String, i32>> =
    // The file is compiled in, and a test checks that it parses.
    LazyLock::new(|| serde_json::from_str(TABLE).unwrap_or_default());

static BY_CODE: LazyLock<BTreeMap<i32, &'static str>> =
    LazyLock::new(|| BY_NAME.iter().map(|(name, code)| (*code, name.as_str())).collect());

/// The name of an extended result code.
///
/// An unknown extended code returns the name of its primary code (the low byte), and an unknown primary code
/// `SQLITE_UNKNOWN`.
#[must_use]
pub fn name(code: i32) -> &'static str {
    BY_CODE.get(&code).or_else(|| BY_CODE.get(&(code & 0xFF))).copied().unwrap_or("SQLITE_UNKNOWN")
}

/// The result code of a name; `None` for a name that the table does not list.
#[must_use]
pub fn code(name: &str) -> Option<i32> {
    BY_NAME.get(name).copied()
}

/// The name of the primary code of any listed name: `SQLITE_BUSY_SNAPSHOT` → `SQLITE_BUSY`.
#[must_use]
pub fn primary(extended: &str) -> Option<&'static str> {
    code(extended).map(|c| name(c & 0xFF))
}

/// Whether the name `listed` covers the name `seen`: they are equal, or `listed` is the primary code of `seen`. Names
/// of server errors cover only themselves.
#[must_use]
pub fn stands_for(listed: &str, seen: &str) -> bool {
    listed == seen || primary(seen) == Some(listed)
}

/// All names of SQLite's result codes, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_agree() {
        assert!(BY_NAME.len() > 90, "{}", BY_NAME.len());
        assert_eq!(name(517), "SQLITE_BUSY_SNAPSHOT");
        assert_eq!(name(5 | (99 << 8)), "SQLITE_BUSY");
        assert_eq!(name(200), "SQLITE_UNKNOWN");
        assert_eq!(code("SQLITE_FULL"), Some(13));
        assert_eq!(primary("SQLITE_BUSY_SNAPSHOT"), Some("SQLITE_BUSY"));
        assert!(stands_for("SQLITE_BUSY", "SQLITE_BUSY_TIMEOUT"));
        assert!(!stands_for("SQLITE_BUSY_TIMEOUT", "SQLITE_BUSY"));
    }

    #[test]
    fn every_extended_code_has_its_primary() {
        for extended in names() {
            let code = code(extended).expect("listed");
            assert!(extended.starts_with(name(code & 0xFF)), "{extended}");
        }
    }
}
