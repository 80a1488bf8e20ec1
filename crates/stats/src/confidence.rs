//! Confidence levels of intervals.

use serde::Serialize;

use crate::StatsError;

/// A confidence level: the share of experiments whose interval covers the true value.
///
/// From 0.5 to 1 − 10⁻⁹. Below this range an interval is more likely wrong than right; above it no practical number of
/// rounds is sufficient.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
pub struct Confidence(f64);

const HIGHEST: f64 = 1.0 - 1e-9;

impl Confidence {
    /// 95 %, the default.
    pub const P95: Confidence = Confidence(0.95);
    /// 99 %.
    pub const P99: Confidence = Confidence(0.99);

    /// A confidence level from a fraction.
    ///
    /// # Errors
    /// [`StatsError::OutOfDomain`] outside 0.5 ..= 1 − 10⁻⁹.
    pub fn new(level: f64) -> Result<Self, StatsError> {
        if (0.5..=HIGHEST).contains(&level) {
            Ok(Self(level))
        } else {
            Err(StatsError::OutOfDomain { what: "confidence", value: level, domain: "from 0.5 to 0.999999999" })
        }
    }

    /// The level as a fraction.
    #[must_use]
    pub fn level(self) -> f64 {
        self.0
    }

    /// The accepted rate of false differences, 1 − level.
    #[must_use]
    pub fn alpha(self) -> f64 {
        1.0 - self.0
    }

    /// The level that each of `comparisons` intervals needs so that **all** of them hold together at this level: 1 −
    /// α/m (Bonferroni).
    ///
    /// Why not Holm's own levels: a step-down procedure has no simple simultaneous intervals, since the level of each
    /// depends on which others were rejected. Bonferroni's are valid and agree with [`holm`](crate::holm) in the
    /// direction that matters: Holm also rejects a cell whose interval at this level excludes 1, because it rejects
    /// whatever Bonferroni rejects. The converse fails, so the interval of a Holm-significant cell can contain 1.
    ///
    /// The price is rounds: at 95 %, one comparison needs 6 and ten need 9 (see
    /// [`minimum_rounds`](crate::minimum_rounds)).
    ///
    /// # Errors
    /// [`StatsError::OutOfDomain`] for no comparisons, or for a number that takes the level out of its domain.
    pub fn shared_by(self, comparisons: usize) -> Result<Self, StatsError> {
        if comparisons == 0 {
            return Err(StatsError::OutOfDomain { what: "number of comparisons", value: 0.0, domain: "at least 1" });
        }
        if comparisons == 1 {
            return Ok(self);
        }
        Self::new(1.0 - self.alpha() / comparisons as f64)
    }
}

/// Minimum number of rounds for an interval of a paired comparison, or of a median, at this level: the least n with
/// 2·2⁻ⁿ ≤ α. 6 at 95 %, 8 at 99 %.
#[must_use]
pub fn minimum_rounds(confidence: Confidence) -> usize {
    // The level is at most 1 − 10⁻⁹, so this is at most 31. The subtraction prevents rounding up for levels such as
    // 0.5, whose logarithm is an integer.
    (1.0 - confidence.alpha().log2() - 1e-9).ceil() as usize
}

impl Default for Confidence {
    fn default() -> Self {
        Self::P95
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_levels_without_meaning() {
        for level in [f64::NAN, 0.0, 0.49, 1.0, 95.0, -0.95, f64::INFINITY] {
            assert!(Confidence::new(level).is_err(), "{level}");
        }
        assert_eq!(Confidence::new(0.95).unwrap(), Confidence::P95);
    }

    #[test]
    fn shares_alpha_and_not_the_level() {
        let shared = Confidence::P95.shared_by(10).unwrap();
        assert!((shared.level() - 0.995).abs() < 1e-12);
        assert_eq!(Confidence::P95.shared_by(1).unwrap(), Confidence::P95);
        assert!(Confidence::P95.shared_by(0).is_err());
        assert!(Confidence::P95.shared_by(usize::MAX).is_err());
    }
}
