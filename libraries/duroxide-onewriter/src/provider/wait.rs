//! Waiting for an available turn or activity.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::core::Core;
use crate::core::instance::Replays;
use crate::core::workers::Takes;
use crate::provider::shared::Shared;

/// A registered waiter. If it stops waiting after it was woken, another one is woken in its place.
pub struct Waiting {
    shared: Arc<Shared>,
    id: u64,
    queue: Queue,
    notify: Arc<Notify>,
    is_awake: bool,
}

enum Queue {
    Turns,
    Work,
}

impl Waiting {
    /// Registers a waiter. Must be called in the critical section in which nothing was found.
    pub fn for_turns(shared: &Arc<Shared>, core: &mut Core, replays: Replays) -> Self {
        let (id, notify) = core.turn_waiters().enter(replays);
        Self { shared: Arc::clone(shared), id, queue: Queue::Turns, notify, is_awake: false }
    }

    /// Like [`Waiting::for_turns`].
    pub fn for_work(shared: &Arc<Shared>, core: &mut Core, takes: Takes) -> Self {
        let (id, notify) = core.work_waiters().enter(takes);
        Self { shared: Arc::clone(shared), id, queue: Queue::Work, notify, is_awake: false }
    }

    /// Waits until it is woken or the deadline has passed. A woken caller must fetch again immediately.
    pub async fn until(mut self, deadline: Option<Instant>) {
        let deadline = deadline.unwrap_or_else(Instant::now);
        self.is_awake = timeout_at(deadline, self.notify.notified()).await.is_ok();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.is_awake {
            return;
        }
        self.shared.with(|core, now| match self.queue {
            Queue::Turns if core.turn_waiters().leave(self.id) => core.wake_another_for_turns(),
            Queue::Work if core.work_waiters().leave(self.id) => core.wake_another_for_work(now),
            Queue::Turns | Queue::Work => {}
        });
    }
}
