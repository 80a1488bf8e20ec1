//! Cost of a runner.

use serde::{Deserialize, Serialize};

/// Cost of a runner itself, without a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunnerCost {
    /// Name of the runner.
    pub runner: String,
    /// Programming language.
    pub language: String,
    /// Version of its language runtime.
    pub runtime: String,
    /// Nanoseconds per transaction of one insert, inside and between transactions: median, minimum and maximum of
    /// trials.
    pub nanos: (f64, f64, f64),
    /// Number of trials.
    pub trials: u32,
}
