//! How a database is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use crate::database::Database;
use crate::error::Error;

/// What a commit survives that has been answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Loss of power: `synchronous = FULL`, one sync of the write-ahead log for each commit. The writes that share the commit
    /// share it, too, which is what this crate is for.
    #[default]
    Full,
    /// The end of the process; after a loss of power the latest commits may be missing: `synchronous = NORMAL`.
    Normal,
    /// What [`Options::on_connection`] has set.
    AsSet,
}

/// When the log is carried over into the database file, in frames (pages written).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoints {
    /// From so many on, in the background and beside writers and readers (`PASSIVE`). 0 for never.
    pub passive_after: u32,
    /// From so many on, between two commits and with the log's file cut (`TRUNCATE`). Readers that still need the log are
    /// waited for, 10 ms at most; after that it is tried again ever more seldom, and a warning says how old the oldest reader is. 0 for
    /// never.
    pub truncate_after: u32,
}

impl Default for Checkpoints {
    /// SQLite's own 1,000 frames (4 MB of pages of 4 KiB), and 64 MB.
    fn default() -> Self {
        Self { passive_after: 1_000, truncate_after: 16_384 }
    }
}

/// How a database is opened: the defaults are durable, and bounded in everything.
#[derive(Clone)]
pub struct Options {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) readers: usize,
    pub(crate) queue: usize,
    pub(crate) writes: usize,
    pub(crate) time: Duration,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) on_connection: Arc<OnConnection>,
}

pub(crate) type OnConnection = dyn Fn(&Connection) -> rusqlite::Result<()> + Send + Sync;

impl Options {
    /// For the database in this file, which is created where it is absent.
    #[must_use]
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().into(),
            durability: Durability::default(),
            readers: 4,
            queue: 1_024,
            writes: 256,
            time: Duration::from_millis(5),
            checkpoints: Checkpoints::default(),
            on_connection: Arc::new(|_| Ok(())),
        }
    }

    /// What an answered write survives.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Connections that read, and so closures that read at the same time. Default: 4.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Writes that may wait; default: 1,024. Further callers wait for room, in the order in which they came.
    #[must_use]
    pub fn queue(mut self, writes: usize) -> Self {
        self.queue = writes.max(1);
        self
    }

    /// A commit is shared by at most so many writes (default: 256), and no further one joins after this time (5 ms).
    #[must_use]
    pub fn commit_at(mut self, writes: usize, time: Duration) -> Self {
        self.writes = writes.max(1);
        self.time = time;
        self
    }

    /// When the log is carried over.
    #[must_use]
    pub fn checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// Runs first on every connection: PRAGMAs, functions, collations. Not the schema, for most of them cannot write.
    #[must_use]
    pub fn on_connection(mut self, set: impl Fn(&Connection) -> rusqlite::Result<()> + Send + Sync + 'static) -> Self {
        self.on_connection = Arc::new(set);
        self
    }

    /// Opens it, in WAL mode, and starts the threads that write and checkpoint.
    ///
    /// # Errors
    /// Where it cannot be opened, or has no write-ahead log (in memory, on some network file systems).
    pub fn open(self) -> Result<Database, Error> {
        Database::open(self)
    }
}
