//! litelab's own connections to SQLite databases.
//!
//! | module | content |
//! |---|---|
//! | [`guard`] | sandbox for the SQL of a study: no access to other files, and a deadline |
//! | [`pragma`] | interpretation of a PRAGMA's value by the linked SQLite |
//! | [`source`] | a user's database: read in one consistent state, never written, no files left next to it |

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion"))]

mod error;
pub mod guard;
pub mod pragma;
pub mod source;

pub use error::{SourceError, describe};
pub use guard::{Guard, Script, SqlError};
pub use source::{Source, copy, copy_until, immutable, read};

/// Quotes a name as an SQL identifier.
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a name as SQL, quoted only where SQLite requires it.
#[must_use]
pub fn plain(name: &str) -> String {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_plain = name.bytes().all(word) && !name.starts_with(|first: char| first.is_ascii_digit());
    // Whether a name is a keyword is asked of SQLite.
    let accepted = |probe: rusqlite::Connection| probe.prepare(&format!("SELECT 1 AS {name}")).is_ok();
    if is_plain && rusqlite::Connection::open_in_memory().is_ok_and(accepted) { name.to_owned() } else { quoted(name) }
}
