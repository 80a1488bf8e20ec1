//! Storage of acknowledged changes.

mod durable;
mod volatile;

pub use durable::Durable;
pub use volatile::Volatile;

use std::sync::Arc;

use async_trait::async_trait;
use duroxide::Event;

use crate::change::Change;
use crate::core::recovered::Recovered;
use crate::core::values::Values;
use crate::error::StoreError;

/// Storage of acknowledged changes. Implementations: [`Durable`], [`Volatile`], and those of tests.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Whether the store keeps anything. If not, memory holds everything and the store is not read.
    fn keeps(&self) -> bool;

    /// Reads the whole state of the scheduler, when a provider is opened.
    ///
    /// # Errors
    /// If it cannot be read.
    fn recover(&self) -> Result<Recovered, StoreError>;

    /// Commits a change.
    ///
    /// The whole change is durable when this returns, or nothing of it. Changes take effect in the order in which their
    /// futures are first polled, as long as fewer than a thousand are in progress: a later change may depend on an
    /// earlier one. If it does, and the earlier one failed, it must fail too
    /// ([`Row::MessageDone`](crate::Row::MessageDone)).
    ///
    /// # Errors
    /// If nothing of the change is kept.
    async fn commit(&self, change: Change) -> Result<(), StoreError>;

    /// Reads the history of an execution and the values of its instance.
    ///
    /// # Errors
    /// If they cannot be read. A history that cannot be deserialised is not an error of this call, but part of
    /// [`Loaded`].
    async fn load(&self, instance: i64, execution: u64) -> Result<Loaded, StoreError>;

    /// Reads the result, the error, or the input of the next execution.
    ///
    /// # Errors
    /// If it cannot be read.
    async fn output(&self, instance: i64, execution: u64) -> Result<Option<String>, StoreError>;

    /// Completes pending changes and closes the files.
    ///
    /// # Errors
    /// If closing fails; the store is closed nevertheless.
    fn close(&self) -> Result<(), StoreError>;
}

/// History of one execution and values of its instance, as read from a store.
#[derive(Debug)]
pub struct Loaded {
    /// Events in the order of their IDs and their serialised size in bytes, or the reason why they cannot be
    /// deserialised.
    pub history: Result<(Vec<Arc<Event>>, usize), String>,
    /// Values of the instance.
    pub values: Values,
}
