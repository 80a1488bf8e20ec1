//! Distribution of the durations of synchronous writes.

use serde::{Deserialize, Serialize};

/// Durations of both kinds of write of [`crate::environment::FsyncProbe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncDistribution {
    /// Writes that overwrite a block within the file.
    pub overwrite: SyncQuantiles,
    /// Writes that append a block.
    pub append: SyncQuantiles,
}

/// Nearest-rank quantiles in nanoseconds; with few writes the upper ones equal the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "their names say what they are")]
pub struct SyncQuantiles {
    pub writes: u64,
    pub min_ns: u64,
    pub p10_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

impl SyncQuantiles {
    /// Quantiles of durations in nanoseconds; sorts `times`. All zeros if it is empty.
    #[must_use]
    pub fn of(times: &mut [u64]) -> Self {
        times.sort_unstable();
        let per_mille = |share: usize| {
            let rank = (times.len() * share).div_ceil(1000).max(1);
            times.get(rank - 1).copied().unwrap_or(0)
        };
        Self {
            writes: times.len() as u64,
            min_ns: per_mille(0),
            p10_ns: per_mille(100),
            p50_ns: per_mille(500),
            p90_ns: per_mille(900),
            p99_ns: per_mille(990),
            p999_ns: per_mille(999),
            max_ns: per_mille(1000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_nearest_rank() {
        let mut times: Vec<u64> = (1..=2000).rev().collect();
        let of = SyncQuantiles::of(&mut times);
        let all = [of.min_ns, of.p10_ns, of.p50_ns, of.p90_ns, of.p99_ns, of.p999_ns, of.max_ns];
        assert_eq!(all, [1, 200, 1000, 1800, 1980, 1998, 2000]);
        let few = SyncQuantiles::of(&mut [7, 3]);
        assert_eq!((few.writes, few.min_ns, few.p50_ns, few.p90_ns, few.p999_ns), (2, 3, 3, 7, 7));
        assert_eq!(SyncQuantiles::of(&mut []).max_ns, 0);
    }
}
