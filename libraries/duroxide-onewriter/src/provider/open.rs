//! Opening a provider. A part of [`provider`](crate::provider), so that [`options`](crate::options) needs no other module.

use std::path::Path;
use std::sync::Arc;

use crate::error::Error;
use crate::options::Options;
use crate::provider::OneWriter;
use crate::store::{Durable, Store, Volatile};

impl Options {
    /// Opens the database in this file, which is created if it does not exist. Blocks while it reads the queues and the
    /// running instances.
    ///
    /// # Errors
    /// If another process has it open, or it cannot be opened.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<OneWriter, Error> {
        let durable = Arc::new(Durable::open(path, self)?);
        let mut provider = self.open_on(Arc::clone(&durable) as Arc<dyn Store>)?;
        provider.durable = Some(durable);
        Ok(provider)
    }

    /// Creates the same provider without storage.
    ///
    /// # Errors
    /// If the clock thread cannot be started.
    pub fn volatile(&self) -> Result<OneWriter, Error> {
        self.open_on(Arc::new(Volatile))
    }

    /// Opens the provider on a custom store.
    ///
    /// # Errors
    /// If the stored state cannot be read, or the clock thread cannot be started.
    pub fn open_on(&self, store: Arc<dyn Store>) -> Result<OneWriter, Error> {
        OneWriter::new(self, store)
    }
}
