//! Measurements of `litelab calibrate` other than its A/A experiments.

mod clock;
mod runners;

pub use clock::clock;
pub use runners::runner_costs;
