//! Conversion of errors of sqlx and of apalis-sqlite into faults of the harness.

use apalis_core::backend::TaskSinkError;
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

/// Converts an error of apalis-sqlite.
pub fn apalis(error: apalis_sqlite::Error) -> Fault {
    match error {
        apalis_sqlite::Error::Database(error) => fault(error),
        other => Fault::Other(other.to_string()),
    }
}

/// Converts an error of enqueuing by apalis-sqlite.
pub fn sink(error: TaskSinkError<apalis_sqlite::Error>) -> Fault {
    match error {
        TaskSinkError::PushError(error) => apalis(error),
        other => Fault::Other(other.to_string()),
    }
}
