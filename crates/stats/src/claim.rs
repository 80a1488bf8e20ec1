//! Verdicts on claims about a ratio.

use serde::Serialize;

use crate::{Estimate, Planner, StatsError};

/// The ratios that a claim allows. Both ends belong to the range, and one can be open.
///
/// "At least twice as fast" is `[2, ∞)`, "no more than 10 % slower" `[0.9, ∞)`, "makes no difference" a band around 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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

/// Result of testing a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum ClaimVerdict {
    /// The interval lies within the range of the claim.
    Holds,
    /// The interval lies outside the range of the claim.
    Contradicted,
    /// The interval lies partly within the range, or there is none.
    Inconclusive {
        /// Rounds to run **in addition** to the available ones; `None` if no practical number is expected to suffice.
        rounds_needed: Option<u32>,
    },
}

impl ClaimVerdict {
    /// The verdict of the measured ratio on a claim. The planner must have the confidence level of the interval.
    #[must_use]
    pub fn judge(ratio: &Estimate, expected: &ExpectedRange, planner: &Planner) -> Self {
        let open = || ClaimVerdict::Inconclusive { rounds_needed: planner.more_to_settle(ratio, expected) };
        let Some(interval) = ratio.interval() else {
            return open();
        };
        let from = expected.low.unwrap_or(f64::NEG_INFINITY);
        let to = expected.high.unwrap_or(f64::INFINITY);
        if from <= interval.low() && interval.high() <= to {
            ClaimVerdict::Holds
        } else if interval.high() < from || to < interval.low() {
            ClaimVerdict::Contradicted
        } else {
            open()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bounds, Interval};

    fn measured(low: f64, value: f64, high: f64) -> Estimate {
        Estimate { value, n: 10, bounds: Bounds::Interval(Interval::new(low, high, 0.95).unwrap()) }
    }

    fn judge(ratio: &Estimate, low: Option<f64>, high: Option<f64>) -> ClaimVerdict {
        let expected = ExpectedRange::new(low, high).unwrap();
        ClaimVerdict::judge(ratio, &expected, &Planner::default())
    }

    #[test]
    fn the_rule_case_by_case() {
        let ratio = measured(1.8, 2.0, 2.2);
        assert_eq!(judge(&ratio, Some(1.5), None), ClaimVerdict::Holds);
        assert_eq!(judge(&ratio, Some(1.8), Some(2.2)), ClaimVerdict::Holds);
        assert_eq!(judge(&ratio, Some(3.0), None), ClaimVerdict::Contradicted);
        assert_eq!(judge(&ratio, None, Some(1.7)), ClaimVerdict::Contradicted);
        for (low, high) in [(Some(1.9), None), (None, Some(2.1)), (None, Some(1.8)), (Some(1.9), Some(2.1))] {
            let verdict = judge(&ratio, low, high);
            assert!(
                matches!(verdict, ClaimVerdict::Inconclusive { rounds_needed: Some(1..) }),
                "{low:?} {high:?}: {verdict:?}"
            );
        }
    }

    #[test]
    fn too_few_rounds_leave_every_claim_open() {
        let ratio = Estimate { value: 9.0, n: 4, bounds: Bounds::NeedsAtLeast(6) };
        let verdict = judge(&ratio, Some(1.0), None);
        assert_eq!(verdict, ClaimVerdict::Inconclusive { rounds_needed: Some(2) });
    }

    #[test]
    fn a_claim_that_claims_nothing_is_refused() {
        assert!(ExpectedRange::new(None, None).is_err());
        assert!(ExpectedRange::new(Some(2.0), Some(1.0)).is_err());
        assert!(ExpectedRange::at_least(0.0).is_err());
        assert!(ExpectedRange::at_most(f64::NAN).is_err());
        assert!(ExpectedRange::at_most(f64::INFINITY).is_err());
    }
}
