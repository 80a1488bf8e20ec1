//! The errors of sqlx and of the library as the harness counts them.

use apalis_core::backend::TaskSinkError;
use litelab_harness::Fault;

pub use crate::fault::fault;

/// Of the library's own.
pub fn apalis(error: apalis_sqlite::Error) -> Fault {
    match error {
        apalis_sqlite::Error::Database(error) => fault(error),
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
