//! The cost of a runner.

use serde::{Deserialize, Serialize};

/// A runner's own cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunnerCost {
    /// The runner.
    pub runner: String,
    /// What it is written in.
    pub language: String,
    /// Version of its runtime.
    pub runtime: String,
    /// Nanoseconds per transaction of one insert, inside it and between two: median, least and most over its trials.
    pub nanos: (f64, f64, f64),
    /// Trials.
    pub trials: u32,
}
