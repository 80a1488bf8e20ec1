//! Smallest differences that a host can show, from A/A experiments, and forecasts for studies that require less.

mod forecast;
mod noise;

pub use forecast::{Forecast, forecasts, forecasts_of};
pub use noise::{EXPERIMENT, SIZES, noise};
