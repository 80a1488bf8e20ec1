//! Conversion of errors of sqlx into faults of the harness.

use litelab_harness::Fault;

/// Converts an error. Only an error of SQLite itself becomes an SQLite error; that of a closed pool, for example, does
/// not.
pub fn fault(error: sqlx::Error) -> Fault {
    // sqlx returns SQLite's extended result code as text.
    let code = error.as_database_error().and_then(|e| e.code()).and_then(|code| code.parse().ok());
    match (code, error) {
        (Some(code), sqlx::Error::Database(error)) => Fault::Sqlite { code, message: error.message().into() },
        (_, error) => Fault::Other(error.to_string()),
    }
}
