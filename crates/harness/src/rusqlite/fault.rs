//! Converts rusqlite's errors.

use crate::Fault;
use rusqlite::Error;

/// Only an error that SQLite itself returned becomes [`Fault::Sqlite`]; a column of the wrong type, for example, does
/// not.
#[cold]
#[inline(never)]
pub fn fault(error: Error) -> Fault {
    match error {
        Error::SqliteFailure(cause, message) => {
            Fault::Sqlite { code: cause.extended_code, message: message.unwrap_or_else(|| cause.to_string()) }
        }
        Error::SqlInputError { error, msg, .. } => Fault::Sqlite { code: error.extended_code, message: msg },
        other => Fault::Other(other.to_string()),
    }
}
