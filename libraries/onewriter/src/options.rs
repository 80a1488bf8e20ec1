//! Options for opening a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use crate::database::Database;
use crate::error::Error;

/// Failures that an answered write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Survives power loss: `synchronous = FULL`, one sync of the write-ahead log per commit, shared by all writes in
    /// the commit. The default.
    #[default]
    Full,
    /// Survives the end of the process; power loss may lose the latest commits: `synchronous = NORMAL`.
    Normal,
    /// As set by [`Options::on_connection`]; SQLite's default otherwise.
    AsSet,
}

/// Limits of the write-ahead log, in frames, from which checkpoints run. One frame is one written page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoints {
    /// Frames from which a background checkpoint runs concurrently with writers and readers (`PASSIVE`). 0 disables it.
    pub passive_after: u32,
    /// Frames from which the writer checkpoints between two commits and truncates the log file (`TRUNCATE`). 0 disables
    /// it.
    ///
    /// The writer waits up to 10 ms for readers that still need the log. After that it retries at growing intervals,
    /// and a warning reports the age of the oldest reader.
    pub truncate_after: u32,
}

impl Checkpoints {
    /// No checkpoints, also not when the database is closed: another program runs them, for example Litestream, which
    /// needs all frames in the log until it has copied them.
    #[must_use]
    pub const fn external() -> Self {
        Self { passive_after: 0, truncate_after: 0 }
    }

    pub(crate) const fn is_external(self) -> bool {
        self.passive_after == 0 && self.truncate_after == 0
    }
}

impl Default for Checkpoints {
    /// 1,000 frames, as in SQLite (4 MB with pages of 4 KiB), and 16,384 frames (64 MB).
    fn default() -> Self {
        Self { passive_after: 1_000, truncate_after: 16_384 }
    }
}

/// Options for opening a database. The defaults are durable, and every resource is bounded.
#[derive(Clone)]
pub struct Options {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) readers: usize,
    pub(crate) queue: usize,
    pub(crate) writes: usize,
    pub(crate) time: Duration,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) max_log: Option<u64>,
    pub(crate) max_read: Option<Duration>,
    pub(crate) on_connection: Arc<OnConnection>,
}

pub(crate) type OnConnection = dyn Fn(&Connection) -> rusqlite::Result<()> + Send + Sync;

impl Options {
    /// Options for the database in this file, which is created if it does not exist.
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
            max_log: None,
            max_read: None,
            on_connection: Arc::new(|_| Ok(())),
        }
    }

    /// Failures that an answered write survives. Default: [`Durability::Full`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Number of reading connections, and so of concurrent read closures. Default: 4.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Capacity of the write queue. Default: 1,024. Further callers wait for a place, in order of arrival.
    #[must_use]
    pub fn queue(mut self, writes: usize) -> Self {
        self.queue = writes.max(1);
        self
    }

    /// Limits of one commit: `writes` is the largest number of writes in it (default: 256), `time` the time after which
    /// no further write joins it (default: 5 ms).
    #[must_use]
    pub fn commit_at(mut self, writes: usize, time: Duration) -> Self {
        self.writes = writes.max(1);
        self.time = time;
        self
    }

    /// Limits of the write-ahead log. Default: [`Checkpoints::default`].
    #[must_use]
    pub fn checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// Refuses writes with [`Error::LogFull`] while the write-ahead log has this many frames or more and a reader
    /// prevents its truncation. Default: no limit.
    #[must_use]
    pub fn max_log(mut self, frames: u64) -> Self {
        self.max_log = Some(frames);
        self
    }

    /// Interrupts a read that takes longer (`SQLITE_INTERRUPT` in its closure). A closure that is not inside a statement
    /// gets the error from its next one, if that one is not done within a quarter of the limit. Default: no limit.
    #[must_use]
    pub fn max_read(mut self, limit: Duration) -> Self {
        self.max_read = Some(limit);
        self
    }

    /// Runs `set` first on every new connection, for PRAGMAs, functions and collations. It cannot create the schema:
    /// most of the connections are read-only.
    #[must_use]
    pub fn on_connection(mut self, set: impl Fn(&Connection) -> rusqlite::Result<()> + Send + Sync + 'static) -> Self {
        self.on_connection = Arc::new(set);
        self
    }

    /// Opens the database in WAL mode and starts the writer and checkpoint threads. If the same file is open in this
    /// process already, this returns another handle of that database, and these options have no effect.
    ///
    /// # Errors
    /// If the database cannot be opened, or cannot use a write-ahead log (in-memory databases, some network file
    /// systems).
    pub fn open(self) -> Result<Database, Error> {
        Database::open(self)
    }
}
