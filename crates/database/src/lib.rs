//! The core's own connections to SQLite databases.
//!
//! | module | is |
//! |---|---|
//! | [`guard`] | SQL of a study: it reaches no file but its connection's own database, and has a deadline |
//! | [`pragma`] | what the linked SQLite makes of a PRAGMA's value |
//! | [`source`] | a user's database: read in one state, never written, nothing left beside it |

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion"))]

mod error;
pub mod guard;
pub mod pragma;
pub mod source;

pub use error::{SourceError, describe};
pub use guard::{Guard, Script, SqlError};
pub use source::{Source, copy, read};

/// A name as an SQL identifier, quoted.
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
