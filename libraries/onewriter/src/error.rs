//! What can go wrong, apart from what a closure says itself.

use std::path::PathBuf;
use std::sync::Arc;

/// Why a call has no result. Whatever it says, nothing that the closure did is in the database, but for
/// [`Error::Commit`], where SQLite's own error says how far it came.
///
/// One failure may concern many callers, so it can be cloned.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// SQLite refused a statement of the closure itself.
    #[error(transparent)]
    Sqlite(Arc<rusqlite::Error>),

    /// The database cannot be used.
    #[error("{}: {what}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },

    /// No transaction could be begun: another process holds the write lock for longer than the busy timeout, say.
    #[error("the writer could not begin a transaction: {0}")]
    Begin(Arc<rusqlite::Error>),

    /// The commit that the closure shared with others failed.
    #[error("the commit failed: {0}")]
    Commit(Arc<rusqlite::Error>),

    /// The closure was done, and then another one that shared its transaction met an error after which SQLite rolls back
    /// everything (a full disk, say).
    #[error("another write of the same transaction ended it: {0}")]
    RolledBack(Arc<rusqlite::Error>),

    /// The closure was done, and then another one that shared its transaction, and was without a guard of its own
    /// ([`Database::write_unguarded`](crate::Database::write_unguarded)), failed when it had changed something.
    #[error("another write of the same transaction, which was not guarded, failed after it had changed something")]
    LeftHalf,

    /// It left a reference that its constraint, deferred to the commit, does not allow.
    #[error("FOREIGN KEY constraint failed: deferred references are checked at the end of each write")]
    ForeignKey,

    /// It panicked; only its own changes were taken back.
    #[error("the closure panicked: {0}")]
    Panicked(String),

    /// It was called from inside a closure that is writing to the same database, and would wait for itself.
    #[error("a write inside a write: use the connection that the closure was given")]
    Nested,

    /// The database is closed or about to be; the closure did not run.
    #[error("the database is closed")]
    Closed,
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(Arc::new(error))
    }
}

impl Error {
    /// SQLite's extended result code, where it was SQLite that failed.
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
