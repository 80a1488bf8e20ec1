//! The errors of sqlx and of the library as the harness counts them.

use apalis_core::backend::TaskSinkError;
use litelab_harness::Fault;

/// Only what SQLite itself returned is an SQLite error; a pool that is closed, say, is not.
pub fn sqlx(error: sqlx::Error) -> Fault {
    // sqlx gives SQLite's extended result code as text.
    let code = error.as_database_error().and_then(|e| e.code()).and_then(|code| code.parse().ok());
    match (code, error) {
        (Some(code), sqlx::Error::Database(error)) => Fault::Sqlite { code, message: error.message().into() },
        (_, error) => Fault::Other(error.to_string()),
    }
}

/// Of the library's own.
pub fn apalis(error: apalis_sqlite::Error) -> Fault {
    match error {
        apalis_sqlite::Error::Database(error) => sqlx(error),
        other => Fault::Other(other.to_string()),
    }
}

/// Of enqueuing.
pub fn sink(error: TaskSinkError<apalis_sqlite::Error>) -> Fault {
    match error {
        TaskSinkError::PushError(error) => apalis(error),
        other => Fault::Other(other.to_string()),
    }
}
