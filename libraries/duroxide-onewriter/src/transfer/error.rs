//! Errors of a transfer.

use std::path::PathBuf;

/// Reason why a transfer was refused or failed. The source is unchanged and the target does not exist then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The source does not exist.
    #[error("{}: no such file", path.display())]
    Missing {
        /// Path of the source.
        path: PathBuf,
    },

    /// The target, or a file that SQLite would read with it, exists.
    #[error("{}: it exists; a transfer writes a new file", path.display())]
    Exists {
        /// Path of the file that exists.
        path: PathBuf,
    },

    /// A process has the source open.
    #[error("{}: a process has this database open; stop it first", path.display())]
    InUse {
        /// Path of the source.
        path: PathBuf,
    },

    /// The source is a file of another program.
    #[error("{}: not a database of {owner}", path.display())]
    Foreign {
        /// Path of the source.
        path: PathBuf,
        /// The provider that the file should belong to.
        owner: &'static str,
    },

    /// The tables of the source have an unsupported version. The provider that wrote it upgrades an older one when it
    /// opens it.
    #[error(
        "{}: its tables are of version {found}, and this program knows {known}; an older file is upgraded by its own provider",
        path.display()
    )]
    Version {
        /// Path of the source.
        path: PathBuf,
        /// Version of the tables; 0 if there is none.
        found: i64,
        /// Version that this crate supports.
        known: i64,
    },

    /// A queued row that the built-in provider would drop, because this version of duroxide cannot deserialise it
    /// ([`OneWriter::quarantined`](crate::OneWriter::quarantined)).
    #[error("row {id} of table `{table}` cannot be read: {reason}")]
    Unreadable {
        /// Table of the row.
        table: &'static str,
        /// Number of the row.
        id: i64,
        /// Reason why it cannot be read.
        reason: String,
    },

    /// Rows of the source are missing from the converted tables.
    #[error("{converted} of {all} {what} were converted")]
    Incomplete {
        /// Kind of the rows.
        what: &'static str,
        /// Rows in the converted tables.
        converted: u64,
        /// Rows in the source.
        all: u64,
    },

    /// Error of SQLite, for example a full disk.
    #[error("the file was not converted: {0}")]
    Sqlite(#[from] rusqlite::Error),

    /// A file could not be created or renamed.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
}
