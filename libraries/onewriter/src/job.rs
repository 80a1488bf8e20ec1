//! A closure on its way to the writer, and its caller's answer on the way back.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;
use tokio::sync::oneshot::{Receiver, Sender, channel};

use crate::error::Error;

/// A write that the writer can do without knowing its types.
pub trait Job: Send {
    /// Whether somebody still waits for it.
    fn wanted(&self) -> bool;

    /// Whether it has to be taken back alone.
    fn keeping(&self) -> Keeping;

    /// Runs the closure. Whether its changes are to be kept.
    fn run(&mut self, connection: &Connection) -> bool;

    /// It has run, and yet its changes are not kept.
    fn refuse(&mut self, error: Error);

    /// Whether its caller is a thread that waits, and is asleep.
    fn sleeps(&self) -> bool;

    /// Tells the caller what the closure returned, or this error where it has not run, and whom it has to tell in turn. The
    /// closure is gone before that.
    fn answer(self: Box<Self>, not_run: Option<Error>, rest: Rest);
}

/// Jobs that are done, for whoever gets this to answer: when it is dropped.
#[derive(Default)]
pub struct Rest(Vec<Box<dyn Job>>);

impl Rest {
    /// These, of which the first is answered last.
    pub const fn new(jobs: Vec<Box<dyn Job>>) -> Self {
        Self(jobs)
    }
}

impl Drop for Rest {
    /// Each that is told gets half of those that are left, to tell them: to wake a thread takes some microseconds, and the writer
    /// has something else to do.
    fn drop(&mut self) {
        while let Some(job) = self.0.pop() {
            let half = self.0.split_off(self.0.len().div_ceil(2));
            job.answer(None, Self(half));
        }
    }
}

/// What a closure may do to those with which it shares a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// Nothing: it is taken back alone, wherever it fails.
    Guarded,
    /// Where it fails after a change, they are taken back with it.
    Unguarded,
}

/// In this order its fields are dropped: whoever waits for the answer may have lent the closure what it borrows.
struct Write<F, T, E> {
    keeping: Keeping,
    sleeps: bool,
    closure: Option<F>,
    result: Option<Result<T, E>>,
    caller: Sender<(Result<T, E>, Rest)>,
}

/// Where a closure's result will be, and whom else to tell.
pub type Answer<T, E> = Receiver<(Result<T, E>, Rest)>;

/// The job of a closure, and where its answer will be.
pub fn job<'a, F, T, E>(keeping: Keeping, sleeps: bool, closure: F) -> (Box<dyn Job + 'a>, Answer<T, E>)
where
    F: FnOnce(&Connection) -> Result<T, E> + Send + 'a,
    T: Send + 'a,
    E: From<Error> + Send + 'a,
{
    let (caller, answer) = channel();
    (Box::new(Write { keeping, sleeps, closure: Some(closure), result: None, caller }), answer)
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

    fn run(&mut self, connection: &Connection) -> bool {
        let Some(closure) = self.closure.take() else { return false };
        let result = guarded(closure, connection);
        let keep = result.is_ok();
        self.result = Some(result);
        keep
    }

    fn refuse(&mut self, error: Error) {
        self.result = Some(Err(error.into()));
    }

    fn answer(self: Box<Self>, not_run: Option<Error>, rest: Rest) {
        let Self { closure, result, caller, .. } = *self;
        drop(closure);
        let result = match not_run {
            Some(error) => Err(error.into()),
            None => result.unwrap_or_else(|| Err(Error::Closed.into())),
        };
        // A caller that has given up hears nothing, and tells nobody.
        let _gone = caller.send((result, rest));
    }
}

/// The closure's result; a panic is an error of its own.
pub fn guarded<T, E: From<Error>>(
    closure: impl FnOnce(&Connection) -> Result<T, E>,
    connection: &Connection,
) -> Result<T, E> {
    // What the closure has touched is its own, and the changes it made are rolled back.
    catch_unwind(AssertUnwindSafe(|| closure(connection)))
        .unwrap_or_else(|panic| Err(Error::Panicked(message(&*panic)).into()))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "of no text".into())
}
