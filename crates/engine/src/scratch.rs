//! Scratch folders of this process on the disk under test, and removal of those left by killed processes.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use litelab_observe::temporary::Registered;
use litelab_record::Lock;
use tempfile::TempDir;

use crate::error::EngineError;

/// Prefix of the names of all scratch folders.
const PREFIX: &str = ".scratch-";
/// Name of the lock file in each folder, locked by its process.
const LOCK: &str = "lock";

/// A scratch folder, removed on drop. After a kill, the next folder created in the same directory removes it: its lock
/// is free then. Locks also work between containers, where process ids have no meaning.
#[derive(Debug)]
pub struct Folder {
    // Declared first, so that the folder is removed before its lock is released.
    folder: TempDir,
    _registered: Registered,
    _lock: Lock,
}

impl Folder {
    /// Creates a folder with mode 0700 in an existing directory, and removes abandoned ones.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn make(directory: &Path) -> io::Result<Self> {
        Self::with_mode(directory, 0o700)
    }

    /// Like [`Folder::make`], with the given mode.
    ///
    /// # Errors
    /// Those of [`Folder::make`].
    pub fn with_mode(directory: &Path, mode: u32) -> io::Result<Self> {
        remove_stale(directory);
        let prefix = prefix();
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).permissions(PermissionsExt::from_mode(mode));
        // Another thread or process may remove the folder as abandoned before its lock is taken.
        let (folder, lock) = loop {
            let folder = builder.tempdir_in(directory)?;
            match Lock::take(&folder.path().join(LOCK)) {
                Ok(Some(lock)) => break (folder, lock),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound && directory.exists() => {}
                Err(error) => return Err(error),
            }
        };
        Ok(Self { _registered: Registered::new(folder.path()), folder, _lock: lock })
    }

    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Scratch folders of a run on the disk under test.
#[derive(Debug)]
pub(crate) struct Scratch {
    _folder: Folder,
    /// Absolute path, because runners have another working directory.
    pub root: PathBuf,
    /// Folder of prepared databases.
    pub prepared: PathBuf,
    /// Folder of the current trial.
    pub trial: PathBuf,
    /// Folder of the samples of a trial under `perf`.
    pub flame: PathBuf,
}

impl Scratch {
    /// Creates the directory if it is missing, and a writable folder in it.
    ///
    /// # Errors
    /// If the folder cannot be created or written.
    pub fn make(directory: &Path) -> Result<Self, EngineError> {
        let failed = |what: &'static str| move |e: io::Error| EngineError::io(what, directory, &e);
        std::fs::create_dir_all(directory).map_err(failed("make this directory"))?;
        let folder = Folder::make(directory).map_err(failed("make a scratch folder in this directory"))?;
        let root = std::path::absolute(folder.path()).map_err(failed("find this directory"))?;
        let [prepared, trial, flame] = ["prepared", "trial", "flame"].map(|name| root.join(name));
        for path in [&prepared, &trial, &flame] {
            std::fs::create_dir(path).map_err(failed("make a scratch folder in this directory"))?;
        }
        // Detects a full disk before the run.
        let written =
            tempfile::tempfile_in(&root).and_then(|mut f| f.write_all(&[0; 4096]).and_then(|()| f.sync_all()));
        written.map_err(failed("write to this directory"))?;
        Ok(Self { _folder: folder, root, prepared, trial, flame })
    }
}

/// Prefix of the names of this process's folders, unique among processes of all containers.
#[must_use]
pub fn prefix() -> String {
    static TOKEN: OnceLock<u64> = OnceLock::new();
    let token = TOKEN.get_or_init(|| RandomState::new().hash_one(std::process::id()));
    format!("{PREFIX}{}-{token:016x}-", std::process::id())
}

/// Whether a name begins as [`prefix`] makes it.
fn is_prefixed(name: &str) -> bool {
    let mut parts = name.strip_prefix(PREFIX).unwrap_or_default().splitn(3, '-');
    let is_pid = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_token = |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.next().is_some_and(is_pid) && parts.next().is_some_and(is_token) && parts.next().is_some()
}

