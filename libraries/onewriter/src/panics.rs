//! Panics of closures, and of other code of callers: drops and conversions of errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Error;

/// Runs code of a caller outside its closure, which may panic. Returns `None` then: the panic concerns no other caller.
pub fn quiet<R>(code: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(code)).map_err(discard).ok()
}

/// Runs a closure and turns a panic into an error.
pub fn guarded<T, E: From<Error>>(closure: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    // Only the closure has touched its captures, and its changes to the database are rolled back.
    catch_unwind(AssertUnwindSafe(closure)).unwrap_or_else(|panic| {
        let text = message(&*panic);
        discard(panic);
        Err(Error::Panicked(text).into())
    })
}

/// Drops the value of a panic, whose drop may panic as well.
fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "of no text".into())
}
