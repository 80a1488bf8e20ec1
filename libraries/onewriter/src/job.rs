//! A queued call, and its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use rusqlite::Connection;
use tracing::Span;

use crate::error::Error;
use crate::nesting;
use crate::panics::{guarded, quiet};
use crate::sync::{Mutex, lock};
use crate::tx::Tx;

/// How a closure runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Once, in a transaction that it may share.
    Once,
    /// The same, and again if the first run was rolled back.
    Repeatable,
    /// Outside of a transaction, with a connection of its own.
    Exclusive,
}

/// A closure of a caller.
pub trait Work<T, E>: Send {
    const KIND: Kind;

    fn run(&mut self, connection: &mut Connection) -> Result<T, E>;
}

/// A closure of [`Kind::Once`].
pub struct Once<F>(pub Option<F>);
/// A closure of [`Kind::Repeatable`].
pub struct Repeatable<F>(pub F);
/// A closure of [`Kind::Exclusive`].
pub struct Exclusive<F>(pub Option<F>);

impl<T, E: From<Error>, F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send> Work<T, E> for Once<F> {
    const KIND: Kind = Kind::Once;

    fn run(&mut self, connection: &mut Connection) -> Result<T, E> {
        self.0.take().map_or_else(|| Err(Error::Closed.into()), |closure| closure(&mut Tx::new(connection)))
    }
}

impl<T, E: From<Error>, F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send> Work<T, E> for Repeatable<F> {
    const KIND: Kind = Kind::Repeatable;

    fn run(&mut self, connection: &mut Connection) -> Result<T, E> {
        (self.0)(&mut Tx::new(connection))
    }
}

impl<T, E: From<Error>, F: FnOnce(&mut Connection) -> Result<T, E> + Send> Work<T, E> for Exclusive<F> {
    const KIND: Kind = Kind::Exclusive;

    fn run(&mut self, connection: &mut Connection) -> Result<T, E> {
        self.0.take().map_or_else(|| Err(Error::Closed.into()), |closure| closure(connection))
    }
}

/// A call from the view of the writer, with its types erased.
pub trait Job: Send + Sync {
    fn kind(&self) -> Kind;

    /// Databases whose closures wait for this job.
    fn callers(&self) -> &[usize];

    /// Time of the call.
    fn since(&self) -> Instant;

    /// Claims the job: from now on the caller waits for its answer. Returns false if the caller has given up.
    fn begin(&self, now: Instant) -> bool;

    /// Runs the closure, the second time after its first result was not kept. Returns whether to keep its changes.
    fn run(&self, connection: &mut Connection) -> bool;

    /// Replaces the result of a closure that ran, but whose changes are not kept, or of one that does not run.
    fn refuse(&self, error: Error);

    /// Makes the result available to the caller, after the closure was dropped. Returns the waker of a caller that
    /// sleeps.
    fn answer(&self, wakes: Option<&Arc<Wakes>>) -> Option<Waker>;

    /// Whether the caller is a blocked thread, which takes part in waking the others.
    fn blocks(&self) -> bool;
}

/// The queue's handle of a job. A job that is dropped without an answer is answered with [`Error::Closed`].
pub struct Queued(pub Arc<dyn Job>);

impl std::ops::Deref for Queued {
    type Target = dyn Job;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        if let Some(waker) = self.0.answer(None) {
            waker.wake();
        }
    }
}

/// Blocked threads that share a commit and have not been woken yet.
///
/// Waking a thread takes some microseconds, which the writer has a better use for. Each thread wakes two others when it
/// takes its answer. That reaches all: a thread that takes its answer without having slept wakes two as well.
#[derive(Debug, Default)]
pub struct Wakes(pub Mutex<Vec<Waker>>);

impl Wakes {
    /// Wakes up to `most` threads.
    pub fn wake(&self, most: usize) {
        let mut sleeping = lock(&self.0);
        let rest = sleeping.len().saturating_sub(most);
        let woken = sleeping.split_off(rest);
        drop(sleeping);
        woken.into_iter().for_each(Waker::wake);
    }
}

