//! Callers waiting for work, with their filters.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Notify;

/// Callers that found nothing, in order of arrival, each with a filter of what it can take.
///
/// A caller registers in the same critical section in which it found nothing, so it cannot miss later work. Each object
/// that becomes ready wakes one caller that can take it.
#[derive(Debug)]
pub struct Waiters<F> {
    next: u64,
    waiting: VecDeque<(u64, F, Arc<Notify>)>,
}

impl<F> Default for Waiters<F> {
    fn default() -> Self {
        Self { next: 0, waiting: VecDeque::new() }
    }
}

impl<F> Waiters<F> {
    /// Registers a caller after the others.
    pub fn enter(&mut self, filter: F) -> (u64, Arc<Notify>) {
        let notify = Arc::new(Notify::new());
        self.next += 1;
        self.waiting.push_back((self.next, filter, Arc::clone(&notify)));
        (self.next, notify)
    }

    /// Removes a caller. Returns whether it had already been woken, so that another must be woken in its place.
    pub fn leave(&mut self, id: u64) -> bool {
        let place = self.waiting.iter().position(|(waiter, ..)| *waiter == id);
        place.map(|place| self.waiting.remove(place)).is_none()
    }

    /// Removes the first matching caller. The caller of this function notifies it after releasing the lock.
    pub fn wake(&mut self, matches: impl Fn(&F) -> bool) -> Option<Arc<Notify>> {
        let place = self.waiting.iter().position(|(_, filter, _)| matches(filter))?;
        self.waiting.remove(place).map(|(_, _, notify)| notify)
    }

    pub fn wake_all(&mut self) -> impl Iterator<Item = Arc<Notify>> {
        self.waiting.drain(..).map(|(_, _, notify)| notify)
    }
}

#[cfg(test)]
mod tests {
    use super::Waiters;

    #[test]
    fn the_first_that_matches_is_woken_and_only_once() {
        let mut waiters = Waiters::default();
        let (_, _) = waiters.enter("gpu");
        let (cpu, _) = waiters.enter("cpu");
        let (_, _) = waiters.enter("cpu");
        assert!(waiters.wake(|f| *f == "cpu").is_some());
        assert!(waiters.leave(cpu), "the first of the two was woken");
        assert!(waiters.wake(|f| *f == "cpu").is_some());
        assert!(waiters.wake(|f| *f == "cpu").is_none());
        assert!(waiters.wake(|f| *f == "gpu").is_some());
    }

    #[test]
    fn one_that_gives_up_is_not_woken() {
        let mut waiters = Waiters::default();
        let (id, _) = waiters.enter(());
        assert!(!waiters.leave(id), "it had not been woken");
        assert!(waiters.wake(|()| true).is_none());
    }
}
