//! Verdicts: the conclusions that a comparison supports.

use serde::Serialize;

use crate::{Interval, StatsError};

/// Direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Higher values are better: throughput, goodput.
    Higher,
    /// Lower values are better: latency, CPU time, bytes.
    Lower,
}

/// The relative difference δ below which variants count as equivalent: ratios inside (1/(1 + δ), 1 + δ). It is a choice
/// of the reader, not a statistic. From 10⁻⁹ to 100 (a factor of 101).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
pub struct Tolerance(f64);

impl Tolerance {
    /// 5 %, the default.
    pub const DEFAULT: Tolerance = Tolerance(0.05);

    /// A tolerance from a fraction.
    ///
    /// # Errors
    /// [`StatsError::OutOfDomain`] unless 10⁻⁹ ≤ delta ≤ 100.
    pub fn new(delta: f64) -> Result<Self, StatsError> {
        if (1e-9..=100.0).contains(&delta) {
            Ok(Self(delta))
        } else {
            Err(StatsError::OutOfDomain { what: "tolerance", value: delta, domain: "a fraction from 1e-9 to 100" })
        }
    }

    /// δ as a fraction.
    #[must_use]
    pub fn delta(self) -> f64 {
        self.0
    }

    /// ln(1 + δ), half the width of the band of equivalence in log-ratio.
    #[must_use]
    pub fn log(self) -> f64 {
        self.0.ln_1p()
    }

    /// Whether the whole interval lies strictly inside (1/(1 + δ), 1 + δ).
    #[must_use]
    pub fn holds(self, interval: Interval) -> bool {
        let edge = 1.0 + self.0;
        1.0 / edge < interval.low() && interval.high() < edge
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Result of comparing B with A. Four values, because "no difference was shown" and "they are equivalent" differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// B is better than A.
    Faster,
    /// B is worse than A.
    Slower,
    /// B is as good as A within the tolerance: this was shown, not merely not refuted.
    Equivalent,
    /// The available rounds support none of the three.
    Inconclusive {
        /// Rounds to run **in addition** to the available ones; `None` if no practical number is expected to suffice.
        rounds_needed: Option<u32>,
    },
}

impl Verdict {
    /// The verdict of an interval of the ratio B/A. `rounds_needed` is returned if the result is inconclusive.
    ///
    /// - **Equivalent** iff the interval lies wholly inside the band of the tolerance, even if it excludes 1: a
    ///   difference too small to matter is no reason to choose.
    /// - **Faster** or **Slower** iff the interval excludes 1 and is not wholly inside the band. The difference is then
    ///   established; that it exceeds the tolerance is not, unless the whole interval lies beyond the band.
    /// - **Inconclusive** otherwise, and without an interval.
    #[must_use]
    pub fn judge(interval: Option<Interval>, tolerance: Tolerance, better: Better, rounds_needed: Option<u32>) -> Self {
        let Some(interval) = interval else {
            return Verdict::Inconclusive { rounds_needed };
        };
        if tolerance.holds(interval) {
            return Verdict::Equivalent;
        }
        let (above, below) = match better {
            Better::Higher => (Verdict::Faster, Verdict::Slower),
            Better::Lower => (Verdict::Slower, Verdict::Faster),
        };
        if interval.low() > 1.0 {
            above
        } else if interval.high() < 1.0 {
            below
        } else {
            Verdict::Inconclusive { rounds_needed }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(low: f64, high: f64, better: Better) -> Verdict {
        let interval = Interval::new(low, high, 0.95).unwrap();
        Verdict::judge(Some(interval), Tolerance::DEFAULT, better, Some(7))
    }

    const OPEN: Verdict = Verdict::Inconclusive { rounds_needed: Some(7) };

    #[test]
    fn the_rule_case_by_case() {
        let cases = [
            (1.10, 1.20, Verdict::Faster, "beyond the band"),
            (1.01, 1.20, Verdict::Faster, "excludes 1 and leaves the band"),
            (1.01, 1.04, Verdict::Equivalent, "excludes 1 inside the band"),
            (0.97, 1.04, Verdict::Equivalent, "inside the band around 1"),
            (0.97, 1.06, OPEN, "around 1 and out above"),
            (0.90, 1.04, OPEN, "around 1 and out below"),
            (0.951, 1.01, OPEN, "out below: the band ends at 1/1.05, not at 0.95"),
            (0.953, 1.01, Verdict::Equivalent, "just inside 1/1.05"),
            (0.50, 2.00, OPEN, "wider than the band"),
            (1.00, 1.20, OPEN, "touches 1"),
            (0.80, 1.00, OPEN, "touches 1 from below"),
            (1.01, 1.05, Verdict::Faster, "reaches the edge, which is outside"),
            (0.80, 0.99, Verdict::Slower, "below 1 and out"),
            (0.96, 0.99, Verdict::Equivalent, "below 1 inside the band"),
        ];
        for (low, high, expected, case) in cases {
            assert_eq!(judge(low, high, Better::Higher), expected, "{case}");
        }
    }

    #[test]
    fn lower_is_better_swaps_faster_and_slower_only() {
        assert_eq!(judge(1.10, 1.20, Better::Lower), Verdict::Slower);
        assert_eq!(judge(0.80, 0.90, Better::Lower), Verdict::Faster);
        assert_eq!(judge(0.99, 1.01, Better::Lower), Verdict::Equivalent);
        assert_eq!(judge(0.50, 2.00, Better::Lower), OPEN);
    }

    #[test]
    fn without_an_interval_nothing_is_said() {
        let none = Verdict::judge(None, Tolerance::DEFAULT, Better::Higher, None);
        assert_eq!(none, Verdict::Inconclusive { rounds_needed: None });
    }

    #[test]
    fn a_tolerance_is_a_fraction() {
        for bad in [0.0, -0.05, f64::NAN, f64::INFINITY, 500.0] {
            assert!(Tolerance::new(bad).is_err(), "{bad}");
        }
    }
}
