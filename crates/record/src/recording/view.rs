//! What is shown of watched databases at one moment.

use serde::{Deserialize, Serialize};

/// All watched databases at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Seconds since 1970, UTC.
    pub at: f64,
    /// The databases, in the order in which they were named.
    pub databases: Vec<DatabaseView>,
    /// The processes that have any of them open, by id.
    pub processes: Vec<ProcessView>,
    /// What cannot be seen here, and what helps.
    pub limits: Vec<Limit>,
    /// The observer itself.
    pub watch: Own,
}

/// One database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatabaseView {
    /// Path as it was named.
    pub path: String,
    /// `wal`, `rollback`, or `unknown` for a missing or unreadable file.
    pub mode: String,
    /// Page size in bytes.
    pub page_size: Option<u32>,
    /// Size of the database file.
    pub database_bytes: Option<u64>,
    /// Size of the `-wal` file. It is recycled: see `frames` and `backlog_frames` for what is in use.
    pub wal_bytes: Option<u64>,
    /// Size of the rollback journal.
    pub journal_bytes: Option<u64>,
    /// Number of pages of the database, log included.
    pub pages: Option<u32>,
    /// Pages on the free list, as of the last checkpoint.
    pub free_pages: Option<u32>,
    /// `mxFrame`: frames of the log in use.
    pub frames: Option<u32>,
    /// `nBackfill`: frames that a checkpoint has copied into the database.
    pub backfilled: Option<u32>,
    /// Frames that no checkpoint has copied yet.
    pub backlog_frames: Option<u32>,
    /// The same in bytes.
    pub backlog_bytes: Option<u64>,
    /// Salts of the log, which change at each reset.
    pub salts: Option<[u32; 2]>,
    /// Checkpoint sequence number in the header of the log.
    pub checkpoint_sequence: Option<u32>,
    /// Rates of the last seconds; `None` until there are two looks.
    pub rates: Option<Rates>,
    /// Totals since the start of the observation.
    pub totals: Totals,
    /// Seconds since frames were last copied or the log was last reset, while there is a backlog.
    pub stuck_seconds: Option<f64>,
    /// Holders of the locks that one process has at a time: `write`, `checkpoint`, `recover`, `reserved`, `pending`,
    /// `exclusive`.
    pub locks: Vec<LockView>,
    /// Readers of the log, the oldest snapshot first; in rollback mode the holders of shared locks.
    pub readers: Vec<ReaderView>,
    /// Processes that wait for a lock, as far as the kernel shows them: only builds of SQLite with blocking locks.
    pub waiters: Vec<LockView>,
    /// Whether a rollback journal waits to be rolled back: its writer has ended.
    pub hot_journal: bool,
    /// Free space of the file system in bytes.
    pub free_bytes: Option<u64>,
    /// Seconds until the file system is full, at the rate of the last minute.
    pub full_in_seconds: Option<f64>,
    /// Ids of the processes that have it open.
    pub open_by: Vec<u32>,
}

/// Changes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Commits; in rollback mode changes of the file.
    pub commits: f64,
    /// Frames written to the log. A lower bound if the log was reset more than once between two looks.
    pub frames: f64,
    /// Frames copied from the log into the database.
    pub checkpointed: f64,
    /// Share of looks in which a process held the write lock.
    pub write_locked: f64,
}

/// Totals since the start of the observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Commits.
    pub commits: u64,
    /// Frames written to the log.
    pub frames: u64,
    /// Frames copied into the database.
    pub checkpointed: u64,
    /// Resets of the log; a lower bound if several happen between two looks.
    pub resets: u64,
    /// Seconds in which the write lock was held, by the share of looks.
    pub write_locked_seconds: f64,
    /// Reads of the wal-index during a write, all of them repeated.
    pub torn: u64,
    /// Looks.
    pub looks: u64,
}

/// A lock with its holder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LockView {
    /// Name of the lock.
    pub lock: String,
    /// Process id; `None` if the kernel does not show the owner.
    pub pid: Option<u32>,
    /// Seconds for which it has been held by the same transaction.
    pub seconds: f64,
    /// Greatest error of `seconds`: half of the time between two looks.
    pub error_seconds: f64,
    /// Whether it was held at the first look already, so that `seconds` is a lower bound.
    pub at_least: bool,
}

/// A process that reads a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReaderView {
    /// Slot of the read mark; `None` for a shared lock in rollback mode.
    pub slot: Option<u8>,
    /// Last frame of the log that the snapshot contains; 0 for a reader of the database file alone.
    pub mark: Option<u32>,
    /// Process id; `None` if the kernel does not show the owner.
    pub pid: Option<u32>,
    /// Seconds for which the process has held this mark. Short reads in a row look like one, unless commits come between.
    pub seconds: f64,
    /// Greatest error of `seconds`.
    pub error_seconds: f64,
    /// Whether it was held at the first look already.
    pub at_least: bool,
    /// Seconds since the first commit that the snapshot does not contain; `None` for a current snapshot.
    pub behind_seconds: Option<f64>,
    /// Frames that no checkpoint can copy because of this snapshot.
    pub pins_frames: u32,
    /// The same in bytes.
    pub pins_bytes: u64,
}

/// A process that has a watched database open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessView {
    /// Process id.
    pub pid: u32,
    /// Name of the program.
    pub name: String,
    /// Command line.
    pub command: String,
    /// Language, if it is known.
    pub language: Option<String>,
    /// `litestream`, `sqlite3` or another known companion of an application.
    pub companion: Option<String>,
    /// Versions of the copies of SQLite in it.
    pub sqlite: Vec<String>,
    /// Number of threads.
    pub threads: Option<u64>,
    /// Cores used in the last second.
    pub cpu: Option<f64>,
    /// Bytes read from and written to storage per second.
    pub read_per_second: Option<f64>,
    /// Bytes written per second.
    pub written_per_second: Option<f64>,
    /// Whether it is in another mount namespace, as in a container.
    pub other_namespace: bool,
    /// Whether its descriptors may be listed.
    pub readable: bool,
    /// Open files of watched databases that have no name any more: `app.db-wal`.
    pub deleted: Vec<String>,
}

impl ProcessView {
    /// Name in one line: `812 node api.js`. The path of the program and of a script are shortened to their names, and
    /// options are left out.
    #[must_use]
    pub fn shown(&self) -> String {
        let short = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
        let words: Vec<String> =
            self.command.split(' ').filter(|word| !word.starts_with('-')).take(3).map(short).collect();
        let words = words.join(" ");
        let words = if words.is_empty() { self.name.clone() } else { words };
        let cut: String = words.chars().take(LONGEST).collect();
        format!("{} {cut}", self.pid)
    }
}

/// Characters of a command line that are shown.
const LONGEST: usize = 40;

/// Something that cannot be seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Stable name: `no-permission`, `other-pid-namespace` and others.
    pub name: String,
    /// One line: what, and what helps.
    pub text: String,
}

/// The observer itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Own {
    /// Seconds between two looks.
    pub interval_seconds: f64,
    /// Looks that came more than half an interval late.
    pub late: u64,
    /// CPU time used so far, in seconds.
    pub cpu_seconds: f64,
    /// Share of a core used since the start.
    pub cpu_share: f64,
}

impl View {
    /// The process with this id.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<&ProcessView> {
        self.processes.iter().find(|process| process.pid == pid)
    }

    /// A holder in one line.
    #[must_use]
    pub fn holder(&self, pid: Option<u32>) -> String {
        match pid {
            Some(pid) => self.process(pid).map_or_else(|| pid.to_string(), ProcessView::shown),
            None => "a process that is not visible here".to_owned(),
        }
    }
}
