//! Measurements of `litelab calibrate` other than its A/A experiments.

mod clock;
mod runners;
mod sync;

pub use clock::clock;
pub use runners::runner_costs;
pub use sync::sync;
