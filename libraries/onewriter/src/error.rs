//! Errors of this crate.

use std::path::PathBuf;
use std::sync::Arc;

/// Reason why a call has no result.
///
/// None of the changes of the closure are visible in the database. The exception is [`Error::Commit`] after a failed
/// sync: the changes are in the log, unseen, until a later commit overwrites them, and a crash before that can bring
/// them back.
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

    /// The write-ahead log has reached [`Options::max_log`](crate::Options::max_log), and a reader prevents its
    /// truncation. The closure did not run.
    #[error("the write-ahead log has {frames} frames, and a reader still needs them")]
    LogFull {
        /// Frames in the log.
        frames: u64,
    },

    /// The closure left a deferred foreign key violated.
    #[error("FOREIGN KEY constraint failed: deferred references are checked at the end of each write")]
    ForeignKey,

    /// The closure ran a statement that would affect other callers: one that begins or ends the transaction they share,
    /// changes a setting of the connection, or attaches a database.
    #[error(
        "{0}: a closure cannot begin or end the transaction that it shares (use a savepoint), and settings and attached \
         databases belong into `Options::on_connection`"
    )]
    NotAllowed(Arc<rusqlite::Error>),

    /// The closure panicked, and its changes were rolled back.
    #[error("the closure panicked: {0}")]
    Panicked(String),

    /// The call came from inside a closure of the same database, directly or through closures of other databases, or
    /// from a `tracing` subscriber during a commit; it would wait for itself.
    #[error("a call inside a closure of the same database: use the connection that the closure was given")]
    Nested,

    /// The database is closed or closing. The closure did not run.
    #[error("the database is closed")]
    Closed,
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::AuthorizationForStatementDenied) => Self::NotAllowed(Arc::new(error)),
            _ => Self::Sqlite(Arc::new(error)),
        }
    }
}

impl Error {
    /// Returns SQLite's extended result code, if the error comes from SQLite.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        let error = match self {
            Self::Sqlite(e) | Self::NotAllowed(e) | Self::Begin(e) | Self::Commit(e) | Self::RolledBack(e) => e,
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
