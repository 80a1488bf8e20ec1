//! The errors of sqlx as the harness counts them.

use litelab_harness::Fault;

/// Only what SQLite itself returned is an SQLite error; a pool that is closed, say, is not.
pub fn fault(error: sqlx::Error) -> Fault {
    // sqlx gives SQLite's extended result code as text.
    let code = error.as_database_error().and_then(|e| e.code()).and_then(|code| code.parse().ok());
    match (code, error) {
        (Some(code), sqlx::Error::Database(error)) => Fault::Sqlite { code, message: error.message().into() },
        (_, error) => Fault::Other(error.to_string()),
    }
}
