//! Errors that prevent or end a run.

use std::path::Path;

use litelab_database::{SourceError, SqlError, describe};
use litelab_model::ModelError;
use litelab_record::RecordError;
use rusqlite::ErrorCode;

/// Error that prevents or ends a run. A failed trial is not an error but a row of the run file.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A study, workload or profile is invalid. Exit code 2.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A run file or a calibration cannot be read or written. Exit code 2 or 1.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Any other input of the user is invalid. Exit code 2.
    #[error("{0}")]
    BadInput(String),
    /// An operation failed during execution. Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// A signal interrupted the run. The run file is valid.
    #[error("interrupted")]
    Interrupted,
}

impl EngineError {
    /// Whether the user must change the input; then the exit code is 2.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Model(_) | Self::BadInput(_) => true,
            Self::Record(error) => error.is_bad_input(),
            Self::Failed(_) | Self::Interrupted => false,
        }
    }

    /// Error of an operation on a path, with a remedy for a full disk and for a missing permission.
    pub(crate) fn io(what: &str, path: &Path, error: &std::io::Error) -> Self {
        RecordError::io(what, path, error).into()
    }

    /// Error of a SQLite call on a database that the run creates.
    pub(crate) fn sqlite(what: &str, path: &Path, error: &rusqlite::Error) -> Self {
        let line = format!("{}: cannot {what}: {}", path.display(), describe(error));
        Self::Failed(line + full(error.sqlite_error_code()))
    }

    /// Error of the study's SQL on a database that the run creates; `what` names the SQL.
    pub(crate) fn sql(what: &str, path: &Path, error: &SqlError) -> Self {
        match error.code() {
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
                Self::Failed(format!("{}: {what}: {error}{}", path.display(), full(error.code())))
            }
            _ => Self::BadInput(format!("{what}: {error}")),
        }
    }
}

/// Remedy if the disk of the databases is full; else empty.
fn full(code: Option<ErrorCode>) -> &'static str {
    match code {
        Some(ErrorCode::DiskFull) => "; free some space there, or choose another directory with --dir",
        _ => "",
    }
}

impl From<SourceError> for EngineError {
    fn from(error: SourceError) -> Self {
        if matches!(error, SourceError::Stopped(_)) {
            return Self::Interrupted;
        }
        let code = match &error {
            SourceError::Copy { error, .. } => error.sqlite_error_code(),
            _ => None,
        };
        let line = format!("{error}{}", full(code));
        if error.is_bad_input() { Self::BadInput(line) } else { Self::Failed(line) }
    }
}
