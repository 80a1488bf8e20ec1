//! Cost and resolution of the monotonic clock.

use std::time::Instant;

use litelab_record::calibration::Clock;

/// Number of readings per round, and of rounds.
const READINGS: u32 = 10_000;
const ROUNDS: u32 = 20;

/// Reads the clock 200,000 times: a few milliseconds, slightly more where a reading is a system call.
#[must_use]
pub fn clock() -> Clock {
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
    Clock { cost_ns, resolution_ns }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_clock_costs_something_and_moves() {
        let clock = super::clock();
        // No upper bound, because this machine may be busy.
        assert!(clock.cost_ns > 0.0 && clock.cost_ns.is_finite(), "{clock:?}");
        assert!((1..u64::MAX).contains(&clock.resolution_ns), "{clock:?}");
    }
}
