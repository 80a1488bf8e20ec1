//! Latency of synchronous writes in a directory: every durable commit needs at least one.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::temporary::Temporary;

/// Block size: SQLite's default page size, and the block size of most file systems.
const BLOCK: usize = 4096;
/// Length in blocks of the file that is overwritten in place, like a rollback journal or a WAL after a restart.
const BLOCKS: u64 = 64;

/// Limits of a probe; the first one reached ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsyncConfig {
    /// Number of writes of each kind.
    pub writes: usize,
    /// Time for both kinds together. At least one pair of writes is made, however long it takes.
    pub limit: Duration,
}

impl Default for FsyncConfig {
    fn default() -> Self {
        FsyncConfig { writes: 100, limit: Duration::from_secs(1) }
    }
}

/// Latency of one kind of write: 4 KiB followed by a data sync. Percentiles are nearest-rank, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SyncLatency {
    /// Number of writes.
    pub writes: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile; with fewer than 100 writes the maximum.
    pub p99_ns: u64,
    /// Maximum.
    pub max_ns: u64,
    /// Rate of consecutive writes of this kind per second: number of writes over the sum of their times.
    pub per_second: f64,
}

/// Latency of synchronous writes as SQLite makes them. The two kinds alternate, so that a disturbance affects both.
///
/// On Apple systems the sync is `F_FULLFSYNC`, which SQLite only uses with `PRAGMA fullfsync`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FsyncProbe {
    /// Writes that overwrite a block within the file, as in a log after a restart.
    pub overwrite: SyncLatency,
    /// Writes that append a block, as in a growing log. The sync must also store the new length.
    pub append: SyncLatency,
}

impl FsyncProbe {
    /// Probes an existing directory with two scratch files, which it removes.
    ///
    /// # Errors
    /// If the files cannot be created, written or synced.
    pub fn run(dir: &Path, config: FsyncConfig) -> io::Result<Self> {
        let (overwrites, appends) = Self::times(dir, config)?;
        Ok(FsyncProbe { overwrite: SyncLatency::of(overwrites), append: SyncLatency::of(appends) })
    }

    /// Like [`FsyncProbe::run`]; returns the times of all overwrites and of all appends in the order of execution, in
    /// nanoseconds.
    ///
    /// # Errors
    /// Those of [`FsyncProbe::run`].
    pub fn times(dir: &Path, config: FsyncConfig) -> io::Result<(Vec<u64>, Vec<u64>)> {
        // Named files, because some file systems skip work for files without a name.
        let scratch = || Temporary::file_in(dir, ".litelab-fsync-");
        let (mut fixed, mut growing) = (scratch()?, scratch()?);
        let block = [0x5a; BLOCK];
        for _ in 0..BLOCKS {
            fixed.write_all(&block)?;
        }
        fixed.as_file().sync_all()?;
        growing.as_file().sync_all()?;

        let deadline = Instant::now() + config.limit;
        let (mut overwrites, mut appends) = (vec![], vec![]);
        while overwrites.is_empty() || (overwrites.len() < config.writes && Instant::now() < deadline) {
            let number = overwrites.len() as u64;
            overwrites.push(synced_write(fixed.as_file_mut(), number % BLOCKS, &block)?);
            appends.push(synced_write(growing.as_file_mut(), number, &block)?);
        }
        Ok((overwrites, appends))
    }
}

fn synced_write(file: &mut File, block: u64, bytes: &[u8]) -> io::Result<u64> {
    file.seek(SeekFrom::Start(block * bytes.len() as u64))?;
    let begin = Instant::now();
    file.write_all(bytes)?;
    file.sync_data()?;
    Ok(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

impl SyncLatency {
    fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let quantile = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times.get(rank - 1).copied().unwrap_or(0)
        };
        let total = times.iter().map(|ns| *ns as f64 / 1e9).sum::<f64>();
        SyncLatency {
            writes: times.len() as u64,
            p50_ns: quantile(50),
            p99_ns: quantile(99),
            max_ns: quantile(100),
            // A total of zero from a coarse clock must not give an infinite rate.
            per_second: times.len() as f64 / total.max(1e-9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_by_nearest_rank() {
        let latency = SyncLatency::of((1..=200).rev().collect());
        assert_eq!((latency.writes, latency.p50_ns, latency.p99_ns, latency.max_ns), (200, 100, 198, 200));
        // 200 writes in 1 + 2 + … + 200 = 20,100 ns.
        assert!((latency.per_second - 200.0 / 20_100e-9).abs() < 1.0);
        let one = SyncLatency::of(vec![3000]);
        assert_eq!((one.p50_ns, one.p99_ns, one.max_ns), (3000, 3000, 3000));
    }

    #[test]
    fn a_real_directory_within_its_bounds() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let config = FsyncConfig { writes: 20, limit: Duration::from_millis(300) };
        let probe = FsyncProbe::run(dir.path(), config).unwrap();
        for latency in [probe.overwrite, probe.append] {
            assert!((1..=20).contains(&latency.writes), "{latency:?}");
            assert!(0 < latency.p50_ns && latency.p50_ns <= latency.p99_ns && latency.p99_ns <= latency.max_ns);
        }
        assert_eq!(probe.overwrite.writes, probe.append.writes);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_time_still_gives_one_pair() {
        let dir = tempfile::tempdir().unwrap();
        let probe = FsyncProbe::run(dir.path(), FsyncConfig { writes: 50, limit: Duration::ZERO }).unwrap();
        assert_eq!((probe.overwrite.writes, probe.append.writes), (1, 1));
    }

    #[test]
    fn an_absent_directory_is_an_error() {
        assert!(FsyncProbe::run(Path::new("/nonexistent/x"), FsyncConfig::default()).is_err());
    }
}
