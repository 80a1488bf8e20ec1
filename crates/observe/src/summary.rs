//! Summary of a trial's time series.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::database::LockOwner;
use super::lock::Lock;
use super::process::ProcessUsage;
use super::sample::Sample;

/// Summary of a window of samples. Sizes are in bytes, over all observed databases together; usage is over all observed
/// processes, from the window's first sample to its last.
///
/// Peaks are sampled values: a log that grew and was truncated within one interval may have been larger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Time from the first sample to the last, seconds.
    pub seconds: f64,
    /// Largest total size of the logs.
    pub wal_peak_bytes: u64,
    /// Total size of the logs at the end.
    pub wal_last_bytes: u64,
    /// Total size of the database files at the start.
    pub database_first_bytes: u64,
    /// Total size of the database files at the end.
    pub database_last_bytes: u64,
    /// Largest total size of the rollback journals.
    pub journal_peak_bytes: u64,
    /// Largest number of live frames in the logs.
    pub frames_peak: Option<u64>,
    /// Largest number of frames not yet copied into the databases; it grows if readers block checkpoints.
    pub backlog_peak: Option<u64>,
    /// Number of frames copied into the databases (a lower bound).
    pub frames_backfilled: u64,
    /// Number of log restarts after a checkpoint.
    pub wal_restarts: u64,
    /// Whether `wal_restarts` is exact rather than a lower bound.
    pub wal_restarts_exact: bool,
    /// CPU time in user mode, seconds, with the resolution of a clock tick.
    pub cpu_user_s: Option<f64>,
    /// CPU time in the kernel, seconds, with the resolution of a clock tick.
    pub cpu_system_s: Option<f64>,
    /// Peak resident memory since the start of the processes, as recorded by the kernel, so that no peak between two
    /// samples is missed; else the largest sampled value. Over several processes an upper bound.
    pub rss_peak_bytes: Option<u64>,
    /// Bytes passed to write calls.
    pub written_call_bytes: Option<u64>,
    /// Bytes of page cache dirtied for files on storage.
    pub written_bytes: Option<u64>,
    /// Bytes read from storage.
    pub read_bytes: Option<u64>,
    /// Voluntary context switches, without those of threads that lived for less than the interval of thread reads.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches, with the same omission.
    pub involuntary_switches: Option<u64>,
    /// Number of moments sampled.
    pub samples: u64,
    /// Number of those moments that were more than half an interval late: the machine, not the trial, lacked CPU time.
    pub late_samples: u64,
    /// Number of due times without a sample.
    pub missed_samples: u64,
    /// Locks that others wait for, by process; in run files of older versions empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockShare>,
}

/// A process and the share of samples in which it held a lock. All read marks that are behind the log count as
/// `read 1`, and those of the database file alone as `read 0`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LockShare {
    /// Lock and process.
    #[serde(flatten)]
    pub owner: LockOwner,
    /// Share of samples, 0 to 1.
    pub share: f64,
}

/// Shares of samples by lock and process.
fn shares(samples: &[Sample]) -> Vec<LockShare> {
    let mut counts: BTreeMap<LockOwner, u64> = BTreeMap::new();
    for sample in samples {
        let one = |owner: &LockOwner| match owner.lock {
            Lock::Read(1..) => LockOwner { lock: Lock::Read(1), ..*owner },
            _ => *owner,
        };
        let mut owners: Vec<LockOwner> = sample.owners.iter().map(one).collect();
        owners.sort_unstable();
        owners.dedup();
        owners.into_iter().for_each(|owner| *counts.entry(owner).or_default() += 1);
    }
    let share = |count: u64| count as f64 / samples.len() as f64;
    counts.into_iter().map(|(owner, count)| LockShare { owner, share: share(count) }).collect()
}

