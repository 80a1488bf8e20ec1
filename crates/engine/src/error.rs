//! Why a run could not start, or had to stop.

use std::path::Path;

use litelab_database::{SourceError, SqlError, describe};
use litelab_model::ModelError;
use litelab_record::RecordError;
use rusqlite::ErrorCode;

/// What went wrong. A failed trial is none of these: it is a row in the run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A file that cannot be read as what it should be. Exit code 2.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A file of litelab's that cannot be read or written. Exit code 2 or 1.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Something else that the user gave and must change. Exit code 2.
    #[error("{0}")]
    BadInput(String),
    /// Something that failed while it ran. Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// Ctrl-C. What the run file holds is valid.
    #[error("interrupted")]
    Interrupted,
}

impl EngineError {
    /// Whether the user has to change the input.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Model(_) | Self::BadInput(_) => true,
            Self::Record(error) => error.is_bad_input(),
            Self::Failed(_) | Self::Interrupted => false,
        }
    }

    /// A failed operation on a path; a full disk and a missing permission get their remedy.
    pub(crate) fn io(what: &str, path: &Path, error: &std::io::Error) -> Self {
        RecordError::io(what, path, error).into()
    }

    /// A failed call of SQLite on a database that the run makes.
    pub(crate) fn sqlite(what: &str, path: &Path, error: &rusqlite::Error) -> Self {
        let line = format!("{}: cannot {what}: {}", path.display(), describe(error));
        Self::Failed(line + full(error.sqlite_error_code()))
    }

    /// SQL of a study that fails where the run makes a database; `what` names the SQL.
    pub(crate) fn sql(what: &str, path: &Path, error: &SqlError) -> Self {
        match error.code() {
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
                Self::Failed(format!("{}: {what}: {error}{}", path.display(), full(error.code())))
            }
            _ => Self::BadInput(format!("{what}: {error}")),
        }
    }
}

/// The remedy where the disk of the databases is full.
fn full(code: Option<ErrorCode>) -> &'static str {
    match code {
        Some(ErrorCode::DiskFull) => "; free some space there, or choose another directory with --dir",
        _ => "",
    }
}

impl From<SourceError> for EngineError {
    fn from(error: SourceError) -> Self {
        let code = match &error {
            SourceError::Copy { error, .. } => error.sqlite_error_code(),
            _ => None,
        };
        let line = format!("{error}{}", full(code));
        if error.is_bad_input() { Self::BadInput(line) } else { Self::Failed(line) }
    }
}
