//! The writer lock (the *seat*) and the queue of jobs that wait for it.
//!
//! One thread at a time holds the seat and runs jobs. The writer thread waits until there are jobs and the seat is
//! free. A caller may take a free seat while no job waits, and then runs its own job without a hand-over. This module
//! does not depend on SQLite: `tests/model.rs` runs it under a model checker.

use std::collections::VecDeque;

use crate::sync::{Condvar, Mutex, lock};

/// The seat `S` and the waiting jobs `J`.
#[derive(Debug)]
pub struct Queue<S, J> {
    state: Mutex<State<S, J>>,
    /// Signals the writer thread that there is work.
    work: Condvar,
}

#[derive(Debug)]
struct State<S, J> {
    /// `None` while a thread holds it.
    seat: Option<S>,
    jobs: VecDeque<J>,
    /// Whether the writer thread waits for `work`.
    waits: bool,
    closed: bool,
}

impl<S, J> Queue<S, J> {
    /// A queue with a free seat and no jobs.
    pub fn new(seat: S) -> Self {
        let state = State { seat: Some(seat), jobs: VecDeque::new(), waits: false, closed: false };
        Self { state: Mutex::new(state), work: Condvar::new() }
    }

    /// Takes the seat if it is free and no job waits.
    pub fn sit(&self) -> Option<S> {
        let mut state = lock(&self.state);
        let first = state.jobs.is_empty() && !state.closed;
        if first { state.seat.take() } else { None }
    }

    /// Appends a job.
    ///
    /// # Errors
    /// Returns the job if the queue is closed.
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

    /// Removes up to `most` jobs, the oldest first. The caller must hold the seat.
    pub fn take(&self, most: usize) -> Vec<J> {
        let mut state = lock(&self.state);
        let most = most.min(state.jobs.len());
        state.jobs.drain(..most).collect()
    }

    /// Releases the seat.
    pub fn leave(&self, seat: S) {
        let mut state = lock(&self.state);
        state.seat = Some(seat);
        let wake = state.waits && (!state.jobs.is_empty() || state.closed);
        drop(state);
        if wake {
            self.work.notify_one();
        }
    }

    /// Blocks the writer thread until there are jobs and the seat is free.
    ///
    /// # Errors
    /// Returns the seat if the queue is closed and empty.
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

    /// Rejects new jobs; waiting jobs still run.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.work.notify_one();
    }

    /// Whether new jobs are rejected.
    pub fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Number of waiting jobs.
    pub fn depth(&self) -> usize {
        lock(&self.state).jobs.len()
    }
}
