//! Conversion of errors of sqlx and of apalis-sqlite into faults of the harness.

use apalis_core::backend::TaskSinkError;
use litelab_harness::Fault;

pub use crate::fault::fault;

/// Converts an error of the library.
pub fn apalis(error: apalis_sqlite::Error) -> Fault {
    match error {
        apalis_sqlite::Error::Database(error) => fault(error),
        other => Fault::Other(other.to_string()),
    }
}

/// Converts an error of enqueuing.
pub fn sink(error: TaskSinkError<apalis_sqlite::Error>) -> Fault {
    match error {
        TaskSinkError::PushError(error) => apalis(error),
        other => Fault::Other(other.to_string()),
    }
}
