//! The policy that decides whether another attempt follows a failed one, and after which pause.

use litelab_protocol::{Retry, codes};

use crate::fault::Fault;

/// [`Retry`] with names resolved to result codes.
pub struct RetryPolicy {
    attempts: u32,
    backoff: u64,
    multiplier: f64,
    longest: u64,
    on: Vec<i32>,
}

impl RetryPolicy {
    /// Fails if a name is not a result code.
    pub fn new(retry: &Retry) -> Result<Self, Fault> {
        let code = |name: &String| codes::code(name).ok_or_else(|| Fault::Other(format!("`{name}` is no result code")));
        Ok(Self {
            attempts: retry.attempts,
            backoff: retry.backoff_us.saturating_mul(1_000),
            multiplier: retry.multiplier,
            longest: retry.max_backoff_us.saturating_mul(1_000),
            on: retry.on.iter().map(code).collect::<Result<_, _>>()?,
        })
    }

    /// Nanoseconds until the next attempt, after attempts that ended with these errors; `None` after the last attempt.
    pub fn after(&self, errors: &[(i32, String)]) -> Option<u64> {
        let (code, _) = errors.last()?;
        self.again(errors.len() as u32, *code)
    }

    /// Nanoseconds until the next attempt after attempt `done`, counted from 1, has ended with this code.
    fn again(&self, done: u32, code: i32) -> Option<u64> {
        (done < self.attempts && self.covers(code)).then(|| self.pause(done))
    }

    /// Whether the policy lists this code; a primary code includes its extended ones.
    fn covers(&self, seen: i32) -> bool {
        self.on.iter().any(|&listed| listed == seen || listed == seen & 0xFF)
    }

    fn pause(&self, done: u32) -> u64 {
        // Above 2^63 the conversion saturates, and the longest pause applies.
        let grown = self.backoff as f64 * self.multiplier.powi(done as i32 - 1);
        (grown as u64).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(on: &[&str]) -> RetryPolicy {
        let on = on.iter().map(|s| (*s).into()).collect();
        let retry = Retry { attempts: 5, backoff_us: 100, multiplier: 2.0, max_backoff_us: 350, on };
        RetryPolicy::new(&retry).expect("valid")
    }

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let retry = policy(&["SQLITE_BUSY"]);
        assert_eq!([1, 2, 3, 400].map(|n| retry.pause(n)), [100_000, 200_000, 350_000, 350_000]);
    }

    #[test]
    fn a_primary_code_stands_for_its_extended_ones_only() {
        let retry = policy(&["SQLITE_BUSY", "SQLITE_LOCKED_SHAREDCACHE"]);
        assert!(retry.covers(5) && retry.covers(517) && retry.covers(262));
        assert!(!retry.covers(6) && !retry.covers(13));
        // After the fifth of five attempts no other follows.
        assert_eq!((retry.again(1, 5), retry.again(4, 517), retry.again(5, 5)), (Some(100_000), Some(350_000), None));
        assert_eq!(retry.again(1, 6), None);
    }
}
