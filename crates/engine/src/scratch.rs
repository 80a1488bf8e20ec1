//! A run's own folder on the disk under test, and what others of its kind are told apart by.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use litelab_servers::Kind;
use litelab_servers::instance::may_enter;
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

/// A folder for servers, which run as users of their own: in `directory`, or where those may not enter it, in the system's
/// folder for temporary files, if that lies on the same file system, so that what is measured is the same disk.
///
/// # Errors
/// When it cannot be made. Where neither will do it is in `directory`, and the server says which folder is closed.
pub fn for_servers(directory: &Path, kind: Kind) -> std::io::Result<TempDir> {
    let elsewhere = std::env::temp_dir();
    let is_closed = may_enter(kind, directory).is_err();
    let there = if is_closed && may_enter(kind, &elsewhere).is_ok() && on_one_disk(directory, &elsewhere) {
        &elsewhere
    } else {
        directory
    };
    let prefix = prefix();
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    builder.permissions(PermissionsExt::from_mode(0o755));
    builder.tempdir_in(there)
}

fn on_one_disk(a: &Path, b: &Path) -> bool {
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    device(a).is_some_and(|dev| device(b) == Some(dev))
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    #[test]
    fn servers_live_where_their_user_may_enter() {
        let mode =
            |folder: &TempDir, mode| std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        if let Err(e) = may_enter(Kind::Postgres, &std::env::temp_dir()) {
            println!("skipped: {e}");
            return;
        }
        mode(&folder, 0o755);
        assert!(for_servers(folder.path(), Kind::Postgres).unwrap().path().starts_with(folder.path()));
        mode(&folder, 0o700);
        // Who is not root runs the server, and may enter what is closed to all others.
        let is_closed = may_enter(Kind::Postgres, folder.path()).is_err();
        let made = for_servers(folder.path(), Kind::Postgres).unwrap();
        assert_eq!(made.path().starts_with(folder.path()), !is_closed);
        may_enter(Kind::Postgres, made.path()).unwrap();
    }
}
