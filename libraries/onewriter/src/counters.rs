//! What the layer has done so far.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Counted since the database was opened; a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Writes that wait now.
    pub queued: u64,
    /// Writes committed.
    pub writes: u64,
    /// Writes whose closure failed or panicked, or whose transaction did.
    pub failed: u64,
    /// Commits they shared.
    pub commits: u64,
    /// Of those, the ones that a caller made itself, because nobody else was writing.
    pub inline: u64,
    /// The most writes that one commit was shared by.
    pub largest: u64,
    /// Time in `COMMIT`, all together.
    pub commit_time: Duration,
    /// The longest one.
    pub longest_commit: Duration,
    /// Transactions that could not begin because another process was writing.
    pub busy: u64,
    /// Frames in the write-ahead log after the last commit.
    pub wal_frames: u64,
    /// Checkpoints beside the writer.
    pub passive: u64,
    /// Checkpoints that cut the log.
    pub truncated: u64,
    /// Those that a reader did not allow.
    pub blocked: u64,
    /// How long the oldest reader has been reading.
    pub oldest_reader: Option<Duration>,
}

/// [`Counters`] as they are counted.
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
    pub passive: AtomicU64,
    pub truncated: AtomicU64,
    pub blocked: AtomicU64,
    /// What it usually takes from begin to the end of the commit, however many share it.
    pub usual_ns: AtomicU64,
    /// What the commit usually takes of that.
    pub usual_commit_ns: AtomicU64,
    /// So many are likely to write at the same time.
    pub crowd: AtomicU64,
}

impl Live {
    /// A commit of so many writes took so long.
    pub fn committed(&self, writes: u64, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.writes.fetch_add(writes, Relaxed);
        self.commits.fetch_add(1, Relaxed);
        self.largest.fetch_max(writes, Relaxed);
        self.commit_ns.fetch_add(nanos, Relaxed);
        self.longest_ns.fetch_max(nanos, Relaxed);
        usual(&self.usual_commit_ns, nanos);
    }

    /// From begin to the end of the commit it took so long.
    pub fn took(&self, took: Duration) {
        usual(&self.usual_ns, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// So many were written for, or were waiting, when a commit ended. Those that are gone are forgotten by and by.
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

/// The mean of the last eight or so.
fn usual(mean: &AtomicU64, nanos: u64) {
    let before = mean.load(Relaxed);
    mean.store(before - before / 8 + nanos / 8, Relaxed);
}
