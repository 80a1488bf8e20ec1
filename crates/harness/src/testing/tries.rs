//! Repetition of checks that a busy machine can spoil.

use std::fmt::Display;
use std::time::Duration;

/// Largest number of tries.
const TRIES: u32 = 6;
/// Pause before the second try; each further pause is twice as long, so that a burst of load can pass.
const PAUSE: Duration = Duration::from_millis(200);

/// Calls `look` with the number of earlier tries until it returns `Ok`; panics with the last error.
///
/// A busy machine delays a runner occasionally, a defect delays it every time. The closure asserts whatever load cannot
/// explain, and such a failure ends the test at once.
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

/// Result of a check that a busy machine may spoil.
///
/// # Errors
/// The observed value, if the check failed.
pub fn timely(ok: bool, what: impl Display) -> Result<(), String> {
    if ok { Ok(()) } else { Err(what.to_string()) }
}
