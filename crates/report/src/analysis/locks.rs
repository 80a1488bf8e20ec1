//! Who held which lock during the trials of a variant, as sampled from outside.

use std::collections::BTreeMap;

use litelab_record::{DatabaseLock, LockShare};
use serde::Serialize;

/// Use of one lock by the processes of a variant's trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LockUse {
    /// The lock: `write`, `checkpoint`, …; `read 1` is any snapshot that is behind the log, `read 0` one without any of it.
    pub lock: String,
    /// Share of the samples in which a process held it, 0 to 1: the mean over trials.
    pub share: f64,
    /// Largest number of processes in a trial that held it in any sample.
    pub processes: usize,
    /// Part of that share which one process had, at most: the mean over trials. 1 divided by the number of processes if
    /// they take turns evenly.
    pub most: f64,
}

/// Use of all locks over the trials.
pub(super) fn uses(trials: &[Vec<LockShare>]) -> Vec<LockUse> {
    let mut locks: BTreeMap<DatabaseLock, Vec<(f64, usize, f64)>> = BTreeMap::new();
    for trial in trials {
        let mut of: BTreeMap<DatabaseLock, Vec<f64>> = BTreeMap::new();
        for one in trial {
            of.entry(one.owner.lock).or_default().push(one.share);
        }
        for (lock, shares) in of {
            let all: f64 = shares.iter().sum();
            let most = shares.iter().copied().fold(0.0, f64::max) / all;
            // Two processes may have a snapshot that is behind in the same sample.
            locks.entry(lock).or_default().push((all.min(1.0), shares.len(), most));
        }
    }
    let summary = |(lock, of): (DatabaseLock, Vec<(f64, usize, f64)>)| LockUse {
        lock: lock.to_string(),
        share: of.iter().map(|(share, ..)| share).sum::<f64>() / trials.len() as f64,
        processes: of.iter().map(|(_, processes, _)| *processes).max().unwrap_or(0),
        most: of.iter().map(|(.., most)| most).sum::<f64>() / of.len() as f64,
    };
    locks.into_iter().map(summary).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_are_means_over_trials_and_over_processes() {
        let of = |lock: &str, pid: u32, share: f64| -> LockShare {
            serde_json::from_value(json!({ "lock": lock, "pid": pid, "share": share })).unwrap()
        };
        let first = vec![of("write", 1, 0.6), of("write", 2, 0.2), of("checkpoint", 1, 0.1)];
        let uses = uses(&[first, vec![of("write", 3, 0.4)]]);
        let found: Vec<(&str, usize)> = uses.iter().map(|one| (one.lock.as_str(), one.processes)).collect();
        assert_eq!(found, [("write", 2), ("checkpoint", 1)]);
        assert!((uses[0].share - 0.6).abs() < 1e-9 && (uses[0].most - 0.875).abs() < 1e-9, "{uses:?}");
        assert!((uses[1].share - 0.05).abs() < 1e-9, "a trial without the lock counts");
    }
}
