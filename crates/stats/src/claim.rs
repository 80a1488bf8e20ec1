//! Verdicts on claims about a ratio.

use serde::Serialize;

use crate::{Estimate, Planner};

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
    /// The verdict of the measured ratio on a claim. Both bounds belong to its range; `None` leaves an end open. "At
    /// least twice as fast" is `[2, ∞)`, "no more than 10 % slower" `[0.9, ∞)`, "makes no difference" a band around 1;
    /// without a bound nothing is claimed. The planner must have the confidence level of the interval.
    #[must_use]
    pub fn judge(ratio: &Estimate, at_least: Option<f64>, at_most: Option<f64>, planner: &Planner) -> Self {
        let open = || ClaimVerdict::Inconclusive { rounds_needed: planner.more_to_settle(ratio, at_least, at_most) };
        let Some(interval) = ratio.interval().filter(|_| at_least.is_some() || at_most.is_some()) else {
            return open();
        };
        let from = at_least.unwrap_or(f64::NEG_INFINITY);
        let to = at_most.unwrap_or(f64::INFINITY);
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
        ClaimVerdict::judge(ratio, low, high, &Planner::default())
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
    fn without_a_bound_that_a_ratio_can_have_there_is_no_forecast() {
        let open = ClaimVerdict::Inconclusive { rounds_needed: None };
        let ratio = measured(1.8, 2.0, 2.2);
        let few = Estimate { n: 4, bounds: Bounds::NeedsAtLeast(6), ..ratio };
        for estimate in [&ratio, &few] {
            assert_eq!(judge(estimate, None, None), open, "{estimate:?}");
            assert_eq!(judge(estimate, Some(2.0), Some(f64::NAN)), open, "{estimate:?}");
            assert_eq!(judge(estimate, Some(2.0), Some(f64::INFINITY)), open, "{estimate:?}");
        }
        assert_eq!(judge(&few, None, Some(0.0)), open);
        // No ratio is 0, but a value can be.
        assert_eq!(judge(&ratio, Some(0.0), None), ClaimVerdict::Holds);
        assert_eq!(judge(&ratio, None, Some(0.0)), ClaimVerdict::Contradicted);
        assert_eq!(judge(&measured(0.0, 0.0, 0.012), None, Some(0.0)), open);
    }
}
