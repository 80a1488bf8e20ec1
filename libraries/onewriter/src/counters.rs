//! Counters of writes, commits, checkpoints and readers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Snapshot of the counters since the database was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Writes waiting in the queue now.
    pub queued: u64,
    /// Committed writes.
    pub writes: u64,
    /// Writes that are not in the database because the closure failed or panicked, or because its transaction failed.
    pub failed: u64,
    /// Closures that ran a second time because another one of the same commit failed (`write_repeatable`).
    pub repeated: u64,
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
    /// Number of writes of each commit.
    pub batches: Histogram,
    /// Time of each queued write from its call to the begin of its closure, in nanoseconds. Writes in the thread of
    /// their caller do not wait and are not counted.
    pub waits: Histogram,
}

/// Number of values by powers of two.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    /// Index `i` counts the values from 2^(i - 1) to 2^i - 1, and index 0 the zeros.
    counts: Vec<u64>,
}

impl Histogram {
    /// Upper bounds, inclusive, and the number of values up to each that are above the bound before.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let bound = |bits: usize| 1_u64.checked_shl(bits as u32).map_or(u64::MAX, |bound| bound - 1);
        self.counts.iter().enumerate().map(move |(bits, count)| (bound(bits), *count))
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Upper bound of the bucket of the quantile `q` from 0 to 1. 0 if there are no values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = (q.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let reaches = |&(_, count): &(u64, u64)| {
            below += count;
            below >= rank
        };
        self.buckets().find(reaches).map_or(0, |(bound, _)| bound)
    }
}

/// Counts of a [`Histogram`].
#[derive(Debug)]
pub struct Buckets([AtomicU64; 65]);

impl Default for Buckets {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Buckets {
    pub fn add(&self, value: u64) {
        let bits = u64::BITS - value.leading_zeros();
        self.0[bits as usize].fetch_add(1, Relaxed);
    }

    fn snapshot(&self) -> Histogram {
        let mut counts: Vec<u64> = self.0.iter().map(|count| count.load(Relaxed)).collect();
        let used = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        counts.truncate(used);
        Histogram { counts }
    }
}

/// The counters that [`Counters`] is a snapshot of.
#[derive(Debug, Default)]
pub struct Live {
    pub writes: AtomicU64,
    pub failed: AtomicU64,
    pub repeated: AtomicU64,
    pub commits: AtomicU64,
    pub inline: AtomicU64,
    pub largest: AtomicU64,
    pub commit_ns: AtomicU64,
    pub longest_ns: AtomicU64,
    pub busy: AtomicU64,
    pub wal_frames: AtomicU64,
    /// Commits to the log, those outside of batches included.
    pub logged: AtomicU64,
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
    pub batches: Buckets,
    pub waits: Buckets,
}

/// Nanoseconds, up to 584 years.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Live {
    /// Records a commit of `writes` writes.
    pub fn committed(&self, writes: u64, took: Duration) {
        let nanos = nanos(took);
        self.writes.fetch_add(writes, Relaxed);
        self.commits.fetch_add(1, Relaxed);
        self.largest.fetch_max(writes, Relaxed);
        self.batches.add(writes);
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
        usual(&self.usual_ns, nanos(took));
    }

    /// Records how many callers were served or waiting at the end of a commit. The estimate decays by an eighth per
    /// commit.
    pub fn met(&self, callers: u64) {
        let before = self.crowd.load(Relaxed);
        self.crowd.store(callers.max(before - before.div_ceil(8)), Relaxed);
    }

    pub fn snapshot(&self, queued: usize, oldest_reader: Option<Duration>) -> Counters {
        let time = |counter: &AtomicU64| Duration::from_nanos(counter.load(Relaxed));
        Counters {
            queued: queued as u64,
            writes: self.writes.load(Relaxed),
            failed: self.failed.load(Relaxed),
            repeated: self.repeated.load(Relaxed),
            commits: self.commits.load(Relaxed),
            inline: self.inline.load(Relaxed),
            largest: self.largest.load(Relaxed),
            commit_time: time(&self.commit_ns),
            longest_commit: time(&self.longest_ns),
            busy: self.busy.load(Relaxed),
            wal_frames: self.wal_frames.load(Relaxed),
            passive: self.passive.load(Relaxed),
            truncated: self.truncated.load(Relaxed),
            blocked: self.blocked.load(Relaxed),
            oldest_reader,
            batches: self.batches.snapshot(),
            waits: self.waits.snapshot(),
        }
    }
}

/// Updates an exponential moving average with weight 1/8.
fn usual(mean: &AtomicU64, nanos: u64) {
    let before = mean.load(Relaxed);
    mean.store(before - before / 8 + nanos / 8, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_has_quantiles() {
        let buckets = Buckets::default();
        assert_eq!(buckets.snapshot().quantile(0.5), 0);
        for value in [0, 1, 5, 6, 7, u64::MAX] {
            buckets.add(value);
        }
        let histogram = buckets.snapshot();
        assert_eq!(histogram.count(), 6);
        let used: Vec<_> = histogram.buckets().filter(|(_, count)| *count > 0).collect();
        assert_eq!(used, [(0, 1), (1, 1), (7, 3), (u64::MAX, 1)]);
        assert_eq!([0.0, 0.3, 0.5, 0.83, 1.0].map(|q| histogram.quantile(q)), [0, 1, 7, 7, u64::MAX]);
    }
}
