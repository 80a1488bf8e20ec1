//! Storage of acknowledged changes.

mod durable;
mod volatile;

pub use durable::{Durable, schema};
pub use volatile::Volatile;

use std::sync::Arc;

use async_trait::async_trait;
use duroxide::Event;
use duroxide::providers::SystemMetrics;

use crate::change::Change;
use crate::core::listing::Selection;
use crate::core::record::Record;
use crate::core::recovered::Recovered;
use crate::core::values::Values;
use crate::error::StoreError;

/// Storage of acknowledged changes. Implementations: [`Durable`], [`Volatile`], and those of tests.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Whether the store keeps anything. If not, memory holds everything and the store is not read.
    fn keeps(&self) -> bool;

    /// Reads the state of the scheduler, when a provider is opened: queues, and instances that are running or have
    /// messages. Others are read on demand.
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

    /// Reads the number and the record, without histories, of the instance with this name.
    ///
    /// # Errors
    /// If it cannot be read.
    async fn find(&self, name: &str) -> Result<Option<(i64, Record)>, StoreError>;

    /// Reads the names of the selected instances, the latest instance first.
    ///
    /// # Errors
    /// If they cannot be read.
    async fn list(&self, selection: Selection) -> Result<Vec<String>, StoreError>;

    /// Reads the names of the instances that this one has started.
    ///
    /// # Errors
    /// If they cannot be read.
    async fn children(&self, name: &str) -> Result<Vec<String>, StoreError>;

    /// Counts instances, executions and events.
    ///
    /// # Errors
    /// If they cannot be read.
    async fn metrics(&self) -> Result<SystemMetrics, StoreError>;

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
