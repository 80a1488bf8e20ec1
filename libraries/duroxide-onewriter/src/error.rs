//! Why a provider cannot be opened.

use std::path::PathBuf;

use crate::store::StoreError;

/// Why a provider cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process, or another provider of this one, schedules from this database. Two would give the same work to two
    /// workers: leases are in the memory of the one.
    #[error("{}: a provider has this database open already; one process owns it at a time", path.display())]
    Owned {
        /// The database.
        path: PathBuf,
    },

    /// The file whose lock says who owns the database.
    #[error("{}: {source}", path.display())]
    Owner {
        /// That file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },

    /// The file has tables that are not ours.
    #[error("{}: a database of another program", path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },

    /// The tables are of another version.
    #[error("{}: its tables are of version {version}, and this program knows {known}", path.display())]
    Version {
        /// The database.
        path: PathBuf,
        /// What it says.
        version: i64,
        /// What this program knows.
        known: i64,
    },

    /// The operating system gives no thread for the clock.
    #[error("no thread for the clock: {0}")]
    Clock(String),

    /// SQLite, or the layer above it.
    #[error(transparent)]
    Database(#[from] onewriter::Error),

    /// What was kept could not be read.
    #[error("what was kept could not be read: {0}")]
    Recovery(#[from] StoreError),
}