/// A call, shared by its caller and the queue.
pub struct Call<W, T, E> {
    /// Whether the caller is a blocked thread.
    blocks: bool,
    /// Those of [`nesting::here`] where the call was made.
    callers: Box<[usize]>,
    span: Span,
    since: Instant,
    /// Time after which the closure does not begin.
    deadline: Option<Instant>,
    state: Mutex<State<W, T, E>>,
}

struct State<W, T, E> {
    stage: Stage<W, T, E>,
    waker: Option<Waker>,
    /// Whether the caller has dropped its future.
    is_gone: bool,
    wakes: Option<Arc<Wakes>>,
}

enum Stage<W, T, E> {
    Waiting(W),
    Begun(W),
    Running,
    /// The closure has run and is kept if it may run again. Without a result its conversion has panicked.
    Ran(Option<W>, Option<Result<T, E>>),
    Answered(Option<Result<T, E>>),
    /// The caller has its answer, or has given up.
    Ended,
}

impl<W: Work<T, E>, T: Send, E: From<Error> + Send> Call<W, T, E> {
    /// `since` is the time of the call, in which it was made in a thread that is `blocked`.
    pub fn new(work: W, blocks: bool, since: Instant, deadline: Option<Instant>) -> Self {
        let state = State { stage: Stage::Waiting(work), waker: None, is_gone: false, wakes: None };
        Self { blocks, callers: nesting::here(), span: Span::current(), since, deadline, state: Mutex::new(state) }
    }

    /// Takes the answer, or stores the waker until it is there. [`Error::Closed`] if the queue has dropped the call.
    pub fn poll(&self, waker: &Waker) -> Poll<Result<Result<T, E>, Error>> {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut state.stage, Stage::Ended) {
            Stage::Answered(result) => {
                let wakes = state.wakes.take();
                drop(state);
                if let Some(wakes) = wakes.filter(|_| self.blocks) {
                    wakes.wake(2);
                }
                Poll::Ready(result.ok_or(Error::Closed))
            }
            stage => {
                state.stage = stage;
                if !state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
                    state.waker = Some(waker.clone());
                }
                Poll::Pending
            }
        }
    }

    /// Withdraws a call that has not begun. Returns whether it was; otherwise its answer is there or comes.
    pub fn withdraw(&self) -> bool {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut state.stage, Stage::Ended) {
            Stage::Waiting(work) => {
                drop(state);
                drop(work);
                true
            }
            stage => {
                state.stage = stage;
                false
            }
        }
    }

    /// Gives up an answer, also of a call that has begun.
    fn forget(&self) {
        if self.withdraw() {
            return;
        }
        let mut state = lock(&self.state);
        state.is_gone = true;
        if let Stage::Answered(_) = &state.stage {
            let answer = std::mem::replace(&mut state.stage, Stage::Ended);
            drop(state);
            drop(answer);
        }
    }
}

impl<W: Work<T, E>, T: Send, E: From<Error> + Send> Job for Call<W, T, E> {
    fn kind(&self) -> Kind {
        W::KIND
    }

    fn callers(&self) -> &[usize] {
        &self.callers
    }

    fn since(&self) -> Instant {
        self.since
    }

    fn blocks(&self) -> bool {
        self.blocks
    }

