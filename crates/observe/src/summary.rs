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
    /// Largest total size of the logs.
    pub wal_peak_bytes: u64,
    /// Number of log restarts after a checkpoint, a lower bound.
    pub wal_restarts: u64,
    /// Peak resident memory since the start of the processes, as recorded by the kernel, so that no peak between two
    /// samples is missed; else the largest sampled value. Over several processes an upper bound.
    pub rss_peak_bytes: Option<u64>,
    /// Bytes of page cache dirtied for files on storage.
    pub written_bytes: Option<u64>,
    /// Voluntary context switches, without those of threads that lived for less than the interval of thread reads.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches, with the same omission.
    pub involuntary_switches: Option<u64>,
    /// Number of moments sampled.
    pub samples: u64,
    /// Number of those moments that were more than half an interval late: the machine, not the trial, lacked CPU time.
    pub late_samples: u64,
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
        let peak = |of: fn(&Sample) -> Option<u64>| samples.iter().filter_map(of).max();
        Summary {
            wal_peak_bytes: peak(|sample| Some(sample.wal_bytes)).unwrap_or(0),
            wal_restarts: last.wal_restarts - first.wal_restarts,
            rss_peak_bytes: last
                .process
                .and_then(|usage| usage.rss_peak_bytes)
                .or_else(|| peak(|sample| sample.process?.rss_bytes)),
            written_bytes: used(|usage| usage.write_bytes),
            voluntary_switches: used(|usage| usage.voluntary_switches),
            involuntary_switches: used(|usage| usage.involuntary_switches),
            samples: samples.iter().map(|sample| u64::from(sample.moments)).sum(),
            late_samples: samples.iter().map(|sample| u64::from(sample.late_moments)).sum(),
            locks: shares(samples),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Sample> {
        [(0, 100, 5), (10, 700, 20), (20, 300, 50), (30, 200, 90)]
            .map(|(at_ns, wal_bytes, switches)| {
                let process = ProcessUsage {
                    voluntary_switches: Some(switches),
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
                    ..Sample::default()
                }
            })
            .to_vec()
    }

    #[test]
    fn peaks_are_of_the_whole_and_totals_are_differences() {
        let summary = Summary::since(&samples(), 0);
        assert_eq!((summary.wal_peak_bytes, summary.rss_peak_bytes), (700, Some(1400)));
        assert_eq!(summary.wal_restarts, 3);
        assert_eq!((summary.voluntary_switches, summary.involuntary_switches), (Some(85), None));
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
        assert_eq!(summary.voluntary_switches, Some(70));
        assert_eq!((summary.wal_peak_bytes, summary.samples), (700, 3));
        let exact = Summary::since(&samples(), 20);
        assert_eq!((exact.voluntary_switches, exact.wal_peak_bytes), (Some(40), 300));
    }

    #[test]
    fn windows_without_samples_are_empty_and_do_not_panic() {
        assert_eq!(Summary::since(&[], 0), Summary::default());
        assert_eq!(Summary::since(&samples(), 100).samples, 1);
    }
}
