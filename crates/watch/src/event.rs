//! Events: what happened to a database, or lasts.

use serde::{Deserialize, Serialize};

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A transaction holds the write lock for long.
    LongWrite,
    /// The backlog grows and no frame is copied.
    StarvedCheckpoint,
    /// All of the log is copied and it grows all the same, because some process always reads it.
    NoReaderGap,
    /// A checkpoint holds its lock for long.
    LongCheckpoint,
    /// In rollback mode: a writer waits for readers.
    PendingWriter,
    /// The write lock is held nearly always, and several processes compete for it.
    BusyStorm,
    /// The log was reset: its frames are overwritten from the start.
    Reset,
    /// The log file has passed a size.
    Growth,
    /// The log file became shorter.
    Truncated,
    /// The database became smaller, as by VACUUM.
    Shrunk,
    /// The journal mode changed.
    ModeChanged,
    /// Another file has the name of the database.
    Replaced,
    /// No file has the name of the database any more.
    Removed,
    /// The database was moved to another name while processes have it open.
    Moved,
    /// A file of the database was deleted while processes have it open.
    DeletedOpen,
    /// The database appeared.
    Appeared,
    /// A rollback journal waits to be rolled back.
    HotJournal,
    /// The file system will be full soon.
    FullSoon,
    /// The file system is full.
    Full,
    /// Processes opened or closed the database.
    Processes,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 20] = [
        Self::LongWrite,
        Self::StarvedCheckpoint,
        Self::NoReaderGap,
        Self::LongCheckpoint,
        Self::PendingWriter,
        Self::BusyStorm,
        Self::Reset,
        Self::Growth,
        Self::Truncated,
        Self::Shrunk,
        Self::ModeChanged,
        Self::Replaced,
        Self::Removed,
        Self::Moved,
        Self::DeletedOpen,
        Self::Appeared,
        Self::HotJournal,
        Self::FullSoon,
        Self::Full,
        Self::Processes,
    ];

    /// Name in files and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LongWrite => "long-write",
            Self::StarvedCheckpoint => "starved-checkpoint",
            Self::NoReaderGap => "no-reader-gap",
            Self::LongCheckpoint => "long-checkpoint",
            Self::PendingWriter => "pending-writer",
            Self::BusyStorm => "busy-storm",
            Self::Reset => "reset",
            Self::Growth => "growth",
            Self::Truncated => "truncated",
            Self::Shrunk => "shrunk",
            Self::ModeChanged => "mode-changed",
            Self::Replaced => "replaced",
            Self::Removed => "removed",
            Self::Moved => "moved",
            Self::DeletedOpen => "deleted-open",
            Self::Appeared => "appeared",
            Self::HotJournal => "hot-journal",
            Self::FullSoon => "full-soon",
            Self::Full => "full",
            Self::Processes => "processes",
        }
    }
}

/// Facts about an event, over which the conditions and messages of `rules/watch.toml` are written.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The event.
    pub event: EventFacts,
    /// The process in question.
    pub process: ProcessFacts,
    /// The database.
    pub database: DatabaseFacts,
}

/// The event itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EventFacts {
    /// Name of the kind.
    pub kind: &'static str,
    /// Duration so far.
    pub seconds: f64,
    /// Bytes in question: pinned, grown to, cut off.
    pub bytes: u64,
    /// Number in question: resets, processes.
    pub count: u64,
    /// Share in question, 0 to 1.
    pub share: f64,
    /// Text in question: a new path, a mode, names of processes.
    pub text: String,
    /// Slot of the reader in question; `None` without a reader.
    pub slot: Option<u8>,
    /// Seconds until the file system is full.
    pub full_in: Option<f64>,
}

/// The process in question.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProcessFacts {
    /// Whether there is one and it is visible.
    pub known: bool,
    /// Process id, 0 if unknown.
    pub pid: u32,
    /// Id and command in one line.
    pub shown: String,
    /// Known companion of an application.
    pub companion: Option<String>,
    /// Language.
    pub language: Option<String>,
    /// Cores used in the last second.
    pub cpu: Option<f64>,
    /// Bytes written to storage per second.
    pub written: Option<f64>,
}

/// The database.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DatabaseFacts {
    /// File name.
    pub name: String,
    /// `wal`, `rollback` or `unknown`.
    pub mode: String,
    /// Bytes of log that no checkpoint has copied yet.
    pub backlog: u64,
    /// Size of the log file.
    pub log: u64,
    /// Size of the database file.
    pub size: u64,
    /// Free space.
    pub free: u64,
    /// Number of readers.
    pub readers: usize,
    /// Number of processes that have it open.
    pub processes: usize,
    /// Number of processes that wait for a lock, as far as the kernel shows them.
    pub waiters: usize,
}
