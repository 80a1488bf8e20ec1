//! Errors of generation and verification, each with its remedy.

use std::path::PathBuf;

use litelab_database::{SourceError, SqlError, describe};
use rusqlite::ErrorCode;

use crate::load::LoadError;

/// Reason for which a database was not generated or not verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BulkError {
    #[error("{0}")]
    Options(String),

    #[error("{path} exists already; choose another name, or replace it with --force", path = .path.display())]
    Exists { path: PathBuf },

    #[error("{path} is not replaced: {reason}; choose another name", path = .path.display())]
    NotOurs {
        path: PathBuf,
        /// Description of the content that is not the workload's.
        reason: String,
    },

    #[error("{path} does not exist; make it with `litelab generate sqlite3perf {path} --rows 1M`", path = .path.display())]
    Missing { path: PathBuf },

    #[error("{path} cannot be made: {error}; make its folder first, or choose another path", path = .path.display())]
    Path { path: PathBuf, error: std::io::Error },

    /// The database cannot be read in its present state.
    #[error(transparent)]
    Source(SourceError),

    #[error("{path} has no {what}; `litelab generate sqlite3perf` makes a database that does", path = .path.display())]
    NoTable { path: PathBuf, what: String },

    #[error("PRAGMA {name} = {wanted} did not take effect: SQLite reports {found}")]
    Setting {
        name: String,
        wanted: String,
        /// Value that SQLite reports; "nothing" if it does not have the PRAGMA.
        found: String,
    },

    #[error("{what}: {error}{}", remedy(.error.code()))]
    Sql { what: &'static str, error: SqlError },

    #[error("{error}{}", remedy(code(.error)))]
    Load { error: LoadError },

    #[error("cancelled after {rows} rows")]
    Cancelled {
        /// Number of rows done: committed by a generation, checked by a verification.
        rows: u64,
    },

    /// A generation failed after the schema was created; the rows that it committed stay.
    #[error("{cause}; the database holds {rows} rows, all in complete batches")]
    Stopped { rows: u64, cause: Box<BulkError> },

    #[error("{doing}: {}{}", describe(.error), remedy(.error.sqlite_error_code()))]
    Sqlite { doing: &'static str, error: rusqlite::Error },

    #[error("{doing}: {error}")]
    Io { doing: &'static str, error: std::io::Error },
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
            Self::Path { error, .. } => error.kind() != std::io::ErrorKind::StorageFull,
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
