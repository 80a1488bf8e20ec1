//! Stored state, from which the scheduler starts.

use duroxide::providers::WorkItem;

use crate::core::record::Record;

/// Stored state of the scheduler.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Number, name and record of each instance that is running or has messages, without histories.
    pub instances: Vec<(i64, String, Record)>,
    /// Highest number of an instance in the store; 0 if there is none.
    pub last_instance: i64,
    /// Whether the store may contain other instances.
    pub elsewhere: bool,
    /// Messages for orchestrations.
    pub messages: Queue,
    /// Activities to execute.
    pub work: Queue,
}

/// A stored queue.
#[derive(Debug, Default)]
pub struct Queue {
    /// Items in the order of their numbers.
    pub items: Vec<Kept>,
    /// Highest number in the store, of an item or of a quarantined row; 0 if there is none.
    pub last: i64,
    /// Number of rows that cannot be deserialised. They stay in the store and are not scheduled.
    pub quarantined: usize,
}

/// A stored message or activity.
#[derive(Debug)]
pub struct Kept {
    /// Number of the message or activity.
    pub id: i64,
    /// Time from which it is visible, in milliseconds since 1970.
    pub visible: i64,
    /// Number of recorded fetches.
    pub attempts: u32,
    /// The message or activity.
    pub item: WorkItem,
}
