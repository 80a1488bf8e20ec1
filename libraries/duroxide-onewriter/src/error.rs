//! Errors of opening a provider, and of its store.

use std::path::PathBuf;

/// Reason why a provider could not be opened or closed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process, or another provider in this process, has the database open. Leases are in the memory of one
    /// process, so two schedulers would give the same work to two workers.
    #[error("{}: a provider has this database open already; one process owns it at a time", path.display())]
    Owned {
        /// Path of the database.
        path: PathBuf,
    },

    /// The lock file of the database could not be opened or locked.
    #[error("{}: {source}", path.display())]
    Owner {
        /// Path of the lock file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },

    /// The file contains the tables of another program.
    #[error("{}: a database of another program", path.display())]
    Foreign {
        /// Path of the database.
        path: PathBuf,
    },

    /// The tables have an unsupported version.
    #[error("{}: its tables are of version {version}, and this program knows {known}", path.display())]
    Version {
        /// Path of the database.
        path: PathBuf,
        /// Version of the tables.
        version: i64,
        /// Version that this crate supports.
        known: i64,
    },

    /// The operating system could not start the clock thread.
    #[error("no thread for the clock: {0}")]
    Clock(String),

    /// Error from SQLite or [`onewriter`].
    #[error(transparent)]
    Database(#[from] onewriter::Error),

    /// The stored state could not be read.
    #[error("what was kept could not be read: {0}")]
    Recovery(#[from] StoreError),

    /// The store could not be closed properly. All acknowledged changes are durable nevertheless.
    #[error("not closed properly: {0}")]
    Close(StoreError),
}

/// Reason why a store operation failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}")]
pub struct StoreError {
    /// Message for humans.
    pub what: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}
