//! Errors by name: SQLite's result codes (<https://sqlite.org/rescode.html>) here, a server's in [`server_name`] and
//! what follows.

mod server;

pub use server::{
    CONNECTION_LOST, CONNECTION_REFUSED, CONNECTION_TIMEOUT, SERVER_TABLE, contention, is_busy, is_connection,
    is_known, server_name, server_names,
};

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The table all runners share, primary and extended codes.
pub const TABLE: &str = include_str!("../result-codes.json");

static BY_NAME: LazyLock<BTreeMap<String, i32>> =
    // The file is part of the program; a test reads it.
    LazyLock::new(|| serde_json::from_str(TABLE).unwrap_or_default());

static BY_CODE: LazyLock<BTreeMap<i32, &'static str>> =
    LazyLock::new(|| BY_NAME.iter().map(|(name, code)| (*code, name.as_str())).collect());

/// The extended name of a code; of an unknown extended code that of its primary code (the low byte), and
/// `SQLITE_UNKNOWN` where even that is unknown.
#[must_use]
pub fn name(code: i32) -> &'static str {
    BY_CODE.get(&code).or_else(|| BY_CODE.get(&(code & 0xFF))).copied().unwrap_or("SQLITE_UNKNOWN")
}

/// The code of a name.
#[must_use]
pub fn code(name: &str) -> Option<i32> {
    BY_NAME.get(name).copied()
}

/// The primary code's name of any name: `SQLITE_BUSY_SNAPSHOT` → `SQLITE_BUSY`.
#[must_use]
pub fn primary(extended: &str) -> Option<&'static str> {
    code(extended).map(|c| name(c & 0xFF))
}

/// Whether `listed` (a primary or extended name, or a server's, which stands for itself) stands for `seen`.
#[must_use]
pub fn stands_for(listed: &str, seen: &str) -> bool {
    listed == seen || primary(seen) == Some(listed)
}

/// All names.
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
