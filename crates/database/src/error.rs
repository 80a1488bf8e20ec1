//! Errors in reading a user's database, each with its remedy.

use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

/// Error in reading a user's database.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No file has this path.
    #[error("{}: no such file", .0.display())]
    Missing(PathBuf),
    /// The path is a directory, a pipe or a device.
    #[error("{}: this is no regular file", .0.display())]
    NoFile(PathBuf),
    /// The file has another format or is an encrypted database, which cannot be distinguished.
    #[error(
        "{}: this file is no database, or an encrypted one, which litelab cannot read: decrypt a copy of it, as with \
         `sqlcipher_export`",
        .0.display()
    )]
    NotADatabase(PathBuf),
    /// A rollback journal is hot: it must be rolled back first (<https://sqlite.org/lockingv3.html#hot_journals>).
    #[error(
        "{path}: a program crashed while it wrote, so {path}-journal has to be played back before anything is read, and \
         litelab writes to no database of yours: open it once with a program that may (`sqlite3 {path} .schema`)",
        path = .0.display()
    )]
    HotJournal(PathBuf),
    /// A write-ahead log has no index, which a reader would have to create next to it.
    #[error(
        "{path}: {path}-wal holds transactions and has no index (-shm), and litelab makes no file beside a database of \
         yours: end the program that has it open in exclusive locking mode, or, where none has, open it once with a \
         program that may write (`sqlite3 {path} .schema`)",
        path = .0.display()
    )]
    Log(PathBuf),
    /// Another program held a lock for longer than SQLite's busy timeout.
    #[error("{path}: cannot read: {message}: another program writes to it; try again when it does not", path = .path.display())]
    Locked {
        /// Path of the database.
        path: PathBuf,
        /// Message of SQLite.
        message: String,
    },
    /// Another program wrote to the database during every attempt to read it.
    #[error("{}: it was changed each time that it was read: try again when nobody writes to it", .0.display())]
    Changing(PathBuf),
    /// The database is corrupt, in a state that was read completely.
    #[error(
        "{path}: this database is damaged: {message}; `sqlite3 {path} .recover` saves what can be saved",
        path = .path.display()
    )]
    Damaged {
        /// Path of the database.
        path: PathBuf,
        /// Message of SQLite.
        message: String,
    },
    /// The copy was to end.
    #[error("{}: the copy was stopped", .0.display())]
    Stopped(PathBuf),
    /// The copy cannot be written.
    #[error("{path}: cannot write this copy of a database: {}", describe(.error), path = .path.display())]
    Copy {
        /// Path of the copy.
        path: PathBuf,
        /// Error of SQLite.
        error: rusqlite::Error,
    },
    /// Any other error of SQLite.
    #[error("{path}: cannot read: {}", describe(.error), path = .path.display())]
    Sqlite {
        /// Path of the database.
        path: PathBuf,
        /// Error of SQLite.
        error: rusqlite::Error,
    },
}

impl SourceError {
    /// Whether the user must change the input; then the exit code is 2, else 1.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Missing(_) | Self::NoFile(_) | Self::NotADatabase(_) => true,
            Self::HotJournal(_) | Self::Log(_) | Self::Damaged { .. } => true,
            Self::Locked { .. } | Self::Changing(_) | Self::Stopped(_) | Self::Copy { .. } => false,
            Self::Sqlite { error, .. } => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
            ),
        }
    }

    /// Classifies the error of a failed read of `path`.
    pub(crate) fn of(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let code = error.sqlite_error().map(|e| (e.code, e.extended_code));
        match code {
            Some((_, ffi::SQLITE_READONLY_ROLLBACK)) => Self::HotJournal(path),
            Some((_, ffi::SQLITE_READONLY_RECOVERY | ffi::SQLITE_READONLY_CANTINIT)) => Self::Log(path),
            Some((ErrorCode::NotADatabase, _)) => Self::NotADatabase(path),
            Some((ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _)) => {
                Self::Locked { path, message: describe(&error) }
            }
            _ => Self::Sqlite { path, error },
        }
    }
}

/// SQLite's message with the extended name of its code.
#[must_use]
pub fn describe(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => {
            let name = litelab_protocol::codes::name(code.extended_code);
            message.as_ref().map_or_else(|| name.to_owned(), |m| format!("{m} ({name})"))
        }
        other => other.to_string(),
    }
}
