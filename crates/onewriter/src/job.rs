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

    /// Tells the caller what the closure returned, or this error where it has not run. The closure is gone before that.
    fn answer(self: Box<Self>, not_run: Option<Error>);
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
    closure: Option<F>,
    result: Option<Result<T, E>>,
    caller: Sender<Result<T, E>>,
}

/// Where a closure's result will be.
pub type Answer<T, E> = Receiver<Result<T, E>>;

/// The job of a closure, and where its answer will be.
pub fn job<'a, F, T, E>(keeping: Keeping, closure: F) -> (Box<dyn Job + 'a>, Answer<T, E>)
where
    F: FnOnce(&Connection) -> Result<T, E> + Send + 'a,
    T: Send + 'a,
    E: From<Error> + Send + 'a,
{
    let (caller, answer) = channel();
    (Box::new(Write { keeping, closure: Some(closure), result: None, caller }), answer)
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

    fn answer(self: Box<Self>, not_run: Option<Error>) {
        let Self { closure, result, caller, .. } = *self;
        drop(closure);
        let result = match not_run {
            Some(error) => Err(error.into()),
            None => result.unwrap_or_else(|| Err(Error::Closed.into())),
        };
        // A caller that has given up hears nothing.
        let _gone = caller.send(result);
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
