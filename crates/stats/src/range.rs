//! Range of the ratios that a claim allows.

use serde::{Deserialize, Serialize};

use crate::StatsError;

/// The ratios that a claim allows. Both ends belong to the range, and one can be open.
///
/// "At least twice as fast" is `[2, ∞)`, "no more than 10 % slower" `[0.9, ∞)`, "makes no difference" a band around 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawRange")]
pub struct ExpectedRange {
    low: Option<f64>,
    high: Option<f64>,
}

impl ExpectedRange {
    /// A range of finite, positive ratios; `None` leaves an end open.
    ///
    /// # Errors
    /// [`StatsError::NotARange`] if both ends are open (nothing is claimed), if low > high, or if an end is not a
    /// finite positive number.
    pub fn new(low: Option<f64>, high: Option<f64>) -> Result<Self, StatsError> {
        let from = low.unwrap_or(f64::NEG_INFINITY);
        let to = high.unwrap_or(f64::INFINITY);
        let ends = [low, high];
        let positive = ends.iter().flatten().all(|end| end.is_finite() && *end > 0.0);
        let claims_something = low.is_some() || high.is_some();
        if positive && claims_something && from <= to {
            Ok(Self { low, high })
        } else {
            Err(StatsError::NotARange { low: from, high: to })
        }
    }

    /// The range of ratios of at least `low`.
    ///
    /// # Errors
    /// The errors of [`ExpectedRange::new`].
    pub fn at_least(low: f64) -> Result<Self, StatsError> {
        Self::new(Some(low), None)
    }

    /// The range of ratios of at most `high`.
    ///
    /// # Errors
    /// The errors of [`ExpectedRange::new`].
    pub fn at_most(high: f64) -> Result<Self, StatsError> {
        Self::new(None, Some(high))
    }

    /// Lower end; `None` if open.
    #[must_use]
    pub fn low(&self) -> Option<f64> {
        self.low
    }

    /// Upper end; `None` if open.
    #[must_use]
    pub fn high(&self) -> Option<f64> {
        self.high
    }
}

#[derive(Deserialize)]
struct RawRange {
    low: Option<f64>,
    high: Option<f64>,
}

impl TryFrom<RawRange> for ExpectedRange {
    type Error = StatsError;

    fn try_from(raw: RawRange) -> Result<Self, StatsError> {
        Self::new(raw.low, raw.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_claims_nothing_is_refused() {
        assert!(ExpectedRange::new(None, None).is_err());
        assert!(ExpectedRange::new(Some(2.0), Some(1.0)).is_err());
        assert!(ExpectedRange::at_least(0.0).is_err());
        assert!(ExpectedRange::at_most(f64::NAN).is_err());
        assert!(ExpectedRange::at_most(f64::INFINITY).is_err());
        assert!(serde_json::from_str::<ExpectedRange>("{}").is_err());
        let half_open: ExpectedRange = serde_json::from_str(r#"{"low":2.0}"#).unwrap();
        assert_eq!(half_open, ExpectedRange::at_least(2.0).unwrap());
    }
}
