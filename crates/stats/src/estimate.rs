//! Estimates: numbers with their uncertainty, so that no formatter can lose it.

use serde::{Deserialize, Serialize};

use crate::StatsError;

/// A closed interval and the probability with which its method covers the true value.
///
/// The ends are finite and in order, which construction and deserialisation enforce.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawInterval")]
pub struct Interval {
    low: f64,
    high: f64,
    confidence: f64,
}

impl Interval {
    /// An interval with **achieved** coverage `confidence`, a fraction. Exact methods have discrete coverages, so it is
    /// usually slightly above the requested level.
    ///
    /// # Errors
    /// [`StatsError::NotARange`] unless low ≤ high and both are finite; [`StatsError::OutOfDomain`] for a confidence
    /// outside 0 ..= 1.
    pub fn new(low: f64, high: f64, confidence: f64) -> Result<Self, StatsError> {
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Err(StatsError::NotARange { low, high });
        }
        if !(0.0..=1.0).contains(&confidence) {
            return Err(StatsError::OutOfDomain { what: "confidence", value: confidence, domain: "from 0 to 1" });
        }
        Ok(Self { low, high, confidence })
    }

    /// Lower end, in the unit of the estimate.
    #[must_use]
    pub fn low(&self) -> f64 {
        self.low
    }

    /// Upper end, in the unit of the estimate.
    #[must_use]
    pub fn high(&self) -> f64 {
        self.high
    }

    /// Achieved coverage as a fraction.
    #[must_use]
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// Whether `value` lies between the ends, both included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// ln(high / low), the width of an interval on a ratio; `None` if low ≤ 0.
    #[must_use]
    pub fn log_width(&self) -> Option<f64> {
        (self.low > 0.0).then(|| crate::sample::log_ratio(self.low, self.high))
    }
}

#[derive(Deserialize)]
struct RawInterval {
    low: f64,
    high: f64,
    confidence: f64,
}

impl TryFrom<RawInterval> for Interval {
    type Error = StatsError;

    fn try_from(raw: RawInterval) -> Result<Self, StatsError> {
        Self::new(raw.low, raw.high, raw.confidence)
    }
}

/// Precision of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bounds {
    /// The interval of the value.
    Interval(Interval),
    /// Unknown: an interval at the requested level needs at least this many observations.
    NeedsAtLeast(usize),
}

/// A point estimate, the number of independent observations behind it, and its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The point estimate, in the unit of the observations (or a ratio).
    pub value: f64,
    /// Number of independent observations: trials or rounds, never operations.
    pub n: usize,
    /// The interval, or the number of observations that it needs.
    pub bounds: Bounds,
}

impl Estimate {
    /// The interval; `None` with too few observations.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        match self.bounds {
            Bounds::Interval(interval) => Some(interval),
            Bounds::NeedsAtLeast(_) => None,
        }
    }

    /// Lower end of the interval; `None` with too few observations.
    #[must_use]
    pub fn low(&self) -> Option<f64> {
        self.interval().map(|interval| interval.low)
    }

    /// Upper end of the interval; `None` with too few observations.
    #[must_use]
    pub fn high(&self) -> Option<f64> {
        self.interval().map(|interval| interval.high)
    }

    /// Achieved coverage as a fraction; `None` with too few observations.
    #[must_use]
    pub fn confidence(&self) -> Option<f64> {
        self.interval().map(|interval| interval.confidence)
    }

    /// Number of observations that an interval needs; `None` if there is one.
    #[must_use]
    pub fn needs(&self) -> Option<usize> {
        match self.bounds {
            Bounds::Interval(_) => None,
            Bounds::NeedsAtLeast(n) => Some(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_cannot_be_inside_out() {
        assert!(Interval::new(1.0, 2.0, 0.95).is_ok());
        assert!(Interval::new(2.0, 1.0, 0.95).is_err());
        assert!(Interval::new(f64::NAN, 1.0, 0.95).is_err());
        assert!(Interval::new(0.0, f64::INFINITY, 0.95).is_err());
        assert!(Interval::new(1.0, 2.0, 95.0).is_err());
        let inside_out = r#"{"low":2.0,"high":1.0,"confidence":0.95}"#;
        assert!(serde_json::from_str::<Interval>(inside_out).is_err());
    }

    #[test]
    fn the_bounds_survive_json() {
        let known = Estimate { value: 1.5, n: 6, bounds: Bounds::Interval(Interval::new(1.0, 2.0, 0.96875).unwrap()) };
        let unknown = Estimate { value: 1.5, n: 5, bounds: Bounds::NeedsAtLeast(6) };
        for estimate in [known, unknown] {
            let json = serde_json::to_string(&estimate).unwrap();
            assert_eq!(serde_json::from_str::<Estimate>(&json).unwrap(), estimate);
        }
        assert_eq!(known.low(), Some(1.0));
        assert_eq!(unknown.low(), None);
        assert_eq!(unknown.needs(), Some(6));
    }
}
