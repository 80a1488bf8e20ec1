//! One sample of a trial's time series, and a series of bounded length.

use serde::{Deserialize, Serialize};

use super::database::LockOwner;
use super::process::ProcessUsage;

/// State of all observed databases and processes at one moment. After thinning, a sample represents several moments:
/// its **totals** are those of the last moment, its current values (sizes, frames, memory) the maxima.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Nanoseconds since the sampler's start.
    pub at_ns: u64,
    /// Delay of the sample after its due time, nanoseconds.
    pub late_ns: u64,
    /// Number of moments this sample represents.
    pub moments: u32,
    /// Number of those moments that were more than half an interval late.
    pub late_moments: u32,
    /// Number of due times without a sample since the previous sample.
    pub missed: u64,
    /// Usage of the processes; `None` before the first was observed.
    pub process: Option<ProcessUsage>,
    /// Total size of the database files in bytes.
    pub database_bytes: u64,
    /// Total size of the `-wal` files in bytes.
    pub wal_bytes: u64,
    /// Total size of the rollback journals in bytes.
    pub journal_bytes: u64,
    /// Number of live frames in the logs; `None` if no log was readable.
    pub wal_frames: Option<u64>,
    /// Number of frames not yet copied into the databases; `None` if no wal-index was readable.
    pub wal_backlog: Option<u64>,
    /// Number of frames copied into the databases since the sampler's start (a lower bound).
    pub frames_backfilled: u64,
    /// Number of log restarts since the sampler's start.
    pub wal_restarts: u64,
    /// Whether `wal_restarts` is exact rather than a lower bound.
    pub wal_restarts_exact: bool,
    /// Owners of locks that others wait for, at the last moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<LockOwner>,
}

impl Sample {
    /// Merges this sample with the `later` one.
    #[must_use]
    pub fn merged(&self, later: &Sample) -> Sample {
        let process = match (self.process, later.process) {
            (Some(a), Some(b)) => {
                Some(ProcessUsage { rss_bytes: a.rss_bytes.max(b.rss_bytes), threads: a.threads.max(b.threads), ..b })
            }
            (a, b) => b.or(a),
        };
        Sample {
            at_ns: later.at_ns,
            late_ns: self.late_ns.max(later.late_ns),
            moments: self.moments + later.moments,
            late_moments: self.late_moments + later.late_moments,
            missed: self.missed + later.missed,
            process,
            database_bytes: self.database_bytes.max(later.database_bytes),
            wal_bytes: self.wal_bytes.max(later.wal_bytes),
            journal_bytes: self.journal_bytes.max(later.journal_bytes),
            wal_frames: self.wal_frames.max(later.wal_frames),
            wal_backlog: self.wal_backlog.max(later.wal_backlog),
            frames_backfilled: later.frames_backfilled,
            wal_restarts: later.wal_restarts,
            wal_restarts_exact: later.wal_restarts_exact,
            owners: later.owners.clone(),
        }
    }
}

/// Samples in order of time, up to a limit: when it is reached, adjacent pairs are merged.
#[derive(Debug, Clone)]
pub struct Series {
    samples: Vec<Sample>,
    limit: usize,
}

impl Series {
    /// Creates an empty series of at most `limit` samples (at least four).
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Series { samples: Vec::new(), limit: limit.max(4) }
    }

    /// Adds the latest sample. Returns `true` if the series was thinned, so that the interval should be doubled.
    ///
    /// The first and the last sample are never merged: the first is the baseline of all totals, the last the final
    /// state.
    pub fn push(&mut self, sample: Sample) -> bool {
        let full = self.samples.len() >= self.limit;
        if full {
            let (first, rest) = self.samples.split_at(1);
            let merged = rest.chunks(2).map(|pair| match pair {
                [a, b] => a.merged(b),
                other => other[0].clone(),
            });
            self.samples = first.iter().cloned().chain(merged).collect();
        }
        self.samples.push(sample);
        full
    }

    /// Returns the samples.
    #[must_use]
    pub fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(at_ns: u64, wal_bytes: u64) -> Sample {
        let process = ProcessUsage { user_ns: at_ns, rss_bytes: Some(wal_bytes), ..ProcessUsage::default() };
        Sample { at_ns, wal_bytes, moments: 1, process: Some(process), ..Sample::default() }
    }

    #[test]
    fn merging_keeps_the_peak_and_the_last_total() {
        let merged = sample(10, 900).merged(&sample(20, 100));
        assert_eq!((merged.at_ns, merged.wal_bytes, merged.moments), (20, 900, 2));
        let process = merged.process.unwrap();
        assert_eq!((process.user_ns, process.rss_bytes), (20, Some(900)));
    }

    #[test]
    fn a_process_seen_once_stays_in_the_merged_sample() {
        let without = Sample { at_ns: 30, process: None, ..sample(30, 1) };
        assert!(sample(10, 1).merged(&without).process.is_some());
        assert!(without.merged(&sample(40, 1)).process.is_some());
    }

    proptest! {
        #[test]
        fn thinning_loses_no_peak_no_moment_and_no_order(sizes in proptest::collection::vec(0u64..1000, 1..400), limit in 4usize..20) {
            let mut series = Series::new(limit);
            for (at, size) in sizes.iter().enumerate() {
                series.push(sample(at as u64, *size));
            }
            let samples = series.into_samples();
            prop_assert!(samples.len() <= limit);
            prop_assert_eq!(samples.iter().map(|s| s.wal_bytes).max(), sizes.iter().copied().max());
            prop_assert_eq!(samples.iter().map(|s| s.moments as usize).sum::<usize>(), sizes.len());
            prop_assert!(samples.is_sorted_by(|a, b| a.at_ns < b.at_ns));
            prop_assert_eq!(samples[0].clone(), sample(0, sizes[0]));
            let last = sizes.len() - 1;
            prop_assert_eq!(samples.last().unwrap().at_ns, last as u64);
            prop_assert_eq!(samples.last().unwrap().process.unwrap().user_ns, last as u64);
        }
    }
}
