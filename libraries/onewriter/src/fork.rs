//! Recognises a process that was forked after a database was opened.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of forks between this process and the first one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process in which this was made.
pub struct Process(u32);

impl Process {
    pub fn this() -> Self {
        static COUNTS: Once = Once::new();
        COUNTS.call_once(count_forks);
        Self(FORKS.load(Relaxed))
    }

    /// Whether this process is a child of that one.
    pub fn is_forked(&self) -> bool {
        FORKS.load(Relaxed) != self.0
    }
}

#[cfg(unix)]
fn count_forks() {
    extern "C" fn child() {
        FORKS.fetch_add(1, Relaxed);
    }
    // SAFETY: the function only changes an atomic, which is allowed after a fork.
    #[expect(unsafe_code, reason = "the standard library has no function for it")]
    let _without_memory = unsafe { libc::pthread_atfork(None, None, Some(child)) };
}

#[cfg(not(unix))]
const fn count_forks() {}
