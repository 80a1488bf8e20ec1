//! The monotonic clock that latencies are read off.

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
