//! The writer lock (the *seat*) and the queue of jobs that wait for it.
//!
//! One thread at a time holds the seat and runs jobs. The writer thread waits until there are jobs and the seat is
//! free. A caller may take a free seat while no job waits, and then runs its own job without a hand-over. This module
//! does not depend on SQLite: `tests/model.rs` runs it under a model checker.

use std::collections::VecDeque;
use std::time::Duration;

use crate::sync::{Condvar, Mutex, lock, wait_timeout};

/// The seat `S` and the waiting jobs `J`.
#[derive(Debug)]
pub struct Queue<S, J> {
    state: Mutex<State<S, J>>,
    /// Signals the writer thread that there is work.
    work: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct State<S, J> {
    /// `None` while a thread holds it.
    seat: Option<S>,
    jobs: VecDeque<J>,
    /// Number of jobs that wake the writer thread while it holds the seat. `None` while it runs.
    awaited: Option<usize>,
    closed: bool,
}

/// A job that was not accepted.
#[derive(Debug)]
pub enum Refused<J> {
    /// The queue is closed.
    Closed(J),
    /// The queue has as many jobs as it may.
    Full(J),
}

impl<S, J> Queue<S, J> {
    /// A queue with a free seat and no jobs, for at most `capacity` jobs.
    pub fn new(seat: S, capacity: usize) -> Self {
        let state = State { seat: Some(seat), jobs: VecDeque::new(), awaited: None, closed: false };
        Self { state: Mutex::new(state), work: Condvar::new(), capacity }
    }

    /// Takes the seat if it is free and no job waits.
    pub fn sit(&self) -> Option<S> {
        let mut state = lock(&self.state);
        let first = state.jobs.is_empty() && !state.closed;
        if first { state.seat.take() } else { None }
    }

    /// Appends a job. Returns the number of jobs that wait.
    ///
    /// # Errors
    /// Returns the job if it is not accepted.
    pub fn push(&self, job: J) -> Result<usize, Refused<J>> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(Refused::Closed(job));
        }
        if state.jobs.len() >= self.capacity {
            return Err(Refused::Full(job));
        }
        state.jobs.push_back(job);
        let waiting = state.jobs.len();
        // If the seat is free and other jobs wait, the writer thread has been woken for them.
        let is_first = state.seat.is_some() && waiting == 1;
        let wake = state.awaited.is_some_and(|awaited| is_first || waiting == awaited);
        drop(state);
        if wake {
            self.work.notify_one();
        }
        Ok(waiting)
    }

    /// Removes up to `most` jobs, the oldest first. The caller must hold the seat.
    pub fn take(&self, most: usize) -> VecDeque<J> {
        let mut state = lock(&self.state);
        if most >= state.jobs.len() {
            return std::mem::take(&mut state.jobs);
        }
        state.jobs.drain(..most).collect()
    }

    /// Sleeps until `enough` jobs are there or none has arrived for `gap`, at most `gaps` times. The writer thread calls
    /// it with the seat held.
    pub fn gather(&self, enough: usize, gap: Duration, gaps: u32) {
        let mut state = lock(&self.state);
        for _ in 0..gaps {
            let before = state.jobs.len();
            if before >= enough || state.closed {
                break;
            }
            state.awaited = Some(enough);
            state = wait_timeout(&self.work, state, gap);
            state.awaited = None;
            if state.jobs.len() == before {
                break;
            }
        }
    }

    /// Releases the seat.
    pub fn leave(&self, seat: S) {
        let mut state = lock(&self.state);
        state.seat = Some(seat);
        let wake = state.awaited.is_some() && (!state.jobs.is_empty() || state.closed);
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
            state.awaited = Some(usize::MAX);
            #[expect(clippy::unwrap_used, reason = "as in `lock`")]
            let waited = self.work.wait(state).unwrap();
            state = waited;
            state.awaited = None;
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