impl Summary {
    /// Summarises the samples from a time on, in nanoseconds since the sampler's start; totals count from the last
    /// sample at or before it. [`super::Sampler::sample_now`] places a sample exactly on it.
    #[must_use]
    pub fn since(samples: &[Sample], begin_ns: u64) -> Self {
        let after = samples.partition_point(|sample| sample.at_ns <= begin_ns);
        let samples = &samples[after.saturating_sub(1)..];
        let ([first, ..], [.., last]) = (samples, samples) else {
            return Summary::default();
        };

        // The first sample with a process: none is known before, and a process is observed from its start.
        let before = samples.iter().find_map(|sample| sample.process);
        let used = |of: fn(&ProcessUsage) -> Option<u64>| {
            let (before, after) = (before?, last.process?);
            Some(of(&after)?.saturating_sub(of(&before).unwrap_or(0)))
        };
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let peak = |of: fn(&Sample) -> Option<u64>| samples.iter().filter_map(of).max();
        Summary {
            seconds: seconds(last.at_ns - first.at_ns),
            wal_peak_bytes: peak(|sample| Some(sample.wal_bytes)).unwrap_or(0),
            wal_last_bytes: last.wal_bytes,
            database_first_bytes: first.database_bytes,
            database_last_bytes: last.database_bytes,
            journal_peak_bytes: peak(|sample| Some(sample.journal_bytes)).unwrap_or(0),
            frames_peak: peak(|sample| sample.wal_frames),
            backlog_peak: peak(|sample| sample.wal_backlog),
            frames_backfilled: last.frames_backfilled - first.frames_backfilled,
            wal_restarts: last.wal_restarts - first.wal_restarts,
            wal_restarts_exact: last.wal_restarts_exact,
            cpu_user_s: used(|usage| Some(usage.user_ns)).map(seconds),
            cpu_system_s: used(|usage| Some(usage.system_ns)).map(seconds),
            rss_peak_bytes: last
                .process
                .and_then(|usage| usage.rss_peak_bytes)
                .or_else(|| peak(|sample| sample.process?.rss_bytes)),
            written_call_bytes: used(|usage| usage.write_call_bytes),
            written_bytes: used(|usage| usage.write_bytes),
            read_bytes: used(|usage| usage.read_bytes),
            voluntary_switches: used(|usage| usage.voluntary_switches),
            involuntary_switches: used(|usage| usage.involuntary_switches),
            samples: samples.iter().map(|sample| u64::from(sample.moments)).sum(),
            late_samples: samples.iter().map(|sample| u64::from(sample.late_moments)).sum(),
            missed_samples: samples.iter().map(|sample| sample.missed).sum(),
            locks: shares(samples),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Sample> {
        [(0, 100, 5), (10, 700, 20), (20, 300, 50), (30, 200, 90)]
            .map(|(at_ns, wal_bytes, user_s)| {
                let process = ProcessUsage {
                    user_ns: user_s * 1_000_000_000,
                    rss_bytes: Some(wal_bytes * 2),
                    write_bytes: (at_ns > 0).then_some(wal_bytes),
                    ..ProcessUsage::default()
                };
                Sample {
                    at_ns,
                    wal_bytes,
                    moments: 1,
                    process: Some(process),
                    wal_restarts: at_ns / 10,
                    frames_backfilled: at_ns,
                    wal_frames: (at_ns != 20).then_some(wal_bytes),
                    ..Sample::default()
                }
            })
            .to_vec()
    }

    #[test]
    fn peaks_are_of_the_whole_and_totals_are_differences() {
        let summary = Summary::since(&samples(), 0);
        assert_eq!((summary.wal_peak_bytes, summary.wal_last_bytes), (700, 200));
        assert_eq!((summary.frames_peak, summary.rss_peak_bytes), (Some(700), Some(1400)));
        assert_eq!((summary.wal_restarts, summary.frames_backfilled), (3, 30));
        assert_eq!(summary.cpu_user_s, Some(85.0));
        assert_eq!((summary.backlog_peak, summary.involuntary_switches), (None, None));
        assert_eq!(summary.samples, 4);
    }

    #[test]
    fn the_kernel_s_memory_peak_is_preferred_to_the_sampled_one() {
        let mut samples = samples();
        samples[3].process.as_mut().unwrap().rss_peak_bytes = Some(5000);
        assert_eq!(Summary::since(&samples, 0).rss_peak_bytes, Some(5000));
    }

    #[test]
    fn a_window_counts_from_the_sample_before_it() {
        let summary = Summary::since(&samples(), 15);
        assert_eq!(summary.cpu_user_s, Some(70.0));
        assert_eq!((summary.wal_peak_bytes, summary.samples), (700, 3));
        let exact = Summary::since(&samples(), 20);
        assert_eq!((exact.cpu_user_s, exact.wal_peak_bytes), (Some(40.0), 300));
    }

    #[test]
    fn windows_without_samples_are_empty_and_do_not_panic() {
        assert_eq!(Summary::since(&[], 0), Summary::default());
        assert_eq!(Summary::since(&samples(), 100).samples, 1);
    }
}
