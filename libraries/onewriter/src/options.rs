//! Options for opening a database.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use crate::error::Result;
use crate::temporary::Temporary;

/// Failures that an answered write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// Survives power loss: `synchronous = FULL`, one sync of the write-ahead log per commit, shared by all writes in
    /// the commit; on macOS with `fullfsync`, without which a sync stays in the disk's cache. The default.
    #[default]
    Full,
    /// Survives the end of the process; power loss may lose the latest commits: `synchronous = NORMAL`.
    Normal,
    /// Survives the end of the process; power loss may destroy the database: `synchronous = OFF`. For tests, and for
    /// files that can be made again.
    Off,
    /// As set by [`Options::on_writer`]; SQLite's default otherwise.
    Unchanged,
}

/// Limits of the write-ahead log, in frames, from which checkpoints run. One frame is one written page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoints {
    /// Frames from which a background checkpoint runs concurrently with writers and readers (`PASSIVE`). With 0 one runs
    /// only when nothing has been written for a second.
    pub passive_after: u32,
    /// Frames from which the writer checkpoints between two commits and truncates the log file (`TRUNCATE`). 0 disables
    /// it.
    ///
    /// The writer waits up to 10 ms for readers that still need the log. After that it retries at growing intervals,
    /// and a warning reports the age of the oldest reader.
    pub truncate_after: u32,
}

impl Checkpoints {
    /// Checkpoints from these numbers of frames.
    #[must_use]
    pub const fn after(passive: u32, truncate: u32) -> Self {
        Self { passive_after: passive, truncate_after: truncate }
    }

    /// No checkpoints, also not when the database is closed: another program runs them, for example Litestream, which
    /// needs all frames in the log until it has copied them.
    #[must_use]
    pub const fn external() -> Self {
        Self::after(0, 0)
    }

    pub(crate) const fn is_external(self) -> bool {
        self.passive_after == 0 && self.truncate_after == 0
    }
}

impl Default for Checkpoints {
    /// 1,000 frames, as in SQLite (4 MB with pages of 4 KiB), and 16,384 frames (64 MB).
    fn default() -> Self {
        Self::after(1_000, 16_384)
    }
}

/// Options for opening a database. The defaults are durable.
#[derive(Clone)]
pub struct Options {
    pub(crate) path: PathBuf,
    pub(crate) temporary: Option<Arc<Temporary>>,
    pub(crate) durability: Durability,
    pub(crate) stop_after_failed_sync: bool,
    pub(crate) readers: usize,
    pub(crate) max_queue: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) batch: (usize, Duration),
    pub(crate) spin: Duration,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) max_log: Option<u64>,
    pub(crate) max_read: Option<Duration>,
    pub(crate) max_write: Option<Duration>,
    pub(crate) on_writer: Arc<OnConnection>,
    pub(crate) on_reader: Arc<OnConnection>,
}

type OnConnection = dyn Fn(&mut Connection) -> rusqlite::Result<()> + Send + Sync;

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Options");
        shown.field("path", &self.path).field("durability", &self.durability).field("readers", &self.readers);
        shown.field("checkpoints", &self.checkpoints).finish_non_exhaustive()
    }
}

