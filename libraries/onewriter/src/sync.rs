//! The primitives of [`crate::queue`], which `tests/model.rs` replaces by those of a model checker.

use std::time::Duration;

pub use std::sync::{Condvar, Mutex, MutexGuard};

/// Locks the mutex. A poisoned mutex is a defect of this crate: closures run without any of its locks held.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[expect(clippy::unwrap_used, reason = "no code that can panic runs under a lock of this crate")]
    mutex.lock().unwrap()
}

/// Waits for a signal, at most for this time.
pub fn wait_timeout<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, limit: Duration) -> MutexGuard<'a, T> {
    #[expect(clippy::unwrap_used, reason = "as in `lock`")]
    condvar.wait_timeout(guard, limit).unwrap().0
}
