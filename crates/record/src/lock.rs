//! A lock that a process holds by a file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// An exclusive lock, held until it is dropped or the process ends, whichever way that happens. The operating system keeps it
/// (flock(2)): unlike a process number, it means the same in every container that shares the directory. Dropping it removes
/// the file.
///
/// The file is the lock's own. A lock on a database would meet SQLite's on file systems that emulate one kind by the other
/// (NFS), and closing its descriptor would drop SQLite's.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of a file, which is made where it is absent; none where another holds it.
    ///
    /// # Errors
    /// When the file cannot be made or opened, or the file system has no locks.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        loop {
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(e)) => return Err(e),
            }
            // Between the two calls the former holder may have removed the file.
            let held = file.metadata()?;
            if std::fs::metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (held.dev(), held.ino())) {
                return Ok(Some(Self { _file: file, path: path.to_path_buf() }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While the lock is still held: nobody else's file can be there.
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
        // As a killed process leaves it.
        std::fs::write(&path, "").unwrap();
        assert!(Lock::take(&path).unwrap().is_some());
        assert!(!path.exists());
        assert!(Lock::take(&folder.path().join("absent/lock")).is_err());
    }
}