impl Options {
    /// Options for the database in this file, which is created if it does not exist. A path that begins with `file:` is
    /// a URI (<https://sqlite.org/uri.html>).
    #[must_use]
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().into(),
            temporary: None,
            durability: Durability::default(),
            stop_after_failed_sync: false,
            readers: 4,
            max_queue: usize::MAX,
            timeout: None,
            batch: (256, Duration::from_millis(5)),
            spin: Duration::ZERO,
            checkpoints: Checkpoints::default(),
            max_log: None,
            max_read: None,
            max_write: None,
            on_writer: Arc::new(|_| Ok(())),
            on_reader: Arc::new(|_| Ok(())),
        }
    }

    /// Options for an empty database in a new folder of the system's temporary folder, for tests. It is never synced
    /// ([`Durability::Off`]), and is removed when it is closed, or when the last handle and these options are dropped.
    ///
    /// SQLite has no write-ahead log in memory, so this crate has no databases there. A temporary folder in memory (as
    /// `TMPDIR=/dev/shm`) makes them as fast.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn temporary() -> Result<Self> {
        let temporary = Temporary::new()?;
        let options = Self::new(temporary.database()).durability(Durability::Off);
        Ok(Self { temporary: Some(Arc::new(temporary)), ..options })
    }

    /// Failures that an answered write survives. Default: [`Durability::Full`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Whether all writes return [`Error::Stopped`](crate::Error::Stopped) after an I/O error of a commit, of a checkpoint,
    /// or of the last statement of [`Database::exclusive`](crate::Database::exclusive). Default: `false`, the next write is tried as if nothing had been.
    ///
    /// After a failed sync, Linux marks the data as written though it is not on the disk, and a later sync succeeds.
    /// With `true` nothing more is committed, and the log is not carried over at the close. Only a new process that
    /// reads from the disk knows what is there.
    #[must_use]
    pub fn stop_after_failed_sync(mut self, stop: bool) -> Self {
        self.stop_after_failed_sync = stop;
        self
    }

    /// Number of reading connections, and so of concurrent read closures. Default: 4.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Number of waiting writes from which further ones are refused with
    /// [`Error::QueueFull`](crate::Error::QueueFull). One whose caller has given up (a timeout, a dropped future) counts
    /// until its turn. Default: no limit.
    #[must_use]
    pub fn max_queue(mut self, writes: usize) -> Self {
        self.max_queue = writes.max(1);
        self
    }

    /// Longest time from a call to the begin of its closure; see
    /// [`Database::with_timeout`](crate::Database::with_timeout). Default: no limit.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Limits of one commit: the largest number of writes in it (default: 256), and the time after which no further
    /// write joins it (default: 5 ms).
    #[must_use]
    pub fn max_batch(mut self, writes: usize, time: Duration) -> Self {
        self.batch = (writes.max(1), time);
        self
    }

    /// Time for which a blocked caller polls for an answer before it sleeps, if commits take microseconds and at most
    /// one other caller waits. Default: 0. More latency is saved than CPU is spent where processors are idle.
    #[must_use]
    pub fn spin(mut self, limit: Duration) -> Self {
        self.spin = limit;
        self
    }

    /// Limits of the write-ahead log. Default: [`Checkpoints::default`].
    #[must_use]
    pub fn checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// Refuses writes with [`Error::LogFull`](crate::Error::LogFull) while the write-ahead log has this many frames or
    /// more and a reader prevents its truncation. With [`Checkpoints::external`] one write in a while is let through, to
    /// see whether the other program has carried the log over. Default: no limit.
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

    /// Interrupts a write closure that takes longer, as [`Options::max_read`] does. Default: no limit.
    ///
    /// If the interrupted statement changes rows, SQLite rolls back the whole transaction: the other writes of the
    /// commit return [`Error::RolledBack`](crate::Error::RolledBack).
    #[must_use]
    pub fn max_write(mut self, limit: Duration) -> Self {
        self.max_write = Some(limit);
        self
    }

    /// Runs `set` first on each new connection that can write, for PRAGMAs, functions, collations and attached
    /// databases: the writer, the one for checkpoints and those of [`Database::exclusive`](crate::Database::exclusive).
    ///
    /// This crate sets the authorizer and the commit, rollback and WAL hooks of the writer after it. The update hook is
    /// free.
    #[must_use]
    pub fn on_writer(mut self, set: impl Fn(&mut Connection) -> rusqlite::Result<()> + Send + Sync + 'static) -> Self {
        self.on_writer = Arc::new(set);
        self
    }

    /// Runs `set` first on each new connection that reads.
    #[must_use]
    pub fn on_reader(mut self, set: impl Fn(&mut Connection) -> rusqlite::Result<()> + Send + Sync + 'static) -> Self {
        self.on_reader = Arc::new(set);
        self
    }
}
