//! Events: what happened to a database, or lasts.

use serde::Serialize;

macro_rules! kinds {
    ($($(#[$about:meta])* $variant:ident = $name:literal,)*) => {
        /// Kind of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind { $($(#[$about])* $variant,)* }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Name in files and metrics.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    /// A transaction holds the write lock for long.
    LongWrite = "long-write",
    /// The backlog grows and no frame is copied.
    StarvedCheckpoint = "starved-checkpoint",
    /// All of the log is copied and it grows all the same, because some process always reads it.
    NoReaderGap = "no-reader-gap",
    /// A checkpoint holds its lock for long.
    LongCheckpoint = "long-checkpoint",
    /// In rollback mode: a writer waits for readers.
    PendingWriter = "pending-writer",
    /// The write lock is held nearly always, and several processes compete for it.
    BusyStorm = "busy-storm",
    /// The log was reset: its frames are overwritten from the start.
    Reset = "reset",
    /// The log file has passed a size.
    Growth = "growth",
    /// The log file became shorter.
    Truncated = "truncated",
    /// The database became smaller, as by VACUUM.
    Shrunk = "shrunk",
    /// The journal mode changed.
    ModeChanged = "mode-changed",
    /// Another file has the name of the database.
    Replaced = "replaced",
    /// No file has the name of the database any more.
    Removed = "removed",
    /// The database was moved to another name while processes have it open.
    Moved = "moved",
    /// A file of the database was deleted while processes have it open.
    DeletedOpen = "deleted-open",
    /// The database appeared.
    Appeared = "appeared",
    /// A rollback journal waits to be rolled back.
    HotJournal = "hot-journal",
    /// The file system will be full soon.
    FullSoon = "full-soon",
    /// The file system is full.
    Full = "full",
    /// Processes opened or closed the database.
    Processes = "processes",
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
    /// Bytes of log that no checkpoint has copied yet.
    pub backlog: u64,
    /// Size of the log file.
    pub log: u64,
    /// Free space.
    pub free: u64,
    /// Number of readers.
    pub readers: usize,
    /// Number of processes that have it open.
    pub processes: usize,
}
