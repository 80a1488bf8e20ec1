//! Counters of writes, commits, checkpoints and readers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Snapshot of the counters since the database was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Writes waiting in the queue now.
    pub queued: u64,
    /// Committed writes.
    pub writes: u64,
    /// Writes that are not in the database because the closure failed or panicked, or because its transaction failed.
    pub failed: u64,
    /// Commits; one commit may contain many writes.
    pub commits: u64,
    /// Commits made in the thread of the caller, because no other write was in progress.
    pub inline: u64,
    /// Largest number of writes in one commit.
    pub largest: u64,
    /// Total time spent in `COMMIT`.
    pub commit_time: Duration,
    /// Longest time spent in one `COMMIT`.
    pub longest_commit: Duration,
    /// Transactions that could not begin because another process was writing.
    pub busy: u64,
    /// Frames in the write-ahead log after the last commit.
    pub wal_frames: u64,
    /// Passive checkpoints completed by the background thread.
    pub passive: u64,
    /// Checkpoints that truncated the log.
    pub truncated: u64,
    /// Truncations prevented by a reader.
    pub blocked: u64,
    /// Age of the oldest read in progress, or `None` if there is none.
    pub oldest_reader: Option<Duration>,
}

/// The counters that [`Counters`] is a snapshot of.
#[derive(Debug, Default)]
pub struct Live {
    pub writes: AtomicU64,
    pub failed: AtomicU64,
    pub commits: AtomicU64,
    pub inline: AtomicU64,
    pub largest: AtomicU64,
    pub commit_ns: AtomicU64,
    pub longest_ns: AtomicU64,
    pub busy: AtomicU64,
    pub wal_frames: AtomicU64,
    /// Largest frame count since the last truncation: the length of the log file, which a reset of the log does not
    /// shorten.
    pub longest_log: AtomicU64,
    pub passive: AtomicU64,
    pub truncated: AtomicU64,
    pub blocked: AtomicU64,
    /// Moving average of the time from begin to the end of the commit, regardless of the number of writes.
    pub usual_ns: AtomicU64,
    /// Moving average of the time in `COMMIT`.
    pub usual_commit_ns: AtomicU64,
    /// Number of callers expected to write concurrently.
    pub crowd: AtomicU64,
}

impl Live {
    /// Records a commit of `writes` writes.
    pub fn committed(&self, writes: u64, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.writes.fetch_add(writes, Relaxed);
        self.commits.fetch_add(1, Relaxed);
        self.largest.fetch_max(writes, Relaxed);
        self.commit_ns.fetch_add(nanos, Relaxed);
        self.longest_ns.fetch_max(nanos, Relaxed);
        usual(&self.usual_commit_ns, nanos);
    }

    /// Records a truncation of the log.
    pub fn cut(&self) {
        self.truncated.fetch_add(1, Relaxed);
        self.wal_frames.store(0, Relaxed);
        self.longest_log.store(0, Relaxed);
    }

    /// Records the time from begin to the end of the commit.
    pub fn took(&self, took: Duration) {
        usual(&self.usual_ns, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Records how many callers were served or waiting at the end of a commit. The estimate decays by an eighth per
    /// commit.
    pub fn met(&self, callers: u64) {
        let before = self.crowd.load(Relaxed);
        self.crowd.store(callers.max(before - before.div_ceil(8)), Relaxed);
    }

    pub fn snapshot(&self, queued: usize, oldest_reader: Option<Duration>) -> Counters {
        let nanos = |counter: &AtomicU64| Duration::from_nanos(counter.load(Relaxed));
        Counters {
            queued: queued as u64,
            writes: self.writes.load(Relaxed),
            failed: self.failed.load(Relaxed),
            commits: self.commits.load(Relaxed),
            inline: self.inline.load(Relaxed),
            largest: self.largest.load(Relaxed),
            commit_time: nanos(&self.commit_ns),
            longest_commit: nanos(&self.longest_ns),
            busy: self.busy.load(Relaxed),
            wal_frames: self.wal_frames.load(Relaxed),
            passive: self.passive.load(Relaxed),
            truncated: self.truncated.load(Relaxed),
            blocked: self.blocked.load(Relaxed),
            oldest_reader,
        }
    }
}

/// Updates an exponential moving average with weight 1/8.
fn usual(mean: &AtomicU64, nanos: u64) {
    let before = mean.load(Relaxed);
    mean.store(before - before / 8 + nanos / 8, Relaxed);
}
