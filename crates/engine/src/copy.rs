//! Fresh copies of a prepared database for a trial, synced to storage before the trial begins.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::EngineError;

/// Copies the closed database `from` to `to`, which must not exist, and syncs the file and its directory, so that the
/// kernel has no page of the copy left to write during a trial. The copy shares blocks with the original where the file
/// system can (`copy_file_range`).
///
/// Neither file may be open in this process through SQLite: closing a file descriptor here would drop SQLite's locks
/// (see [`litelab_observe`]).
///
/// # Errors
/// If the destination exists, or a file cannot be read or written. An incomplete copy may be left.
pub fn copy_database(from: &Path, to: &Path) -> Result<(), EngineError> {
    let mut source = File::open(from).map_err(|e| EngineError::io("copy this database", from, &e))?;
    let mut copy = || {
        let mut file = File::create_new(to)?;
        io::copy(&mut source, &mut file)?;
        // File systems with delayed allocation report a full disk here at the latest.
        file.sync_all()?;
        to.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    copy().map_err(|e| EngineError::io("make a copy of the prepared database", to, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_same_bytes_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let [from, to] = ["a.db", "b.db"].map(|name| dir.path().join(name));
        // The length is no multiple of a block, and all blocks differ.
        let content: Vec<u8> = (0..700_000u32).flat_map(u32::to_le_bytes).skip(3).collect();
        std::fs::write(&from, &content).unwrap();
        copy_database(&from, &to).unwrap();
        assert!(std::fs::read(&to).unwrap() == content);
        std::fs::write(&from, "other").unwrap();
        let refused = copy_database(&from, &to).unwrap_err();
        assert!(refused.to_string().contains("b.db: cannot make a copy"), "{refused}");
        assert!(std::fs::read(&to).unwrap() == content);
        let absent = copy_database(&dir.path().join("no.db"), &dir.path().join("c.db")).unwrap_err();
        assert!(absent.to_string().contains("no.db: cannot copy this database"), "{absent}");
    }
}
