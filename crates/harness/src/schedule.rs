//! Arrivals of an open load: one schedule for all workers of a role, from `go` on.

use std::sync::{Mutex, PoisonError};

use litelab_protocol::generator::{Stream, unit};
use litelab_protocol::{Arrivals, Load, Role};

use crate::fault::Fault;

/// The schedule of one role.
pub struct Schedule {
    rate: f64,
    arrivals: Arrivals,
    /// Constant arrivals: time from `go` to the first arrival, as a fraction of the gap; 1, and less in one process of
    /// several.
    phase: f64,
    stream: Stream,
    next: Mutex<Next>,
}

#[derive(Default)]
struct Next {
    number: u64,
    /// Seconds from `go` to the last arrival taken; exponential gaps only.
    elapsed: f64,
    /// Due times of arrivals that a worker has taken too late to start them.
    left: Vec<u64>,
}

impl Schedule {
    /// The schedule of a role; `None` under a closed load.
    pub fn new(seed: u64, role: &Role) -> Result<Option<Self>, Fault> {
        let Load::Open { rate, arrivals } = role.load else { return Ok(None) };
        if !(rate.is_finite() && rate > 0.0) {
            return Err(Fault::Other(format!("role `{}`: a rate of {rate} is none", role.name)));
        }
        let stream = Stream::new(seed, &format!("{}.arrivals.{}", role.name, role.first_in_role));
        let phase = f64::from(role.first_in_role + role.workers) / f64::from(role.workers_in_role);
        Ok(Some(Self { rate, arrivals, phase, stream, next: Mutex::default() }))
    }

    /// Takes the next arrival and returns its due time, in nanoseconds from `go`. Returns `None` and takes nothing if
    /// it is due after `end`.
    pub fn take(&self, end: u64) -> Option<u64> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let (elapsed, due) = self.after(&next);
        if due > end {
            return None;
        }
        next.number += 1;
        next.elapsed = elapsed;
        Some(due)
    }

    /// Returns an arrival that was taken and not started.
    pub fn leave(&self, due: u64) {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).left.push(due);
    }

    /// Number of arrivals due until `end` that no worker has started. Takes all that are left in the schedule.
    pub fn unserved(&self, end: u64) -> u64 {
        let never_taken = std::iter::from_fn(|| self.take(end)).count();
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        (never_taken + next.left.iter().filter(|&&due| due <= end).count()) as u64
    }

    /// A gap precedes each arrival, including the first: no arrival is due at `go`.
    fn after(&self, next: &Next) -> (f64, u64) {
        let elapsed = match self.arrivals {
            // Computed from the number, not by addition, so that rounding errors do not accumulate.
            Arrivals::Constant => (next.number as f64 + self.phase) / self.rate,
            Arrivals::Poisson => next.elapsed - (1.0 - unit(self.stream.word(next.number))).ln() / self.rate,
        };
        (elapsed, (elapsed * 1e9) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use litelab_protocol::Until;

    fn schedule(rate: f64, arrivals: Arrivals) -> Schedule {
        let mut role = crate::testing::role("r", 1, &[], Until::Time { ms: 1 });
        role.load = Load::Open { rate, arrivals };
        Schedule::new(3, &role).expect("valid").expect("open")
    }

    #[test]
    fn constant_gaps_are_equal() {
        let schedule = schedule(1_000.0, Arrivals::Constant);
        let dues: Vec<_> = std::iter::from_fn(|| schedule.take(5_500_000)).collect();
        assert_eq!(dues, [1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000]);
    }

    #[test]
    fn exponential_gaps_have_their_mean_and_deviation() {
        let schedule = schedule(1_000.0, Arrivals::Poisson);
        let dues: Vec<_> = std::iter::from_fn(|| schedule.take(100_000_000_000)).collect();
        // 100 s at 1000/s: the standard deviation of the count of a Poisson process is sqrt(100000) = 316.
        assert!((98_700..101_300).contains(&dues.len()), "{}", dues.len());
        let gaps: Vec<f64> = dues.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn what_nobody_started_is_unserved() {
        let schedule = schedule(1_000.0, Arrivals::Constant);
        let taken = schedule.take(10_500_000).expect("due");
        assert!(schedule.take(10_500_000).is_some());
        schedule.leave(taken);
        assert_eq!(schedule.unserved(10_500_000), 9);
    }
}
