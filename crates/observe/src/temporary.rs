//! Temporary files and folders that are removed on drop, or by [`remove_all`] if the program ends without it.

use std::io;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile, TempDir};

/// Existing ones of this process.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Registration of a file or folder for [`remove_all`]; ends on drop.
#[derive(Debug)]
pub struct Registered(PathBuf);

impl Registered {
    /// Registers a path that exists.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        own().push(path.to_path_buf());
        Self(path.to_path_buf())
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        own().retain(|path| *path != self.0);
    }
}

/// A registered temporary file or folder.
#[derive(Debug)]
pub struct Temporary<T> {
    // Declared first, so that it is removed before its registration ends.
    inner: T,
    _registered: Registered,
}

impl Temporary<TempDir> {
    /// Creates a folder in the system's folder for temporary files.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn folder() -> io::Result<Self> {
        let inner = Builder::new().prefix("litelab-").tempdir()?;
        Ok(Self { _registered: Registered::new(inner.path()), inner })
    }
}

impl Temporary<NamedTempFile> {
    /// Creates a file whose name begins with `prefix`.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn file_in(folder: &Path, prefix: &str) -> io::Result<Self> {
        let inner = Builder::new().prefix(prefix).tempfile_in(folder)?;
        Ok(Self { _registered: Registered::new(inner.path()), inner })
    }
}

impl<T> Deref for Temporary<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for Temporary<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// Removes all registered files and folders, for a program that is about to end without running destructors.
pub fn remove_all() {
    for path in own().iter() {
        let _left = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}

fn own() -> MutexGuard<'static, Vec<PathBuf>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}
