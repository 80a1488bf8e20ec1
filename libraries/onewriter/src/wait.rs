//! Waiting of a thread for another one, through the wakers that asynchronous callers use as well.

use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use crate::sync::{Mutex, lock};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    static WAKER: Waker = Waker::from(Arc::new(Unpark(thread::current())));
}

/// Polls until the result is there, and sleeps between polls. Returns `None` after `deadline`.
pub fn block<R>(deadline: Option<Instant>, mut poll: impl FnMut(&Waker) -> Poll<R>) -> Option<R> {
    let waker = WAKER.try_with(Clone::clone).unwrap_or_else(|_| Arc::new(Unpark(thread::current())).into());
    loop {
        if let Poll::Ready(result) = poll(&waker) {
            return Some(result);
        }
        match deadline.map(|at| at.saturating_duration_since(Instant::now())) {
            None => thread::park(),
            Some(left) if left.is_zero() => return None,
            Some(left) => thread::park_timeout(left),
        }
    }
}

/// Lets the waits of this thread end in time. By default Linux wakes a thread up to 50 µs later than it asked for.
pub fn wake_in_time() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call changes a number of this thread.
        #[expect(unsafe_code, reason = "the standard library has no function for it")]
        let _without = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    }
}

/// The place of a value that one thread waits for and another one fills.
pub struct Slot<T>(Mutex<State<T>>);

enum State<T> {
    Empty(Option<Waker>),
    Full(T),
    /// The value was taken, or will not be.
    Ended,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self(Mutex::new(State::Empty(None)))
    }
}

impl<T> Slot<T> {
    /// Stores the value, and wakes who waits for it.
    ///
    /// # Errors
    /// Returns the value if it is no longer waited for.
    pub fn fill(&self, value: T) -> Result<(), T> {
        let mut state = lock(&self.0);
        let waker = match &mut *state {
            State::Empty(waker) => waker.take(),
            State::Full(_) | State::Ended => return Err(value),
        };
        *state = State::Full(value);
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Takes the value, or stores the waker until it is there. `None` if the slot has ended.
    pub fn poll(&self, waker: &Waker) -> Poll<Option<T>> {
        let mut state = lock(&self.0);
        match std::mem::replace(&mut *state, State::Ended) {
            State::Full(value) => Poll::Ready(Some(value)),
            State::Ended => Poll::Ready(None),
            State::Empty(known) => {
                let waker = known.filter(|known| known.will_wake(waker)).unwrap_or_else(|| waker.clone());
                *state = State::Empty(Some(waker));
                Poll::Pending
            }
        }
    }

    /// Ends the slot if it is empty, and wakes who waits for it.
    pub fn close(&self) {
        let mut state = lock(&self.0);
        if let State::Empty(waker) = &mut *state {
            let waker = waker.take();
            *state = State::Ended;
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        }
    }

    /// Ends the slot. Returns the value if it was filled and not taken.
    pub fn end(&self) -> Option<T> {
        let state = std::mem::replace(&mut *lock(&self.0), State::Ended);
        match state {
            State::Full(value) => Some(value),
            State::Empty(waker) => {
                waker.into_iter().for_each(Waker::wake);
                None
            }
            State::Ended => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_arrives_once() {
        let slot = Arc::new(Slot::default());
        let filled = slot.clone();
        let other = thread::spawn(move || filled.fill(7));
        assert_eq!(block(None, |waker| slot.poll(waker)), Some(Some(7)));
        assert_eq!(other.join().expect("no panic"), Ok(()));
        assert_eq!(block(None, |waker| slot.poll(waker)), Some(None));
        assert_eq!(slot.fill(8), Err(8));
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let slot = Slot::<i32>::default();
        assert_eq!(block(Some(Instant::now()), |waker| slot.poll(waker)), None);
        assert_eq!(slot.fill(1), Ok(()));
        assert_eq!(slot.end(), Some(1));
        assert_eq!(slot.fill(2), Err(2));
    }
}
