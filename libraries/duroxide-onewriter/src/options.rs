//! Options for opening a provider.

pub use onewriter::Durability;

/// Options for opening a provider. The defaults are durable, with long polling.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) durability: Durability,
    pub(crate) readers: usize,
    pub(crate) polling: Polling,
    pub(crate) acks: Acks,
    pub(crate) cache: usize,
    pub(crate) ended: usize,
}

/// Behaviour of a fetch that finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Polling {
    /// The fetch waits for a notification, up to the timeout of the runtime.
    #[default]
    Long,
    /// The fetch returns immediately and the runtime polls, like a provider without notification; for comparison.
    Short,
}

/// When `ack_orchestration_item` and `ack_work_item` return to the dispatchers of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acks {
    /// After the commit.
    #[default]
    Awaited,
    /// When the change is queued for the next commit, so that a dispatcher does not wait for the disk.
    ///
    /// Everything with an external effect still waits: activities run, clients receive results, and histories are
    /// returned only after the data that they depend on is on disk. Calls and reads of clients behave as with
    /// [`Acks::Awaited`]; a read of data that is being committed waits for the commit.
    ///
    /// A turn has no effect except its acknowledgement, so it does not wait: it may receive a message, or the
    /// completion of the last outstanding activity of its instance, as soon as that is queued. The acknowledgement of
    /// the turn is queued behind it, and fails if its commit fails.
    ///
    /// If the process dies before the commit, the activity or turn runs again, as if the process had died a moment
    /// earlier. The same holds if the commit fails: the dispatcher has received success, and the work becomes available
    /// again.
    Ordered,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            readers: 2,
            polling: Polling::Long,
            acks: Acks::Awaited,
            cache: 64 << 20,
            ended: 10_000,
        }
    }
}

impl Options {
    /// Failures that an acknowledged call survives. Default: [`Durability::Full`], which survives power loss.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Number of connections that read histories from the file. Default: 2.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Behaviour of a fetch that finds nothing. Default: [`Polling::Long`].
    #[must_use]
    pub fn polling(mut self, polling: Polling) -> Self {
        self.polling = polling;
        self
    }

    /// When an acknowledgement returns. Default: [`Acks::Awaited`].
    #[must_use]
    pub fn acks(mut self, acks: Acks) -> Self {
        self.acks = acks;
        self
    }

    /// Capacity in bytes for histories and values in memory. Default: 64 MiB. The least recently used are evicted first
    /// and read again on demand; those under a lease stay in memory.
    #[must_use]
    pub fn cache(mut self, bytes: usize) -> Self {
        self.cache = bytes;
        self
    }

    /// Number of ended instances in memory, 3 KB each. Default: 10,000. The least recently used are evicted first and
    /// read again on demand.
    #[must_use]
    pub fn ended(mut self, instances: usize) -> Self {
        self.ended = instances;
        self
    }
}
