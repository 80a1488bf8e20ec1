//! Backups, checkpoints, and the configuration of SQLite.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ffi};

use crate::checkpoint::truncate_now;
use crate::connection::{self, Purpose};
use crate::database::Database;
use crate::error::{Error, Result};

/// Number of backups that this process has begun.
static BACKUPS: AtomicU64 = AtomicU64::new(0);

impl Database {
    /// Copies the database as it is now to a file, synced to the disk, while reads and writes go on. An existing file is
    /// replaced when the copy is complete; a process that is killed before leaves a file that ends in `.partial`.
    ///
    /// The copy is a read in the thread of the caller, with a connection of its own. The write-ahead log grows while it
    /// lasts. In asynchronous code run it in a thread for blocking calls.
    ///
    /// # Errors
    /// If the file cannot be written, or has a log beside it (`-wal`, `-journal`): it is a database in use, such as this
    /// one, or one that was not closed.
    pub fn backup_to(&self, path: impl AsRef<Path>) -> Result<()> {
        self.shared().check_fork()?;
        if self.shared().queue.is_closed() {
            return Err(Error::Closed);
        }
        let path = path.as_ref();
        for end in ["-wal", "-journal"] {
            let mut beside = path.as_os_str().to_owned();
            beside.push(end);
            if Path::new(&beside).exists() {
                let why = "it has a log, which SQLite would apply to the copy: it is open, or was not closed";
                return Err(Error::Open { path: path.into(), source: why.into() });
            }
        }
        let mut name = path.as_os_str().to_owned();
        // Backups to one file may run at the same time, also in several processes.
        let number = BACKUPS.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}-{number}.partial", std::process::id()));
        let partial = Path::new(&name);
        let wrong = |error: std::io::Error| Error::Open { path: partial.into(), source: error.into() };
        let copied = self.copy_to(partial).and_then(|()| {
            // Windows syncs no file that is open for reading only.
            OpenOptions::new().write(true).open(partial).and_then(|file| file.sync_all()).map_err(wrong)?;
            fs::rename(partial, path).map_err(wrong)?;
            // The name of the file is in its folder, which Unix syncs like a file.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if cfg!(unix) { File::open(folder).and_then(|folder| folder.sync_all()).map_err(wrong) } else { Ok(()) }
        });
        if copied.is_err() {
            let _gone = fs::remove_file(partial);
        }
        copied
    }

    fn copy_to(&self, path: &Path) -> Result<()> {
        let source = connection::open(&self.shared().options, Purpose::Read)?;
        let mut copy = Connection::open(path)?;
        // All pages in one step, which is one read transaction.
        let backup = Backup::new(&source, &mut copy)?;
        match backup.step(-1)? {
            StepResult::Done => Ok(()),
            _ => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None).into()),
        }
    }

    /// Carries the whole write-ahead log over to the database file and truncates it, between two commits. Returns
    /// whether that was possible: a reader or another checkpoint can prevent it.
    ///
    /// # Errors
    /// As for [`Database::exclusive`].
    pub fn checkpoint(&self) -> Result<bool> {
        let counters = self.shared().counters.clone();
        self.exclusive(move |connection| {
            let done = truncate_now(connection)?;
            if done {
                counters.cut();
            }
            Ok(done)
        })
    }
}

/// Makes SQLite allocate the pages of a cache one by one, for the whole process. Call it before the first connection
/// is opened.
///
/// By default SQLite allocates the first 20 pages of each cache at once. It opens a cache for each temporary table,
/// as it needs for `RETURNING`, for `IN (1, 2)` and for some sorts, at each execution. glibc returns a block of that
/// size to the system when it is freed, and the next one is mapped and zeroed again: with several threads, this takes
/// longer than a short statement. Allocators such as mimalloc and jemalloc do not do this.
///
/// # Errors
/// `SQLITE_MISUSE` if SQLite is in use already.
pub fn allocate_pages_singly() -> Result<()> {
    // SAFETY: SQLite refuses the call after its initialization. That no other thread initializes it meanwhile is the
    // condition in the documentation.
    #[expect(unsafe_code, reason = "rusqlite has no function for it")]
    let code = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_PAGECACHE, std::ptr::null_mut::<u8>(), 0, 0) };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()),
    }
}
