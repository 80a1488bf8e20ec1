//! What a host can show at all, from A/A experiments; and what that means for a study that asks for more.

mod forecast;
mod noise;

pub use forecast::{Forecast, forecasts, forecasts_of};
pub use noise::{EXPERIMENT, SIZES, noise};
