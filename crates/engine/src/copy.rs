//! Fresh copies of a database for a trial, synced to storage before the trial begins.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use litelab_observe::{JOURNAL_MAGIC, WalFile, sidecar};

use crate::error::EngineError;

/// Copies the closed database `from` to `to`, which must not exist, and syncs the file and its directory, so that the
/// kernel has no page of the copy left to write during a trial. The copy gets its name when it is complete. It shares
/// blocks with the original where the file system can (`copy_file_range`).
///
/// Neither file may be open in this process through SQLite: closing a file descriptor here would drop SQLite's locks
/// (see [`litelab_observe`]).
///
/// # Errors
/// If the source has a log or journal with content, and so is not the complete database; if the destination exists, or
/// a log or journal that SQLite would use for the copy; if a file cannot be read or written. No file is left at the
/// destination.
pub fn copy_database(from: &Path, to: &Path) -> Result<(), EngineError> {
    refuse_unclean(from)?;
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let path = sidecar(to, suffix);
        if path.symlink_metadata().is_ok() {
            return Err(exists(&path));
        }
    }
    let failed = |e: io::Error| EngineError::io("copy this database", from, &e);
    let mut source = File::open(from).map_err(failed)?;
    let metadata = source.metadata().map_err(failed)?;
    place(to, metadata.len(), |file| {
        if io::copy(&mut source, file)? != metadata.len() {
            return Err(io::Error::other("the database changed its length while it was copied"));
        }
        file.set_permissions(metadata.permissions())
    })
}

fn refuse_unclean(from: &Path) -> Result<(), EngineError> {
    let unclean = |beside: &Path| {
        Err(EngineError::BadInput(format!(
            "{} holds transactions that are not in {} itself: close every connection after \
             `PRAGMA wal_checkpoint(TRUNCATE)`, or copy with VACUUM INTO",
            beside.display(),
            from.display()
        )))
    };
    let wal = sidecar(from, "-wal");
    match WalFile::read(&wal).map_err(|e| EngineError::io("read this log", &wal, &e))? {
        Some(log) if log.frames() != Some(0) => return unclean(&wal),
        _ => {}
    }
    let journal = sidecar(from, "-journal");
    let mut start = Vec::new();
    match File::open(&journal).and_then(|file| file.take(8).read_to_end(&mut start)) {
        Ok(_) if start == JOURNAL_MAGIC => unclean(&journal),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(EngineError::io("read this journal", &journal, &error)),
    }
}

/// Lets `fill` write a temporary file, syncs it, renames it to `to` and syncs the directory.
fn place(to: &Path, bytes: u64, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), EngineError> {
    let dir = match to.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let what = format!("make a copy of {bytes} bytes");
    let failed = |e: io::Error| EngineError::io(&what, to, &e);
    // Deleted on drop, and so on every error below.
    let mut scratch = tempfile::Builder::new().prefix(".litelab-copy-").tempfile_in(dir).map_err(failed)?;
    fill(scratch.as_file_mut()).map_err(failed)?;
    // File systems with delayed allocation report a full disk here at the latest.
    scratch.as_file().sync_all().map_err(failed)?;
    scratch.persist_noclobber(to).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => exists(to),
        _ => failed(error.error),
    })?;
    if let Err(error) = sync_directory(dir) {
        // Best effort: the first error is the one to report.
        let _ = std::fs::remove_file(to);
        return Err(failed(error));
    }
    Ok(())
}

fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn exists(path: &Path) -> EngineError {
    EngineError::BadInput(format!("{} exists already: remove it, or choose another directory", path.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn files_in(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_copy_has_the_same_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let [from, to] = ["a.db", "b.db"].map(|name| dir.path().join(name));
        // The length is no multiple of a block, and all blocks differ.
        let content: Vec<u8> = (0..700_000u32).flat_map(u32::to_le_bytes).skip(3).collect();
        std::fs::write(&from, &content).unwrap();
        copy_database(&from, &to).unwrap();
        assert!(std::fs::read(&to).unwrap() == content);
        assert_eq!(files_in(dir.path()), ["a.db", "b.db"]);
    }

    #[test]
    fn permissions_are_the_original_s() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let [from, to] = ["a.db", "b.db"].map(|name| dir.path().join(name));
        std::fs::write(&from, "").unwrap();
        std::fs::set_permissions(&from, PermissionsExt::from_mode(0o640)).unwrap();
        copy_database(&from, &to).unwrap();
        assert_eq!(to.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_full_disk_is_recognised_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("b.db");
        let full = |errno: i32| {
            place(&to, 7, |file| {
                file.write_all(b"half a d")?;
                Err(io::Error::from_raw_os_error(errno))
            })
            .unwrap_err()
        };
        for errno in [libc::ENOSPC, libc::EDQUOT] {
            let text = full(errno).to_string();
            let says = ["b.db: cannot make a copy of 7 bytes", "free some space"];
            assert!(says.iter().all(|part| text.contains(part)), "{text}");
        }
        let other = full(5).to_string();
        assert!(other.contains("os error 5") && !other.contains("free some space"), "{other}");
        assert_eq!(files_in(dir.path()), [""; 0]);
    }

    #[test]
    fn a_database_that_is_more_than_its_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("a.db");
        let wal = sidecar(&from, "-wal");
        let open = rusqlite::Connection::open(&from).unwrap();
        open.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t(x);").unwrap();
        // In another folder, because opening and closing these files would drop the locks of the open connection.
        let other = dir.path().join("other.db");
        std::fs::write(&other, "").unwrap();
        std::fs::copy(&wal, sidecar(&other, "-wal")).unwrap();
        drop(open);
        let error = copy_database(&other, &dir.path().join("b.db")).unwrap_err();
        assert!(error.is_bad_input() && error.to_string().contains("wal_checkpoint"), "{error}");
        // Closing the connection removes the log, and the file is the complete database.
        copy_database(&from, &dir.path().join("b.db")).unwrap();
        let copy = rusqlite::Connection::open(dir.path().join("b.db")).unwrap();
        assert_eq!(copy.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    }

    #[test]
    fn a_hot_journal_is_refused_and_a_kept_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("a.db");
        std::fs::write(&from, "x").unwrap();
        std::fs::write(sidecar(&from, "-journal"), [&JOURNAL_MAGIC[..], &[0; 100]].concat()).unwrap();
        let refused = copy_database(&from, &dir.path().join("b.db")).unwrap_err();
        assert!(refused.to_string().contains("a.db-journal holds transactions"), "{refused}");
        std::fs::write(sidecar(&from, "-journal"), [0; 108]).unwrap();
        copy_database(&from, &dir.path().join("b.db")).unwrap();
    }

    #[test]
    fn the_journal_magic_is_sqlite_s_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let open = rusqlite::Connection::open(&path).unwrap();
        open.execute_batch(
            "PRAGMA cache_size=1; CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(50000));
             BEGIN; UPDATE t SET x=zeroblob(60000);",
        )
        .unwrap();
        open.cache_flush().unwrap();
        let journal = std::fs::read(sidecar(&path, "-journal")).unwrap();
        assert_eq!(journal[..8], JOURNAL_MAGIC);
    }

    #[test]
    fn what_is_there_is_never_overwritten_or_adopted() {
        let dir = tempfile::tempdir().unwrap();
        let [from, to] = ["a.db", "b.db"].map(|name| dir.path().join(name));
        std::fs::write(&from, "new").unwrap();
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let leftover = sidecar(&to, suffix);
            std::fs::write(&leftover, "old").unwrap();
            let refused = copy_database(&from, &to).unwrap_err();
            assert!(refused.to_string().starts_with(&format!("{} exists", leftover.display())), "{refused}");
            assert_eq!(std::fs::read(&leftover).unwrap(), b"old");
            std::fs::remove_file(leftover).unwrap();
        }
        assert_eq!(files_in(dir.path()), ["a.db"]);
    }

    #[test]
    fn absent_source_and_absent_directory() {
        let dir = tempfile::tempdir().unwrap();
        let absent = copy_database(&dir.path().join("no.db"), &dir.path().join("b.db")).unwrap_err();
        assert!(absent.to_string().contains("no.db: cannot copy this database"), "{absent}");
        std::fs::write(dir.path().join("a.db"), "x").unwrap();
        assert!(copy_database(&dir.path().join("a.db"), &dir.path().join("no/b.db")).is_err());
        assert_eq!(files_in(dir.path()), ["a.db"]);
    }
}
