//! Where what is acknowledged is kept.

mod durable;
mod volatile;

pub use durable::Durable;
pub use volatile::Volatile;

use std::sync::Arc;

use async_trait::async_trait;
use duroxide::Event;
use duroxide::providers::WorkItem;

use crate::change::Change;
use crate::core::record::Record;
use crate::core::values::Values;

/// Keeps what the calls acknowledge. [`Durable`] and [`Volatile`] are two; tests have others.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Whether anything is kept: if not, memory keeps everything and asks for nothing.
    fn keeps(&self) -> bool;

    /// Everything that is scheduled, for the opening.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn recover(&self) -> Result<Recovered, StoreError>;

    /// Keeps a change: all of it by the time this returns, or nothing. Changes are kept in the order in which the futures were
    /// first polled, as long as fewer than a thousand are under way: what one says may come of what an earlier one says. If it
    /// does, and the earlier one was refused, so is this one ([`Row::MessageDone`](crate::Row::MessageDone)).
    ///
    /// # Errors
    /// Where nothing of it is kept.
    async fn commit(&self, change: Change) -> Result<(), StoreError>;

    /// An execution's history, and the instance's values.
    ///
    /// # Errors
    /// Where they cannot be read. A history that can be read and not understood is no such error.
    async fn load(&self, instance: i64, execution: u64) -> Result<Loaded, StoreError>;

    /// Result, error, or the input of the next execution.
    ///
    /// # Errors
    /// Where it cannot be read.
    async fn output(&self, instance: i64, execution: u64) -> Result<Option<String>, StoreError>;

    /// Finishes what is begun, and lets go of the files.
    ///
    /// # Errors
    /// Where the store says so; it is closed all the same.
    fn close(&self) -> Result<(), StoreError>;
}

/// What a store says of one execution.
#[derive(Debug)]
pub struct Loaded {
    /// By the events' numbers, and the bytes they take as text; or why they are not understood.
    pub history: Result<(Vec<Arc<Event>>, usize), String>,
    /// The instance's values.
    pub values: Values,
}

/// What a store has kept of the schedule.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Numbers, names and records, without histories.
    pub instances: Vec<(i64, String, Record)>,
    /// Messages for orchestrations.
    pub messages: Vec<Kept>,
    /// Activities to execute.
    pub work: Vec<Kept>,
}

/// A message or an activity as it was kept.
#[derive(Debug)]
pub struct Kept {
    /// Its number.
    pub id: i64,
    /// Milliseconds since 1970.
    pub visible: i64,
    /// How often it has been fetched, as far as is known.
    pub attempts: u32,
    /// Itself.
    pub item: WorkItem,
}

/// Why a store could not do it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}")]
pub struct StoreError {
    /// For a human being.
    pub what: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}
