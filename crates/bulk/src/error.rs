//! Errors of generation and verification, each with its remedy.

use std::path::PathBuf;

use litelab_database::{SourceError, SqlError, describe};
use rusqlite::ErrorCode;

use crate::load::LoadError;

/// Reason for which a database was not generated or not verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BulkError {
    /// An option is out of its range.
    #[error("{0}")]
    Options(String),

    /// The path to generate exists already.
    #[error("{path} exists already; choose another name, or replace it with --force", path = .path.display())]
    Exists {
        /// Path given by the caller.
        path: PathBuf,
    },

    /// The path to replace contains something other than an earlier database of the workload.
    #[error("{path} is not replaced: {reason}; choose another name", path = .path.display())]
    NotOurs {
        /// Path given by the caller.
        path: PathBuf,
        /// Description of the content that is not the workload's.
        reason: String,
    },

    /// The file to verify does not exist.
    #[error("{path} does not exist; make it with `litelab generate sqlite3perf {path} --rows 1M`", path = .path.display())]
    Missing {
        /// Path given by the caller.
        path: PathBuf,
    },

    /// The database cannot be read in its present state.
    #[error(transparent)]
    Source(SourceError),

    /// The database lacks the table or one of its columns.
    #[error("{path} has no {what}; `litelab generate sqlite3perf` makes a database that does", path = .path.display())]
    NoTable {
        /// Path given by the caller.
        path: PathBuf,
        /// Name of the missing table or column.
        what: String,
    },

    /// A PRAGMA was set and reads back differently, so the database would not have the requested settings.
    #[error("PRAGMA {name} = {wanted} did not take effect: SQLite reports {found}")]
    Setting {
        /// Name of the PRAGMA.
        name: String,
        /// Requested value.
        wanted: String,
        /// Value that SQLite reports; "nothing" if it does not have the PRAGMA.
        found: String,
    },

    /// SQLite refused SQL of the workload.
    #[error("{what}: {error}{}", remedy(.error.code()))]
    Sql {
        /// Name of the script that failed.
        what: &'static str,
        /// Error of SQLite.
        error: SqlError,
    },

    /// Rows of the workload were not inserted.
    #[error("{error}{}", remedy(code(.error)))]
    Load {
        /// Error of the loader.
        error: LoadError,
    },

    /// The caller's flag ended the work.
    #[error("cancelled after {rows} rows")]
    Cancelled {
        /// Number of rows done: committed by a generation, checked by a verification.
        rows: u64,
    },

    /// A generation failed after the schema was created; the rows that it committed stay.
    #[error("{cause}; the database holds {rows} rows, all in complete batches")]
    Stopped {
        /// Number of rows in the database.
        rows: u64,
        /// Error that ended the generation.
        cause: Box<BulkError>,
    },

    /// SQLite returned an error.
    #[error("{doing}: {}{}", describe(.error), remedy(.error.sqlite_error_code()))]
    Sqlite {
        /// Operation that failed.
        doing: &'static str,
        /// Error of SQLite.
        error: rusqlite::Error,
    },

    /// The operating system returned an error.
    #[error("{doing}: {error}")]
    Io {
        /// Operation that failed.
        doing: &'static str,
        /// Error of the operating system.
        error: std::io::Error,
    },
}

impl BulkError {
    /// Returns a closure for `map_err`.
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
            Self::NoTable { .. } | Self::Setting { .. } => true,
            Self::Source(error) => error.is_bad_input(),
            Self::Load { error: LoadError::Row { .. } } => true,
            Self::Sql { error, .. } | Self::Load { error: LoadError::Sql { error, .. } } => of_sql(error),
            Self::Stopped { cause, .. } => cause.is_bad_input(),
            Self::Cancelled { .. } | Self::Sqlite { .. } | Self::Io { .. } => false,
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

/// Remedy for the result codes that have one.
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
