//! A run's own folder on the disk under test, and what others of its kind are told apart by.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::EngineError;

/// Removed when the run ends, however it ends short of a kill.
pub(crate) struct Scratch {
    _folder: TempDir,
    /// For prepared databases.
    pub prepared: PathBuf,
    /// For the trial that runs.
    pub trial: PathBuf,
    /// For the samples of a trial under `perf`.
    pub flame: PathBuf,
}

impl Scratch {
    /// Makes it within a directory, and removes those of runs that were killed.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make(directory: &Path) -> Result<Self, EngineError> {
        let failed = |e: std::io::Error| EngineError::io("make a scratch folder in it", directory, &e);
        remove_stale(directory);
        let prefix = prefix();
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(directory).map_err(failed)?;
        // Runners work in another directory, so every path they are given is absolute.
        let root = std::path::absolute(folder.path()).map_err(failed)?;
        let [prepared, trial, flame] = ["prepared", "trial", "flame"].map(|name| root.join(name));
        for path in [&prepared, &trial, &flame] {
            std::fs::create_dir(path).map_err(failed)?;
        }
        Ok(Self { _folder: folder, prepared, trial, flame })
    }
}

/// What the names of this process's folders begin with: others find by it whether their process is gone.
#[must_use]
pub fn prefix() -> String {
    format!(".scratch-{}-", std::process::id())
}

/// Removes scratch folders whose process is gone: a killed run cannot clean up after itself.
pub fn remove_stale(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|n| n.strip_prefix(".scratch-")) else { continue };
        let pid = rest.split('-').next().unwrap_or_default();
        let is_number = !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit());
        // Where /proc is absent nothing can be known, and nothing is removed.
        if is_number && Path::new("/proc/self").exists() && !Path::new("/proc").join(pid).exists() {
            let _left = std::fs::remove_dir_all(entry.path());
        }
    }
}
