//! A queued write, and the channel of its answer.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;
use tokio::sync::oneshot::{Receiver, Sender, channel};

use crate::error::Error;
use crate::nesting;

/// A queued write with its types erased.
pub trait Job: Send {
    /// Whether the caller still waits for the answer.
    fn wanted(&self) -> bool;

    /// How a failure of the closure affects the others in its transaction.
    fn keeping(&self) -> Keeping;

    /// Databases whose closures wait for this job.
    fn callers(&self) -> &[usize];

    /// Runs the closure. Returns whether to keep its changes.
    fn run(&mut self, connection: &Connection) -> bool;

    /// Replaces the result of a closure that ran, but whose changes are not kept.
    fn refuse(&mut self, error: Error);

    /// Whether the caller is a blocked thread.
    fn sleeps(&self) -> bool;

    /// Sends the result of the closure, or `not_run` if it has not run, together with the answers that the caller must
    /// pass on. The closure is dropped before that.
    fn answer(self: Box<Self>, not_run: Option<Error>, rest: Rest);
}

/// Finished jobs, which are answered when this is dropped.
#[derive(Default)]
pub struct Rest(Vec<Box<dyn Job>>);

impl Rest {
    /// The first job is answered last.
    pub const fn new(jobs: Vec<Box<dyn Job>>) -> Self {
        Self(jobs)
    }
}

impl Drop for Rest {
    /// Each answered caller passes on half of the remaining answers: waking a thread takes some microseconds, which the
    /// writer has a better use for.
    fn drop(&mut self) {
        while let Some(job) = self.0.pop() {
            let half = self.0.split_off(self.0.len().div_ceil(2));
            job.answer(None, Self(half));
        }
    }
}

/// Effect of a failing closure on the others in its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// None: only its own changes are rolled back.
    Guarded,
    /// If it fails after a change, the whole transaction is rolled back.
    Unguarded,
}

/// The fields are dropped in this order: the caller may have lent borrows to the closure, so it must not be answered
/// earlier. `callers` are those of [`nesting::here`] where the job was made.
struct Write<F, T, E> {
    keeping: Keeping,
    sleeps: bool,
    callers: Vec<usize>,
    closure: Option<F>,
    result: Option<Result<T, E>>,
    caller: Sender<(Result<T, E>, Rest)>,
}

/// Receives the result of the closure and the answers to pass on.
pub type Answer<T, E> = Receiver<(Result<T, E>, Rest)>;

/// Creates the job of a closure and the receiver of its answer.
pub fn job<'a, F, T, E>(keeping: Keeping, sleeps: bool, closure: F) -> (Box<dyn Job + 'a>, Answer<T, E>)
where
    F: FnOnce(&Connection) -> Result<T, E> + Send + 'a,
    T: Send + 'a,
    E: From<Error> + Send + 'a,
{
    let (caller, answer) = channel();
    let callers = nesting::here();
    (Box::new(Write { keeping, sleeps, callers, closure: Some(closure), result: None, caller }), answer)
}

impl<F, T, E> Job for Write<F, T, E>
where
    F: FnOnce(&Connection) -> Result<T, E> + Send,
    T: Send,
    E: From<Error> + Send,
{
    fn wanted(&self) -> bool {
        !self.caller.is_closed()
    }

    fn keeping(&self) -> Keeping {
        self.keeping
    }

    fn sleeps(&self) -> bool {
        self.sleeps
    }

    fn callers(&self) -> &[usize] {
        &self.callers
    }

    fn run(&mut self, connection: &Connection) -> bool {
        let Some(closure) = self.closure.take() else { return false };
        self.result = quiet(|| guarded(closure, connection));
        matches!(self.result, Some(Ok(_)))
    }

    fn refuse(&mut self, error: Error) {
        let refused = quiet(|| Err(error.into()));
        let before = std::mem::replace(&mut self.result, refused);
        let _dropped = quiet(|| drop(before));
    }

    fn answer(self: Box<Self>, not_run: Option<Error>, rest: Rest) {
        let Self { closure, result, caller, .. } = *self;
        let _dropped = quiet(|| drop(closure));
        let result = match not_run {
            Some(error) => quiet(|| Err(error.into())),
            None => result,
        };
        // Without a result its conversion has panicked: the caller finds the channel closed. If the caller no longer
        // waits, `rest` is dropped here, which answers the others.
        if let Some(result) = result
            && let Err((result, rest)) = caller.send((result, rest))
        {
            let _dropped = quiet(|| drop(result));
            drop(rest);
        }
    }
}

/// Runs code of a caller outside its closure (a drop, a conversion), which may panic. Returns `None` then: the panic
/// concerns no other caller.
pub fn quiet<R>(code: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(code)).map_err(discard).ok()
}

/// Drops the value of a panic, whose drop may panic as well.
fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
}

/// Runs the closure and turns a panic into an error.
pub fn guarded<T, E: From<Error>>(
    closure: impl FnOnce(&Connection) -> Result<T, E>,
    connection: &Connection,
) -> Result<T, E> {
    // Only the closure has touched its captures, and its changes to the database are rolled back.
    catch_unwind(AssertUnwindSafe(|| closure(connection))).unwrap_or_else(|panic| {
        let text = message(&*panic);
        discard(panic);
        Err(Error::Panicked(text).into())
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "of no text".into())
}
