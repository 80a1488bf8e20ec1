//! Why a user's database cannot be read, each with its remedy.

use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Nothing has this path.
    #[error("{}: no such file", .0.display())]
    Missing(PathBuf),
    /// A directory, a pipe, a device.
    #[error("{}: this is no regular file", .0.display())]
    NoFile(PathBuf),
    /// Another format, or an encrypted database: the two cannot be told apart.
    #[error(
        "{}: this file is no database, or an encrypted one, which litelab cannot read: decrypt a copy of it, as with \
         `sqlcipher_export`",
        .0.display()
    )]
    NotADatabase(PathBuf),
    /// A rollback journal that has to be played back (<https://sqlite.org/lockingv3.html#hot_journals>).
    #[error(
        "{path}: a program crashed while it wrote, so {path}-journal has to be played back before anything is read, and \
         litelab writes to no database of yours: open it once with a program that may (`sqlite3 {path} .schema`)",
        path = .0.display()
    )]
    HotJournal(PathBuf),
    /// A write-ahead log without its index, which has to be made beside it.
    #[error(
        "{path}: {path}-wal holds transactions and has no index (-shm), and litelab makes no file beside a database of \
         yours: end the program that has it open in exclusive locking mode, or, where none has, open it once with a \
         program that may write (`sqlite3 {path} .schema`)",
        path = .0.display()
    )]
    Log(PathBuf),
    /// Another program kept it locked for as long as SQLite waits.
    #[error("{path}: cannot read: {message}: another program writes to it; try again when it does not", path = .path.display())]
    Locked {
        /// The database.
        path: PathBuf,
        /// SQLite's message.
        message: String,
    },
    /// Another program wrote to it each time that it was read.
    #[error("{}: it was changed each time that it was read: try again when nobody writes to it", .0.display())]
    Changing(PathBuf),
    /// It is damaged, in a state that was read whole.
    #[error(
        "{path}: this database is damaged: {message}; `sqlite3 {path} .recover` saves what can be saved",
        path = .path.display()
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite found.
        message: String,
    },
    /// The copy cannot be written.
    #[error("{path}: cannot write this copy of a database: {}", describe(.error), path = .path.display())]
    Copy {
        /// The copy.
        path: PathBuf,
        /// SQLite's error.
        error: rusqlite::Error,
    },
    /// Anything else that SQLite refuses.
    #[error("{path}: cannot read: {}", describe(.error), path = .path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// SQLite's error.
        error: rusqlite::Error,
    },
}

impl SourceError {
    /// Whether the user has to change the input: exit code 2, otherwise 1.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Missing(_) | Self::NoFile(_) | Self::NotADatabase(_) => true,
            Self::HotJournal(_) | Self::Log(_) | Self::Damaged { .. } => true,
            Self::Locked { .. } | Self::Changing(_) | Self::Copy { .. } => false,
            Self::Sqlite { error, .. } => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
            ),
        }
    }

    /// What a failed read of `path` means.
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
