//! Inter-process locks by lock files.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// An exclusive lock, released on drop or when the process ends in any way. The operating system holds it (flock(2)):
/// unlike a process id, it is valid in every container that shares the directory. Dropping it removes the file.
///
/// The lock needs a separate file. A lock on a database would conflict with SQLite's locks on file systems that emulate
/// one kind by the other (NFS), and closing its descriptor would drop SQLite's locks.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    path: PathBuf,
}

impl Lock {
    /// Acquires the lock of a file, which is created if missing; `None` if another process or handle holds it.
    ///
    /// # Errors
    /// If the file cannot be created or opened, or the file system does not support locks.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        loop {
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(e)) => return Err(e),
            }
            // The previous holder may have removed the file between `open` and `try_lock`.
            let held = file.metadata()?;
            if std::fs::metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (held.dev(), held.ino())) {
                return Ok(Some(Self { _file: file, path: path.to_path_buf() }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while the lock is held, so that it cannot be the file of another holder.
        let _gone = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_by_one_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path).unwrap().expect("nobody holds it");
        assert!(Lock::take(&path).unwrap().is_none());
        drop(first);
        assert!(!path.exists());
        // A killed process leaves the file behind.
        std::fs::write(&path, "").unwrap();
        assert!(Lock::take(&path).unwrap().is_some());
        assert!(!path.exists());
        assert!(Lock::take(&folder.path().join("absent/lock")).is_err());
    }
}
