//! Who writes, and who is next: the seat at which writing is done, and the jobs that wait for it.
//!
//! There is one seat. Whoever holds it may do jobs; the writer's thread waits until there are jobs and the seat is free, and
//! a caller may take a seat that is free while nobody waits, to do its own job without a hand-over. Nothing here knows
//! SQLite: `tests/model.rs` runs it under a model checker.

use std::collections::VecDeque;

use crate::sync::{Condvar, Mutex, lock};

/// The seat `S` and the jobs `J`.
#[derive(Debug)]
pub struct Queue<S, J> {
    state: Mutex<State<S, J>>,
    /// There is something to do for the writer's thread.
    work: Condvar,
}

#[derive(Debug)]
struct State<S, J> {
    /// None while somebody holds it.
    seat: Option<S>,
    jobs: VecDeque<J>,
    /// Whether the writer's thread waits for `work`.
    waits: bool,
    closed: bool,
}

/// What a caller who leaves the seat still has to do.
#[derive(Debug)]
pub enum Leave<S, J> {
    /// Nothing; the seat has been left.
    Left,
    /// This: it is sooner done than handed over.
    Stay(S, Vec<J>),
}

impl<S, J> Queue<S, J> {
    /// Nobody holds the seat, and nobody waits.
    pub fn new(seat: S) -> Self {
        let state = State { seat: Some(seat), jobs: VecDeque::new(), waits: false, closed: false };
        Self { state: Mutex::new(state), work: Condvar::new() }
    }

    /// The seat, for a caller before whom nobody waits.
    pub fn sit(&self) -> Option<S> {
        let mut state = lock(&self.state);
        let first = state.jobs.is_empty() && !state.closed;
        if first { state.seat.take() } else { None }
    }

    /// Puts a job behind all others.
    ///
    /// # Errors
    /// Gives it back where the queue is closed.
    pub fn push(&self, job: J) -> Result<(), J> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(job);
        }
        state.jobs.push_back(job);
        let wake = state.waits && state.seat.is_some();
        drop(state);
        if wake {
            self.work.notify_one();
        }
        Ok(())
    }

    /// For whoever holds the seat: up to `most` jobs, the oldest first.
    pub fn take(&self, most: usize) -> Vec<J> {
        let mut state = lock(&self.state);
        let most = most.min(state.jobs.len());
        state.jobs.drain(..most).collect()
    }

    /// Leaves the seat to whoever is next. Where no more than `few` jobs wait, the caller gets them instead.
    pub fn leave(&self, seat: S, few: usize) -> Leave<S, J> {
        let mut state = lock(&self.state);
        let waiting = state.jobs.len();
        if waiting > 0 && waiting <= few {
            return Leave::Stay(seat, state.jobs.drain(..).collect());
        }
        state.seat = Some(seat);
        let wake = state.waits && (waiting > 0 || state.closed);
        drop(state);
        if wake {
            self.work.notify_one();
        }
        Leave::Left
    }

    /// For the writer's thread: waits for jobs, and for the seat.
    ///
    /// # Errors
    /// The seat, when there will be no more jobs.
    pub fn wait(&self) -> Result<S, S> {
        let mut state = lock(&self.state);
        loop {
            let more = !state.jobs.is_empty();
            if (more || state.closed)
                && let Some(seat) = state.seat.take()
            {
                return if more { Ok(seat) } else { Err(seat) };
            }
            state.waits = true;
            #[expect(clippy::unwrap_used, reason = "as in `lock`")]
            let waited = self.work.wait(state).unwrap();
            state = waited;
            state.waits = false;
        }
    }

    /// Refuses jobs from now on; those that wait are still done.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.work.notify_one();
    }

    /// Jobs that wait.
    pub fn depth(&self) -> usize {
        lock(&self.state).jobs.len()
    }
}
