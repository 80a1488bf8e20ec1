//! How a provider is opened.

use std::path::Path;
use std::sync::Arc;

pub use onewriter::Durability;

use crate::error::Error;
use crate::provider::OneWriter;
use crate::store::{Durable, Store, Volatile};

/// How a provider is opened: durable, with long polls.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) durability: Durability,
    pub(crate) readers: usize,
    pub(crate) polling: Polling,
    pub(crate) acks: Acks,
    pub(crate) cache: usize,
}

/// What a fetch does that finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Polling {
    /// Waits, as long as the runtime lets it, to be notified.
    #[default]
    Long,
    /// Returns at once, so that the runtime polls: the state of affairs without notification, to compare with.
    Short,
}

/// When the runtime's dispatchers are told that what they acknowledge is kept: `ack_orchestration_item`, `ack_work_item`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acks {
    /// When it is on the disk.
    #[default]
    Awaited,
    /// When it stands in line for the next commit, so that a dispatcher does not wait for the disk. Whatever has an effect still
    /// does: no activity is executed, no client is told or shown anything, and no history is handed out, before what it comes of
    /// is on the disk; clients' calls and reads are as with `Awaited`, and who asks for what is under way waits for it.
    ///
    /// A turn has no effect but what it acknowledges, so it does not wait either: it may have a message, and what the last of an
    /// instance's activities has come to, as soon as that stands in line. What it acknowledges stands behind it there, and is
    /// refused where that is.
    ///
    /// A process that dies in between has done no more than one that died a moment earlier, and the activity or turn is done
    /// again. So it is where the disk refuses: the dispatcher has been told otherwise then, and the work is there for the next
    /// one.
    Ordered,
}

impl Default for Options {
    fn default() -> Self {
        Self { durability: Durability::Full, readers: 2, polling: Polling::Long, acks: Acks::Awaited, cache: 64 << 20 }
    }
}

impl Options {
    /// What an acknowledged call survives. Default: a loss of power.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Connections that read histories which are not in memory. Default: 2.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// What a fetch does that finds nothing.
    #[must_use]
    pub fn polling(mut self, polling: Polling) -> Self {
        self.polling = polling;
        self
    }

    /// When an acknowledgement returns. Default: when what it acknowledges is durable.
    #[must_use]
    pub fn acks(mut self, acks: Acks) -> Self {
        self.acks = acks;
        self
    }

    /// Bytes of histories and values that stay in memory; default: 64 MiB. The least recently used go first, and are read
    /// again when they are needed; those that a dispatcher has in hand stay.
    #[must_use]
    pub fn cache(mut self, bytes: usize) -> Self {
        self.cache = bytes;
        self
    }

    /// Opens the database in this file, which is created where it is absent.
    ///
    /// # Errors
    /// Where another process has it open, or it cannot be opened.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<OneWriter, Error> {
        let durable = Arc::new(Durable::open(path, self)?);
        let mut provider = self.open_on(Arc::clone(&durable) as Arc<dyn Store>)?;
        provider.durable = Some(durable);
        Ok(provider)
    }

    /// The same provider without storage.
    ///
    /// # Errors
    /// Where the operating system gives no thread.
    pub fn volatile(&self) -> Result<OneWriter, Error> {
        self.open_on(Arc::new(Volatile))
    }

    /// On a store of the caller's own.
    ///
    /// # Errors
    /// Where what the store has kept cannot be read.
    pub fn open_on(&self, store: Arc<dyn Store>) -> Result<OneWriter, Error> {
        OneWriter::new(self, store)
    }
}
