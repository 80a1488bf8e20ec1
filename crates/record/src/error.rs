//! Why a file of litelab's cannot be read or written.

use std::path::Path;

use litelab_database::{SourceError, describe};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Something that the user gave and must change. Exit code 2.
    #[error("{0}")]
    BadInput(String),
    /// Something that failed. Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// Another program holds a lock of the file: what failed now may be tried again. Exit code 1.
    #[error("{0}")]
    Busy(String),
}

const REMEDY_OF_FULL_DISK: &str =
    "free some space there (a run that has begun goes on with --resume), or choose another run file with -o";

impl RecordError {
    /// Whether the user has to change the input.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::BadInput(_))
    }

    /// A failed operation on a path; a full disk and a missing permission get their remedy.
    #[must_use]
    pub fn io(what: &str, path: &Path, error: &std::io::Error) -> Self {
        let line = format!("{}: cannot {what}: {error}", path.display());
        match error.kind() {
            std::io::ErrorKind::StorageFull => {
                Self::BadInput(format!("{line}; free some space, or choose another directory with --dir"))
            }
            std::io::ErrorKind::FileTooLarge => {
                Self::BadInput(format!("{line}; raise the limit on the size of files (ulimit -f)"))
            }
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                Self::BadInput(format!("{line}; choose a directory you can write to with --dir"))
            }
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Self::BadInput(line),
            _ => Self::Failed(line),
        }
    }

    /// As [`RecordError::io`], on a run file: a full disk is no mistake of the input.
    #[must_use]
    pub fn run_file(what: &str, path: &Path, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull => {
                Self::Failed(format!("{}: cannot {what}: {error}; {REMEDY_OF_FULL_DISK}", path.display()))
            }
            _ => Self::io(what, path, error),
        }
    }

    /// A failed call of SQLite on a run file.
    #[must_use]
    pub fn sqlite(what: &str, path: &Path, error: &rusqlite::Error) -> Self {
        let line = format!("{}: cannot {what}: {}", path.display(), describe(error));
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Failed(format!("{line}; {REMEDY_OF_FULL_DISK}")),
            Some(
                rusqlite::ErrorCode::NotADatabase
                | rusqlite::ErrorCode::CannotOpen
                | rusqlite::ErrorCode::ReadOnly
                | rusqlite::ErrorCode::PermissionDenied,
            ) => Self::BadInput(line),
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => Self::Busy(line),
            _ => Self::Failed(line),
        }
    }
}

impl From<SourceError> for RecordError {
    fn from(error: SourceError) -> Self {
        if error.is_bad_input() { Self::BadInput(error.to_string()) } else { Self::Failed(error.to_string()) }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_full_disk_is_no_bad_input_and_names_the_run_file() {
        let full = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None);
        let error = RecordError::sqlite("write the block to it", Path::new("r.db"), &full);
        assert!(!error.is_bad_input());
        let text = error.to_string();
        assert!(
            text.contains("r.db") && text.contains("-o") && text.contains("--resume") && !text.contains("--dir"),
            "{text}"
        );
    }
}
