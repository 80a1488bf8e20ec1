//! What a test looks at more than once.

use std::fmt::Display;
use std::time::Duration;

/// How often, at most.
const TRIES: u32 = 6;
/// Before the second try; before each further one twice as long as before the one before, for a burst of load to pass.
const PAUSE: Duration = Duration::from_millis(200);

/// Looks until it has seen what it wants; panics with what it saw last. The closure is told how many tries there were
/// before.
///
/// A busy machine makes a runner late now and then, but not each time; who is wrong is wrong each time. What no load
/// explains, the closure asserts as any test does, and it is wrong at once.
pub fn tries<T>(mut look: impl FnMut(u32) -> Result<T, String>) -> T {
    let mut tried = 0;
    loop {
        match look(tried) {
            Ok(seen) => return seen,
            Err(what) if tried + 1 == TRIES => panic!("{what}, in the last of {TRIES} tries"),
            Err(_) => std::thread::sleep(PAUSE * (1 << tried)),
        }
        tried += 1;
    }
}

/// What a busy machine may spoil.
///
/// # Errors
/// What was seen instead.
pub fn timely(ok: bool, what: impl Display) -> Result<(), String> {
    if ok { Ok(()) } else { Err(what.to_string()) }
}
