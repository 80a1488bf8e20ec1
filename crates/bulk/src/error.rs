//! What can go wrong, each with its remedy.

use std::path::PathBuf;

use litelab_database::SourceError;

/// Why rows were not made or not checked.
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

    /// The path to be replaced holds something else than a generated database.
    #[error("{path} is not replaced: {reason}; choose another name", path = .path.display())]
    NotOurs {
        /// The path asked for.
        path: PathBuf,
        /// What it holds.
        reason: String,
    },

    /// The file to be verified does not exist.
    #[error("{path} does not exist; make it with `litelab generate {path}`", path = .path.display())]
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
    #[error("{path} has no {what}; `litelab generate` makes a database that does", path = .path.display())]
    NoTable {
        /// The path asked for.
        path: PathBuf,
        /// The table or column that was not found.
        what: String,
    },

    /// A PRAGMA was set and reads back differently, so the run would not be what was asked for.
    #[error("PRAGMA {name} = {wanted} did not take effect: SQLite reports {found}")]
    Setting {
        /// The PRAGMA.
        name: String,
        /// The value asked for.
        wanted: String,
        /// What SQLite reports; "nothing" if it does not know the PRAGMA.
        found: String,
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

    /// A generation failed after the table was made; what it committed stays.
    #[error("{cause}; the database holds {rows} rows, all in complete batches")]
    Stopped {
        /// Rows that the database holds.
        rows: u64,
        /// Why it ended.
        #[source]
        cause: Box<BulkError>,
    },

    /// SQLite refused something.
    #[error("{doing}: {code}: {message}{}", remedy(.code))]
    Sqlite {
        /// What was being done.
        doing: &'static str,
        /// Name of the extended result code.
        code: &'static str,
        /// SQLite's own message.
        message: String,
    },

    /// The operating system refused something.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Its answer.
        #[source]
        source: std::io::Error,
    },
}

impl BulkError {
    /// Wraps an error of SQLite, with what was being done.
    pub(crate) fn sqlite(doing: &'static str, error: &rusqlite::Error) -> Self {
        let (code, message) = match error {
            rusqlite::Error::SqliteFailure(failure, message) => (
                litelab_protocol::codes::name(failure.extended_code),
                message.clone().unwrap_or_else(|| failure.to_string()),
            ),
            other => ("SQLITE_MISUSE", other.to_string()),
        };
        Self::Sqlite { doing, code, message }
    }

    /// A closure for `map_err`.
    pub(crate) fn doing(doing: &'static str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |error| Self::sqlite(doing, &error)
    }

    /// The name of SQLite's extended result code, where SQLite was the cause.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Sqlite { code, .. } => Some(code),
            Self::Stopped { cause, .. } => cause.code(),
            _ => None,
        }
    }
}

impl From<SourceError> for BulkError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Missing(path) => Self::Missing { path },
            SourceError::NoFile(path) | SourceError::NotADatabase(path) => Self::NotADatabase { path },
            SourceError::Sqlite { error, .. } => Self::sqlite("open the database", &error),
            other => Self::Source(other),
        }
    }
}

/// What to do about the codes that have an answer.
fn remedy(code: &str) -> &'static str {
    match litelab_protocol::codes::primary(code).unwrap_or(code) {
        "SQLITE_FULL" => " (free space on that disk, or ask for fewer rows)",
        "SQLITE_BUSY" | "SQLITE_LOCKED" => " (another program uses the file; end it first)",
        "SQLITE_CORRUPT" => " (the file is damaged or was cut short; make it anew)",
        "SQLITE_CANTOPEN" | "SQLITE_READONLY" | "SQLITE_PERM" => " (check that the folder exists and may be written)",
        _ => "",
    }
}
