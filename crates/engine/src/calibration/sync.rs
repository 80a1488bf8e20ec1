//! Measurement of synchronous writes.

use std::io;
use std::path::Path;

use litelab_observe::environment::{FsyncConfig, FsyncProbe};
use litelab_record::calibration::{SyncDistribution, SyncQuantiles};

/// Measures synchronous writes in an existing directory until a limit in `bounds` is reached.
///
/// # Errors
/// If the files cannot be created, written or synced.
pub fn sync(dir: &Path, bounds: FsyncConfig) -> io::Result<SyncDistribution> {
    let (mut overwrite, mut append) = FsyncProbe::times(dir, bounds)?;
    Ok(SyncDistribution { overwrite: SyncQuantiles::of(&mut overwrite), append: SyncQuantiles::of(&mut append) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_directory_within_its_bounds() {
        let dir = tempfile::tempdir().expect("a directory");
        let bounds = FsyncConfig { writes: 10, limit: std::time::Duration::from_secs(5) };
        let of = sync(dir.path(), bounds).expect("measured");
        assert!((1..=10).contains(&of.append.writes));
        assert!(0 < of.overwrite.min_ns && of.overwrite.p50_ns <= of.overwrite.max_ns);
        assert!(sync(Path::new("/nonexistent/x"), bounds).is_err());
    }
}
