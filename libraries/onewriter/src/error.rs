//! Errors of this crate.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY;

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a call has no result.
///
/// None of the changes of the closure are visible in the database. The exception is [`Error::Commit`] after a failed
/// sync: the changes are in the log, unseen, until a later commit overwrites them, and a crash before that can bring
/// them back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// SQLite rejected a statement of the closure.
    #[error(transparent)]
    Sqlite(rusqlite::Error),

    /// The closure ran a statement that would affect other callers: one that begins or ends the transaction they share,
    /// changes a setting of the connection, or attaches a database.
    #[error(
        "{0}: a closure cannot begin or end the transaction that it shares (use `Tx::savepoint`), and settings and \
         attached databases belong into `Options::on_writer` and `Options::on_reader`"
    )]
    NotAllowed(#[source] rusqlite::Error),

    /// The database could not be opened or configured.
    #[error("{}: {source}", path.display())]
    Open {
        /// Path of the database file.
        path: PathBuf,
        /// Cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// The transaction could not begin, for example because another process held the write lock for longer than the
    /// busy timeout. The closure did not run.
    #[error("the writer could not begin a transaction: {0}")]
    Begin(#[source] Arc<rusqlite::Error>),

    /// The commit failed. Nothing of it is visible now. After a failed sync a crash can bring it back: see [`Error`].
    #[error("the commit failed: {0}")]
    Commit(#[source] Arc<rusqlite::Error>),

    /// The closure succeeded, but SQLite rolled back the whole transaction because of an error, such as a full disk, in
    /// another closure, or in this one, which went on after it.
    #[error("SQLite has rolled back the transaction: {0}")]
    RolledBack(#[source] Arc<rusqlite::Error>),

    /// A sync has failed earlier, and [`Options::stop_after_failed_sync`](crate::Options::stop_after_failed_sync) is
    /// set. The closure did not run.
    #[error("no more writes after a failed sync: {0}")]
    Stopped(#[source] Arc<rusqlite::Error>),

    /// The write-ahead log has reached [`Options::max_log`](crate::Options::max_log), and cannot be truncated: a reader
    /// still needs it, or another program runs the checkpoints. The closure did not run.
    #[error("the write-ahead log has {frames} frames, and cannot be truncated")]
    LogFull {
        /// Frames in the log.
        frames: u64,
    },

    /// As many writes are queued as [`Options::max_queue`](crate::Options::max_queue) allows. The closure did not run.
    #[error("the queue of writes is full")]
    QueueFull,

    /// The closure has not begun within the time of [`Database::with_timeout`](crate::Database::with_timeout) or
    /// [`Options::timeout`](crate::Options::timeout), and will not run.
    #[error("the call could not begin in time")]
    Timeout,

    /// The closure left a deferred foreign key violated.
    #[error("FOREIGN KEY constraint failed: deferred references are checked at the end of each write")]
    ForeignKey,

    /// The closure panicked, and its changes were rolled back.
    #[error("the closure panicked: {0}")]
    Panicked(String),

    /// The call came from inside a closure of the same database, directly or through closures of other databases, or
    /// from a `tracing` subscriber during a commit; it would wait for itself. So would one that opens a database while
    /// another one is set up ([`Options::on_writer`](crate::Options::on_writer)).
    #[error("a call inside a closure of the same database: use the connection that the closure was given")]
    Nested,

    /// The database is closed or closing. The closure did not run, or nothing of it is kept.
    #[error("the database is closed")]
    Closed,

    /// The database was opened by the parent of this process, before it forked. SQLite allows no use of it here.
    #[error("the database was opened before this process forked")]
    Forked,
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::AuthorizationForStatementDenied) => Self::NotAllowed(error),
            _ => Self::Sqlite(error),
        }
    }
}

impl Error {
    /// SQLite's error, if this comes from SQLite.
    #[must_use]
    pub fn sqlite(&self) -> Option<&rusqlite::Error> {
        match self {
            Self::Sqlite(error) | Self::NotAllowed(error) => Some(error),
            Self::Begin(error) | Self::Commit(error) | Self::RolledBack(error) | Self::Stopped(error) => Some(error),
            Self::Open { source, .. } => source.downcast_ref(),
            _ => None,
        }
    }

    /// SQLite's extended result code, if this comes from SQLite.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        match self.sqlite() {
            Some(rusqlite::Error::SqliteFailure(cause, _)) => Some(cause.extended_code),
            Some(rusqlite::Error::SqlInputError { error, .. }) => Some(error.extended_code),
            Some(_) => None,
            None => matches!(self, Self::ForeignKey).then_some(SQLITE_CONSTRAINT_FOREIGNKEY),
        }
    }

    /// Whether another connection or process had a lock for too long: a later attempt may succeed.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let code = self.sqlite().and_then(rusqlite::Error::sqlite_error_code);
        matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// Whether the closure violated a constraint (`UNIQUE`, `CHECK`, `NOT NULL`, foreign keys, …).
    #[must_use]
    pub fn is_constraint(&self) -> bool {
        let code = self.sqlite().and_then(rusqlite::Error::sqlite_error_code);
        matches!(self, Self::Sqlite(_)) && code == Some(ErrorCode::ConstraintViolation)
            || matches!(self, Self::ForeignKey)
    }
}

/// A failure that several callers share.
#[derive(Debug, Clone)]
pub enum Shared {
    Begin(Arc<rusqlite::Error>),
    Commit(Arc<rusqlite::Error>),
    RolledBack(Arc<rusqlite::Error>),
    Stopped(Arc<rusqlite::Error>),
    LogFull { frames: u64 },
    Closed,
}

impl From<Shared> for Error {
    fn from(shared: Shared) -> Self {
        match shared {
            Shared::Begin(error) => Self::Begin(error),
            Shared::Commit(error) => Self::Commit(error),
            Shared::RolledBack(error) => Self::RolledBack(error),
            Shared::Stopped(error) => Self::Stopped(error),
            Shared::LogFull { frames } => Self::LogFull { frames },
            Shared::Closed => Self::Closed,
        }
    }
}