    fn begin(&self, now: Instant) -> bool {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut state.stage, Stage::Ended) {
            Stage::Waiting(work) => state.stage = Stage::Begun(work),
            stage => {
                state.stage = stage;
                return false;
            }
        }
        drop(state);
        let is_late = self.deadline.is_some_and(|deadline| deadline < now);
        if is_late {
            self.refuse(Error::Timeout);
        }
        !is_late
    }

    fn run(&self, connection: &mut Connection) -> bool {
        let stage = std::mem::replace(&mut lock(&self.state).stage, Stage::Running);
        let mut work = match stage {
            Stage::Begun(work) => work,
            Stage::Ran(Some(work), result) => {
                let _dropped = quiet(|| drop(result));
                work
            }
            stage => {
                lock(&self.state).stage = stage;
                return false;
            }
        };
        let result = quiet(|| guarded(|| self.span.in_scope(|| work.run(connection))));
        let is_ok = matches!(result, Some(Ok(_)));
        let again = match W::KIND {
            Kind::Repeatable => Some(work),
            Kind::Once | Kind::Exclusive => {
                let _dropped = quiet(|| drop(work));
                None
            }
        };
        lock(&self.state).stage = Stage::Ran(again, result);
        is_ok
    }

    fn refuse(&self, error: Error) {
        let refused = quiet(|| Err(error.into()));
        let mut state = lock(&self.state);
        let before = match std::mem::replace(&mut state.stage, Stage::Ended) {
            Stage::Ran(work, result) => {
                state.stage = Stage::Ran(work, refused);
                (None, result)
            }
            Stage::Begun(work) => {
                state.stage = Stage::Ran(None, refused);
                (Some(work), None)
            }
            stage => {
                state.stage = stage;
                (None, refused)
            }
        };
        drop(state);
        let _dropped = quiet(|| drop(before));
    }

    fn answer(&self, wakes: Option<&Arc<Wakes>>) -> Option<Waker> {
        let mut state = lock(&self.state);
        let (work, result) = match std::mem::replace(&mut state.stage, Stage::Running) {
            Stage::Ran(work, result) => (work, result),
            Stage::Waiting(work) | Stage::Begun(work) => (Some(work), None),
            Stage::Running => (None, None),
            stage @ (Stage::Answered(_) | Stage::Ended) => {
                state.stage = stage;
                return None;
            }
        };
        if work.is_some() {
            // The caller may have lent borrows to the closure, so it must not be answered earlier.
            drop(state);
            let _dropped = quiet(|| drop(work));
            state = lock(&self.state);
        }
        if state.is_gone {
            drop(state);
            let _dropped = quiet(|| drop(result));
            return None;
        }
        state.stage = Stage::Answered(result);
        state.wakes = wakes.cloned();
        state.waker.take()
    }
}

/// Ends a call whose future is dropped.
pub struct Pending<W: Work<T, E>, T: Send, E: From<Error> + Send>(pub Arc<Call<W, T, E>>);

impl<W: Work<T, E>, T: Send, E: From<Error> + Send> Future for Pending<W, T, E> {
    type Output = Result<Result<T, E>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context.waker())
    }
}

impl<W: Work<T, E>, T: Send, E: From<Error> + Send> Drop for Pending<W, T, E> {
    fn drop(&mut self) {
        self.0.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call whose closure returns 7, and the queue's handle of it.
    fn call(blocks: bool) -> (Arc<Call<impl Work<i32, Error>, i32, Error>>, Queued) {
        let call = Arc::new(Call::new(Once(Some(|_: &mut Tx<'_>| Ok(7))), blocks, Instant::now(), None));
        let job: Arc<dyn Job> = call.clone();
        (call, Queued(job))
    }

    fn run(job: &Queued) {
        let mut connection = Connection::open_in_memory().expect("it opens");
        assert!(job.begin(Instant::now()));
        assert!(job.run(&mut connection));
    }

    #[test]
    #[cfg_attr(miri, ignore = "SQLite is in C")]
    fn an_answer_that_comes_at_the_deadline_is_not_lost() {
        let (call, job) = call(true);
        run(&job);
        assert!(!call.withdraw(), "it has begun");
        job.answer(None);
        assert!(!call.withdraw(), "it is answered");
        assert!(matches!(call.poll(Waker::noop()), Poll::Ready(Ok(Ok(7)))));
    }

    #[test]
    fn a_withdrawn_call_does_not_begin() {
        let (call, job) = call(true);
        assert!(call.withdraw());
        assert!(!job.begin(Instant::now()));
    }

    #[test]
    fn a_job_that_is_dropped_is_answered() {
        let (call, job) = call(false);
        assert!(call.poll(Waker::noop()).is_pending());
        drop(job);
        assert!(matches!(call.poll(Waker::noop()), Poll::Ready(Err(Error::Closed))));
    }

    #[test]
    #[cfg_attr(miri, ignore = "SQLite is in C")]
    fn a_dropped_future_forgets_its_answer() {
        let (call, job) = call(false);
        run(&job);
        drop(Pending(call));
        assert!(job.answer(None).is_none());
    }
}
