//! A value with its interval.

use litelab_stats::Estimate;

/// A measured value in the unit of its chart, with its interval if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// The point estimate.
    pub value: f64,
    /// Ends of the interval, the lower one first. An infinite end, or a lower end of 0 of a ratio, is open: it is drawn
    /// as an arrow to the border.
    pub range: Option<(f64, f64)>,
}

impl Reading {
    /// Creates a value with its interval.
    #[cfg(test)]
    pub(crate) fn within(value: f64, low: f64, high: f64) -> Self {
        Self { value, range: Some((low, high)) }
    }
}

impl From<f64> for Reading {
    fn from(value: f64) -> Self {
        Self { value, range: None }
    }
}

impl From<&Estimate> for Reading {
    fn from(estimate: &Estimate) -> Self {
        Self { value: estimate.value, range: estimate.interval().map(|i| (i.low(), i.high())) }
    }
}
