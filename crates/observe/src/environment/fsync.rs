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

/// Latency of one kind of write: 4 KiB followed by a data sync. Quantiles are nearest-rank, in nanoseconds; with few
/// writes the upper ones equal the maximum. Those that environments of older versions lack are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "their names say what they are")]
pub struct SyncLatency {
    pub writes: u64,
    #[serde(default)]
    pub min_ns: u64,
    #[serde(default)]
    pub p10_ns: u64,
    pub p50_ns: u64,
    #[serde(default)]
    pub p90_ns: u64,
    pub p99_ns: u64,
    #[serde(default)]
    pub p999_ns: u64,
    pub max_ns: u64,
}

/// Latency of synchronous writes as SQLite makes them. The two kinds alternate, so that a disturbance affects both.
///
/// On Apple systems the sync is `F_FULLFSYNC`, which SQLite only uses with `PRAGMA fullfsync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
        Ok(FsyncProbe { overwrite: SyncLatency::of(overwrites), append: SyncLatency::of(appends) })
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
        let per_mille = |share: usize| {
            let rank = (times.len() * share).div_ceil(1000).max(1);
            times.get(rank - 1).copied().unwrap_or(0)
        };
        SyncLatency {
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
        let of = SyncLatency::of((1..=2000).rev().collect());
        let all = [of.min_ns, of.p10_ns, of.p50_ns, of.p90_ns, of.p99_ns, of.p999_ns, of.max_ns];
        assert_eq!(all, [1, 200, 1000, 1800, 1980, 1998, 2000]);
        let few = SyncLatency::of(vec![7, 3]);
        assert_eq!((few.writes, few.min_ns, few.p50_ns, few.p90_ns, few.p999_ns), (2, 3, 3, 7, 7));
        assert_eq!(SyncLatency::of(vec![]), SyncLatency::default());
    }

    #[test]
    fn the_latency_in_a_run_file_of_before_is_read() {
        let text = r#"{"writes":100,"p50_ns":1,"p99_ns":2,"max_ns":3,"per_second":500.0}"#;
        let expected = SyncLatency { writes: 100, p50_ns: 1, p99_ns: 2, max_ns: 3, ..SyncLatency::default() };
        assert_eq!(serde_json::from_str::<SyncLatency>(text).unwrap(), expected);
    }

    #[test]
    fn a_real_directory_within_its_bounds() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let config = FsyncConfig { writes: 20, limit: Duration::from_millis(300) };
        let probe = FsyncProbe::run(dir.path(), config).unwrap();
        for latency in [probe.overwrite, probe.append] {
            assert!((1..=20).contains(&latency.writes), "{latency:?}");
            assert!(0 < latency.min_ns && latency.min_ns <= latency.p50_ns && latency.p50_ns <= latency.p99_ns);
            assert!(latency.p99_ns <= latency.max_ns, "{latency:?}");
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