/// Removes abandoned folders of the current user, and stops servers in them whose guard process was killed too.
pub fn remove_stale(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_str().is_some_and(is_prefixed);
        let is_own = entry.metadata().is_ok_and(|about| about.is_dir() && about.uid() == user());
        if is_named && is_own {
            let folder = entry.path();
            if let Some(_lock) = left(&folder) {
                crate::servers::end_in(&folder);
                let _left = std::fs::remove_dir_all(&folder);
            }
        }
    }
}

/// Whether a folder is abandoned; the result holds the folder's lock if it has a lock file.
fn left(folder: &Path) -> Option<Option<Lock>> {
    // A kill before the lock leaves an empty folder. Otherwise its owner is about to take the lock, and then creates
    // another folder.
    if std::fs::remove_dir(folder).is_ok() {
        return None;
    }
    let lock = folder.join(LOCK);
    if lock.exists() {
        return Lock::take(&lock).ok().flatten().map(Some);
    }
    // The owner creates the lock first; without it, a removal was interrupted.
    Some(None)
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    #[test]
    fn folders_made_at_the_same_time_are_not_taken_for_left_ones() {
        let directory = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let folder = Folder::make(directory.path()).unwrap();
                        assert!(folder.path().join(LOCK).exists());
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_is_removed_when_its_lock_is_free_whatever_its_number_says() {
        let directory = tempfile::tempdir().unwrap();
        let live = Folder::make(directory.path()).unwrap();
        std::fs::write(live.path().join("x"), "").unwrap();
        // A folder of a process in another container: its process id does not exist here, but its lock is held.
        let other = directory.path().join(".scratch-4194305-0123456789abcdef-x");
        std::fs::create_dir(&other).unwrap();
        let held = Lock::take(&other.join(LOCK)).unwrap().unwrap();
        // A folder of a killed process: its lock is free, although this process now has its process id.
        let killed = directory.path().join(format!("{}x", prefix()));
        std::fs::create_dir_all(killed.join("deep")).unwrap();
        std::fs::write(killed.join(LOCK), "").unwrap();
        // Killed before it had a lock, and while it was removed.
        let empty = directory.path().join(".scratch-4194305-0123456789abcdef-empty");
        std::fs::create_dir(&empty).unwrap();
        let partial = directory.path().join(".scratch-4194305-0123456789abcdef-partial");
        std::fs::create_dir_all(partial.join("trial")).unwrap();
        let foreign = ["scratch-1-x", ".scratch-notes", ".scratch-1-notes-x"].map(|name| directory.path().join(name));
        foreign.iter().for_each(|path| std::fs::create_dir_all(path.join("deep")).unwrap());
        remove_stale(directory.path());
        assert!(live.path().join("x").exists() && other.exists());
        assert!(foreign.iter().all(|path| path.exists()), "folders of the user");
        assert!(!killed.exists() && !empty.exists() && !partial.exists());
        drop(held);
        std::fs::write(other.join(LOCK), "").unwrap();
        remove_stale(directory.path());
        assert!(!other.exists());
        let path = live.path().to_path_buf();
        drop(live);
        assert!(!path.exists());
    }

    /// The servers of a litelab that was killed together with their guard.
    #[cfg(feature = "servers")]
    #[test]
    fn a_server_that_nobody_watches_over_ends_before_its_folder_goes() {
        use litelab_servers::instance::{binaries, up};
        use litelab_servers::{Kind, Options};
        if let Err(e) = binaries::find(Kind::Postgres) {
            println!("skipped: {e}");
            return;
        }
        let directory = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir().unwrap();
        let left = directory.path().join(".scratch-4194305-0123456789abcdef-x");
        std::fs::create_dir(&left).unwrap();
        let (state, former) = up(Kind::Postgres, &left.join("postgres"), &Options::default()).unwrap();
        assert_eq!(former, None);
        std::fs::write(left.join(LOCK), "").unwrap();
        remove_stale(directory.path());
        assert!(!left.exists() && !state.nodes[0].lives());
    }
}
