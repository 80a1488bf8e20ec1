//! The monotonic clock that latencies are read off.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// What reading the clock costs, and its smallest step. Of the core; runners in Rust read the same clock in the same
/// way, and the cost of any other's is part of [`super::RunnerCost`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Nanoseconds per reading, the least mean of several rounds: what disturbs a round only ever adds to it.
    pub cost_ns: f64,
    /// The smallest step seen between two readings, nanoseconds. Not below the cost of a reading where that is longer
    /// than the clock's own step.
    pub resolution_ns: u64,
}

/// Readings in a round, and rounds.
const READINGS: u32 = 10_000;
const ROUNDS: u32 = 20;

impl Clock {
    /// Reads the clock 200,000 times: some milliseconds, and not much more where a reading is a system call.
    #[must_use]
    pub fn measure() -> Self {
        let mut cost_ns = f64::INFINITY;
        let mut resolution_ns = u64::MAX;
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            let mut before = begin;
            for _ in 0..READINGS {
                let now = Instant::now();
                let step = now.duration_since(before).as_nanos() as u64;
                if step > 0 {
                    resolution_ns = resolution_ns.min(step);
                }
                before = now;
            }
            cost_ns = cost_ns.min(before.duration_since(begin).as_nanos() as f64 / f64::from(READINGS));
        }
        Self { cost_ns, resolution_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_costs_something_and_moves() {
        let clock = Clock::measure();
        // No bound above: this machine may be busy.
        assert!(clock.cost_ns > 0.0 && clock.cost_ns.is_finite(), "{clock:?}");
        assert!((1..u64::MAX).contains(&clock.resolution_ns), "{clock:?}");
    }
}
