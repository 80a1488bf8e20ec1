//! The monotonic clock used to measure latencies.

use serde::{Deserialize, Serialize};

/// Cost and resolution of the clock, measured in litelab itself. Runners in Rust read the same clock in the same way;
/// the cost of other clocks is part of [`super::RunnerCost`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Nanoseconds per reading: smallest mean of several rounds, because disturbances only increase it.
    pub cost_ns: f64,
    /// Smallest step between two readings in nanoseconds. At least the cost of a reading, if that is longer than the
    /// step of the clock.
    pub resolution_ns: u64,
}
