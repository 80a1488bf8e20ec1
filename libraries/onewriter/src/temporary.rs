//! Databases for tests, removed when they are closed.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A folder that is removed on drop.
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    pub fn new() -> Result<Self> {
        loop {
            let number = RandomState::new().hash_one(std::process::id());
            let path = std::env::temp_dir().join(format!("onewriter-{number:016x}"));
            match create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::Open { path, source: error.into() }),
            }
        }
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("temporary.db")
    }
}

/// Creates a folder for this user alone.
fn create(path: &Path) -> std::io::Result<()> {
    let mut folder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(path)
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What a test leaves behind is no reason to fail it.
        let _left = fs::remove_dir_all(&self.0);
    }
}
