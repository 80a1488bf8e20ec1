//! The store on disk.

mod read;
pub mod schema;
mod write;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use duroxide::providers::SystemMetrics;
use onewriter::{Counters, Database};

use crate::change::Change;
use crate::core::listing::Selection;
use crate::core::record::Record;
use crate::core::recovered::Recovered;
use crate::error::{Error, StoreError};
use crate::options::Options;
use crate::store::{Loaded, Store};

/// A store in one SQLite file, through [`onewriter`]: concurrent changes share one commit, and each caller is answered
/// after it.
pub struct Durable {
    database: Database,
    /// Lock file, locked while this process owns the database.
    owner: Mutex<Option<File>>,
}

impl Durable {
    /// Opens the file for this process alone, and creates it if it does not exist.
    ///
    /// # Errors
    /// If another process has it open, it belongs to another program, or it cannot be opened.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        let path = path.as_ref();
        // The lock belongs to the file, not to one of the paths that lead to it. A file that does not exist yet is
        // created, so that its path can be resolved; what is wrong with the path is reported when the database is opened.
        // One that exists is not opened: closing it would drop the locks of SQLite's connections in this process.
        drop(File::create_new(path));
        if path.canonicalize().is_err() {
            // A link to a file that does not exist.
            drop(File::options().create(true).truncate(false).write(true).open(path));
        }
        let path = &path.canonicalize().unwrap_or_else(|_| path.into());
        let owner = own(path)?;
        let database = onewriter::Options::new(path).durability(options.durability).readers(options.readers).open()?;
        schema::prepare(&database, path)?;
        Ok(Self { database, owner: Mutex::new(Some(owner)) })
    }

    /// Returns the database, for example to inspect the settings of its connections.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Returns the counters of the database: writes, commits, checkpoints.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.database.counters()
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        // Close before the lock is released, so that the next owner finds all data in the file.
        let _too_late = self.close();
    }
}

/// Locks the file `<path>-owner`. The operating system releases the lock when the process ends, however it ends.
fn own(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push("-owner");
    let name = PathBuf::from(name);
    let file = File::options().create(true).truncate(false).write(true).open(&name);
    let file = file.map_err(|source| Error::Owner { path: name.clone(), source })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::Owned { path: path.into() }),
        Err(std::fs::TryLockError::Error(source)) => Err(Error::Owner { path: name, source }),
    }
}

#[async_trait]
impl Store for Durable {
    fn keeps(&self) -> bool {
        true
    }

    fn recover(&self) -> Result<Recovered, StoreError> {
        self.database.read_with(read::recover)
    }

    async fn commit(&self, change: Change) -> Result<(), StoreError> {
        if change.rows().is_empty() {
            return Ok(());
        }
        // A change is rarely rejected, and can be written again after one of another caller was.
        let change = Arc::new(change);
        let written = change.clone();
        self.database.write_repeatable_async(move |tx| write::apply(tx, &written)).await?;
        // The last owner, so that the writer thread does not free the memory of the change.
        drop(change);
        Ok(())
    }

    async fn load(&self, instance: i64, execution: u64) -> Result<Loaded, StoreError> {
        self.database.read_with_async(move |connection| read::load(connection, instance, execution)).await
    }

    async fn output(&self, instance: i64, execution: u64) -> Result<Option<String>, StoreError> {
        self.database.read_with_async(move |connection| read::output(connection, instance, execution)).await
    }

    async fn find(&self, name: &str) -> Result<Option<(i64, Record)>, StoreError> {
        let name = name.to_owned();
        self.database.read_with_async(move |connection| read::find(connection, &name)).await
    }

    async fn list(&self, selection: Selection) -> Result<Vec<String>, StoreError> {
        self.database.read_with_async(move |connection| read::list(connection, &selection)).await
    }

    async fn children(&self, name: &str) -> Result<Vec<String>, StoreError> {
        let name = name.to_owned();
        self.database.read_with_async(move |connection| read::children(connection, &name)).await
    }

    async fn metrics(&self) -> Result<SystemMetrics, StoreError> {
        self.database.read_with_async(read::metrics).await
    }

    fn close(&self) -> Result<(), StoreError> {
        // Locked before, so that a concurrent call waits, and does not release the file too early.
        let mut owner = self.owner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let closed = self.database.clone().close().map_err(StoreError::from);
        *owner = None;
        closed
    }
}

impl From<onewriter::Error> for StoreError {
    fn from(error: onewriter::Error) -> Self {
        use rusqlite::ffi::{SQLITE_CONSTRAINT, SQLITE_CORRUPT, SQLITE_NOTADB};
        // The primary code is in the low byte (https://sqlite.org/rescode.html).
        let code = error.code().map(|code| code & 0xff);
        let is_for_good = matches!(code, Some(SQLITE_CONSTRAINT | SQLITE_CORRUPT | SQLITE_NOTADB));
        let is_ours = matches!(error, onewriter::Error::Closed | onewriter::Error::Panicked(_));
        Self { what: error.to_string(), retryable: !is_for_good && !is_ours }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        onewriter::Error::from(error).into()
    }
}
