//! Errors of this crate.

use std::path::PathBuf;
use std::sync::Arc;

/// Reason why a call has no result.
///
/// None of the changes of the closure are in the database. The exception is [`Error::Commit`]: SQLite's own error code
/// shows how far the commit came.
///
/// The type is `Clone` because one failure can concern many callers.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// SQLite rejected a statement of the closure.
    #[error(transparent)]
    Sqlite(Arc<rusqlite::Error>),

    /// The database could not be opened or configured.
    #[error("{}: {what}", path.display())]
    Open {
        /// Path of the database file.
        path: PathBuf,
        /// Cause.
        what: String,
    },

    /// The transaction could not begin, for example because another process held the write lock for longer than the
    /// busy timeout.
    #[error("the writer could not begin a transaction: {0}")]
    Begin(Arc<rusqlite::Error>),

    /// The commit that the closure shared with others failed.
    #[error("the commit failed: {0}")]
    Commit(Arc<rusqlite::Error>),

    /// The closure succeeded, but SQLite rolled back the whole transaction because of an error in another closure, such
    /// as a full disk.
    #[error("another write of the same transaction ended it: {0}")]
    RolledBack(Arc<rusqlite::Error>),

    /// The closure succeeded, but the transaction was rolled back because another closure, run with
    /// [`Database::write_unguarded`](crate::Database::write_unguarded), failed after a change.
    #[error("another write of the same transaction, which was not guarded, failed after it had changed something")]
    LeftHalf,

    /// The closure left a deferred foreign key violated.
    #[error("FOREIGN KEY constraint failed: deferred references are checked at the end of each write")]
    ForeignKey,

    /// The closure panicked, and its changes were rolled back.
    #[error("the closure panicked: {0}")]
    Panicked(String),

    /// The call came from inside a closure that is writing to the same database; it would wait for itself.
    #[error("a write inside a write: use the connection that the closure was given")]
    Nested,

    /// The database is closed or closing. The closure did not run.
    #[error("the database is closed")]
    Closed,
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(Arc::new(error))
    }
}

impl Error {
    /// Returns SQLite's extended result code, if the error comes from SQLite.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        let error = match self {
            Self::Sqlite(e) | Self::Begin(e) | Self::Commit(e) | Self::RolledBack(e) => e,
            Self::ForeignKey => return Some(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY),
            _ => return None,
        };
        match &**error {
            rusqlite::Error::SqliteFailure(cause, _) => Some(cause.extended_code),
            rusqlite::Error::SqlInputError { error, .. } => Some(error.extended_code),
            _ => None,
        }
    }
}
