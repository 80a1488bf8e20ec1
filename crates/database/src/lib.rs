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
