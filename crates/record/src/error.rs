//! Errors in reading or writing litelab's files.

use std::path::Path;

use litelab_database::{SourceError, describe};

/// Error in reading or writing one of litelab's files.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The user's input is invalid. Exit code 2.
    #[error("{0}")]
    BadInput(String),
    /// An operation failed. Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// Another program holds a lock on the file; the operation may be retried. Exit code 1.
    #[error("{0}")]
    Busy(String),
}

const REMEDY_OF_FULL_DISK: &str =
    "free some space there (a run that has begun goes on with --resume), or choose another run file with -o";

impl RecordError {
    /// Whether the user must change the input; then the exit code is 2.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::BadInput(_))
    }

    /// Error of an operation on a path, with a remedy for a full disk and for a missing permission.
    #[must_use]
    pub fn io(what: &str, path: &Path, error: &std::io::Error) -> Self {
        let line = format!("{}: cannot {what}: {error}", path.display());
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
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
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Self::Failed(format!("{}: cannot {what}: {error}; {REMEDY_OF_FULL_DISK}", path.display()))
            }
            _ => Self::io(what, path, error),
        }
    }

    /// Error of a SQLite call on a run file.
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
        let error = RecordError::sqlite("write the round to it", Path::new("r.db"), &full);
        assert!(!error.is_bad_input());
        let text = error.to_string();
        assert!(
            text.contains("r.db") && text.contains("-o") && text.contains("--resume") && !text.contains("--dir"),
            "{text}"
        );
        for errno in [28, 122] {
            let error = RecordError::io("make a copy", Path::new("b.db"), &std::io::Error::from_raw_os_error(errno));
            let text = error.to_string();
            assert!(text.starts_with("b.db: cannot make a copy") && text.contains("free some space"), "{text}");
        }
        let other =
            RecordError::io("make a copy", Path::new("b.db"), &std::io::Error::from_raw_os_error(5)).to_string();
        assert!(other.contains("os error 5") && !other.contains("free some space"), "{other}");
    }
}
