//! How long a closure has been running on a connection.

use std::time::{Duration, Instant};

use rusqlite::{Connection, InterruptHandle};

use crate::sync::{Mutex, lock};

/// The running closure of one connection.
pub struct Watch {
    since: Mutex<Option<Instant>>,
    interrupt: InterruptHandle,
}

impl Watch {
    pub fn new(connection: &Connection) -> Self {
        Self { since: Mutex::new(None), interrupt: connection.get_interrupt_handle() }
    }

    /// A closure begins.
    pub fn begin(&self) {
        *lock(&self.since) = Some(Instant::now());
    }

    /// No closure is running. It is not interrupted after this call.
    pub fn end(&self) {
        *lock(&self.since) = None;
    }

    /// Age of the running closure.
    pub fn age(&self) -> Option<Duration> {
        lock(&self.since).map(|since| since.elapsed())
    }

    /// Interrupts a closure that is older.
    pub fn interrupt_after(&self, limit: Duration) {
        let since = lock(&self.since);
        if since.is_some_and(|since| since.elapsed() > limit) {
            // The lock keeps the next closure from beginning.
            self.interrupt.interrupt();
        }
    }
}
