//! What can go wrong, each with its remedy.

use std::path::PathBuf;

use litelab_database::{SourceError, SqlError, describe};
use rusqlite::ErrorCode;

use crate::load::LoadError;

/// Why a database was not made or not checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BulkError {
    /// An option is out of its range.
    #[error("{0}")]
    Options(String),

    /// The path to be generated is taken.
    #[error("{path} exists already; choose another name, or replace it with --force", path = .path.display())]
    Exists {
        /// The path asked for.
        path: PathBuf,
    },

    /// The path to be replaced holds something else than an earlier database of the workload.
    #[error("{path} is not replaced: {reason}; choose another name", path = .path.display())]
    NotOurs {
        /// The path asked for.
        path: PathBuf,
        /// What it holds.
        reason: String,
    },

    /// The file to be verified does not exist.
    #[error("{path} does not exist; make it with `litelab generate sqlite3perf {path} --rows 1M`", path = .path.display())]
    Missing {
        /// The path asked for.
        path: PathBuf,
    },

    /// The file to be verified is no SQLite database.
    #[error("{path} is not an SQLite database (its header is another one, or it is encrypted)", path = .path.display())]
    NotADatabase {
        /// The path asked for.
        path: PathBuf,
    },

    /// The database cannot be read as it is.
    #[error(transparent)]
    Source(SourceError),

    /// The database lacks the table or one of its columns.
    #[error("{path} has no {what}; `litelab generate sqlite3perf` makes a database that does", path = .path.display())]
    NoTable {
        /// The path asked for.
        path: PathBuf,
        /// The table or column that was not found.
        what: String,
    },

    /// A PRAGMA was set and reads back differently, so the database would not be what was asked for.
    #[error("PRAGMA {name} = {wanted} did not take effect: SQLite reports {found}")]
    Setting {
        /// The PRAGMA.
        name: String,
        /// The value asked for.
        wanted: String,
        /// What SQLite reports; "nothing" if it does not know the PRAGMA.
        found: String,
    },

    /// SQL of the workload that SQLite refuses.
    #[error("{what}: {error}{}", remedy(.error.code()))]
    Sql {
        /// Which SQL.
        what: &'static str,
        /// SQLite's error.
        error: SqlError,
    },

    /// Rows of the workload were not inserted.
    #[error("{error}{}", remedy(code(.error)))]
    Load {
        /// Why.
        error: LoadError,
    },

    /// Somebody writes to the database so often that the threads get no common snapshot.
    #[error("{path} is being written to; verify it when nobody writes, or with one thread", path = .path.display())]
    Changing {
        /// The path asked for.
        path: PathBuf,
    },

    /// The caller's flag ended the work.
    #[error("cancelled after {rows} rows")]
    Cancelled {
        /// Rows done: committed by a generation, checked by a verification.
        rows: u64,
    },

    /// A generation failed after the schema was made; what it committed stays.
    #[error("{cause}; the database holds {rows} rows, all in complete batches")]
    Stopped {
        /// Rows that the database holds.
        rows: u64,
        /// Why it ended.
        cause: Box<BulkError>,
    },

    /// SQLite refused something.
    #[error("{doing}: {}{}", describe(.error), remedy(.error.sqlite_error_code()))]
    Sqlite {
        /// What was being done.
        doing: &'static str,
        /// SQLite's error.
        error: rusqlite::Error,
    },

    /// The operating system refused something.
    #[error("{doing}: {error}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Its answer.
        error: std::io::Error,
    },
}

impl BulkError {
    /// A closure for `map_err`.
    pub(crate) fn doing(doing: &'static str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |error| Self::Sqlite { doing, error }
    }

    /// Whether the user has to change the input: exit code 2, otherwise 1.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        use ErrorCode::{CannotOpen, DiskFull, SystemIoFailure};
        let of_sql = |error: &SqlError| !matches!(error.code(), Some(CannotOpen | DiskFull | SystemIoFailure));
        match self {
            Self::Options(_) | Self::Exists { .. } | Self::NotOurs { .. } | Self::Missing { .. } => true,
            Self::NotADatabase { .. } | Self::NoTable { .. } | Self::Setting { .. } => true,
            Self::Source(error) => error.is_bad_input(),
            Self::Load { error: LoadError::Row { .. } } => true,
            Self::Sql { error, .. } | Self::Load { error: LoadError::Sql { error, .. } } => of_sql(error),
            Self::Stopped { cause, .. } => cause.is_bad_input(),
            Self::Changing { .. } | Self::Cancelled { .. } | Self::Sqlite { .. } | Self::Io { .. } => false,
            Self::Load { error: LoadError::Cancelled } => false,
        }
    }
}

impl From<LoadError> for BulkError {
    fn from(error: LoadError) -> Self {
        Self::Load { error }
    }
}

impl From<SourceError> for BulkError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Missing(path) => Self::Missing { path },
            SourceError::NoFile(path) | SourceError::NotADatabase(path) => Self::NotADatabase { path },
            SourceError::Sqlite { error, .. } => Self::Sqlite { doing: "open the database", error },
            other => Self::Source(other),
        }
    }
}

fn code(error: &LoadError) -> Option<ErrorCode> {
    match error {
        LoadError::Sql { error, .. } => error.code(),
        LoadError::Row { .. } | LoadError::Cancelled => None,
    }
}

/// What to do about the codes that have an answer.
fn remedy(code: Option<ErrorCode>) -> &'static str {
    match code {
        Some(ErrorCode::DiskFull) => " (free space on that disk, or ask for fewer rows)",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => " (another program uses the file; end it first)",
        Some(ErrorCode::DatabaseCorrupt) => " (the file is damaged or was cut short; make it anew)",
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            " (check that the folder exists and may be written)"
        }
        _ => "",
    }
}
