//! Forecasts of the number of rounds for a conclusion.

use crate::confidence::minimum_rounds;
use crate::null::{standard_quantile, two_sided_z};
use crate::sample::log_ratio;
use crate::{Confidence, Estimate, Spread, StatsError, Tolerance};

/// 1/0.955: number of observations of the signed-rank test relative to the t-test on normal data. At most 1/0.864 for
/// any distribution (Hodges and Lehmann 1956), and below 1 for heavy tails.
const RANK_TEST_COST: f64 = 1.05;

/// Minimum number of rounds for an interval at 95 %.
const FLOOR: usize = 6;

/// Forecasts numbers of rounds from the observed spread.
///
/// All results are forecasts from a spread that is itself estimated from few rounds: suitable for the decision whether
/// to continue, but not guaranteed. A new decision after every round would be optional stopping; fix the number of
/// decisions beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planner {
    confidence: Confidence,
    power: f64,
}

impl Planner {
    /// Largest forecast. More rounds are impractical, and the observed spread is too imprecise for a larger forecast.
    pub const MOST: u32 = 200;

    /// A planner for intervals at `confidence` that are conclusive with probability `power`.
    ///
    /// # Errors
    /// [`StatsError::OutOfDomain`] unless 0.5 ≤ power ≤ 0.999.
    pub fn new(confidence: Confidence, power: f64) -> Result<Self, StatsError> {
        if (0.5..=0.999).contains(&power) {
            Ok(Self { confidence, power })
        } else {
            Err(StatsError::OutOfDomain { what: "power", value: power, domain: "from 0.5 to 0.999" })
        }
    }

    /// Total number of rounds that detects a true difference of the size of the tolerance: 1.05·((z₁₋α/₂ + z₁₋β)·s /
    /// ln(1 + δ))² + z²₁₋α/₂/2, at least 6.
    ///
    /// The last term (Guenther 1981; two rounds at 95 %) compensates for the estimation of the spread from the same
    /// rounds. Without it a plan of a dozen rounds has a power of 70 % in place of 80 %.
    ///
    /// s is the spread at an effect of that size ([`Spread::at`]). `None` if it is invalid (negative, not finite), or
    /// if the number of rounds exceeds a `u32`.
    #[must_use]
    pub fn total_for_tolerance(&self, spread: Spread, tolerance: Tolerance) -> Option<u32> {
        let deviation = spread.at(tolerance.log());
        if !(deviation >= 0.0 && deviation.is_finite()) {
            return None;
        }
        let effect = (self.z_interval() + self.z_power()) * deviation / tolerance.log();
        let rounds = RANK_TEST_COST * effect * effect + self.z_interval().powi(2) / 2.0;
        whole(rounds.max(self.floor() as f64))
    }

    /// The smallest relative difference, as a fraction, that `rounds` rounds are expected to show: the tolerance for
    /// which [`Planner::total_for_tolerance`] returns this number, e^((z₁₋α/₂ + z₁₋β)·s·√(1.05/(n − z²₁₋α/₂/2))) − 1.
    ///
    /// `None` below the minimum number of rounds for an interval, for an invalid spread, or if the difference exceeds a
    /// factor of 101, the limit of [`Tolerance`].
    #[must_use]
    pub fn smallest_effect(&self, spread: Spread, rounds: u32) -> Option<f64> {
        let informed = f64::from(rounds) - self.z_interval().powi(2) / 2.0;
        if (rounds as usize) < self.floor() || informed <= 0.0 {
            return None;
        }
        let log = spread.effect((self.z_interval() + self.z_power()) * (RANK_TEST_COST / informed).sqrt());
        Some(log.exp_m1()).filter(|effect| (0.0..=100.0).contains(effect))
    }

    /// Additional rounds after which a comparison is expected to be conclusive: from 1 to 200, `None` if it takes more.
    ///
    /// If there are fewer rounds than the plan for the spread requires, the difference to the plan. Otherwise the
    /// spread was underestimated or the true ratio is near the edge; then the number that narrows the interval to ln(1
    /// + δ), because such an interval either excludes 1 or lies inside the band. Its width decreases as 1/√n.
    #[must_use]
    pub fn more_for_tolerance(&self, ratio: &Estimate, spread: Option<Spread>, tolerance: Tolerance) -> Option<u32> {
        let planned = spread.map_or(Some(0), |s| self.total_for_tolerance(s, tolerance))?;
        let Some(interval) = ratio.interval() else {
            let floor = ratio.needs().unwrap_or(0).max(planned as usize);
            return more(floor as f64, ratio.n);
        };
        if planned as usize > ratio.n {
            return more(f64::from(planned), ratio.n);
        }
        let shrink = interval.log_width()? / tolerance.log();
        more(ratio.n as f64 * shrink * shrink, ratio.n)
    }

    /// Additional rounds after which a claim with these bounds is expected to be settled: from 1 to 200, `None` if it
    /// takes more, without a bound, and with one that is not finite or not above 0.
    ///
    /// If the estimate does not move, the interval must shrink until it excludes the nearest bound of the claim; its
    /// width decreases as 1/√n. With h half its width and g the gap from the estimate to the bound, both in log-ratio,
    /// the total is n·((1 + z₁₋β/z₁₋α/₂)·h/g)², where the first factor allows for movement of the estimate. `None` if
    /// the estimate lies on the bound: no number of rounds is expected to settle that. For a count of 0 the upper end
    /// decreases as 1/n instead.
    #[must_use]
    pub fn more_to_settle(&self, ratio: &Estimate, at_least: Option<f64>, at_most: Option<f64>) -> Option<u32> {
        let bounds = || [at_least, at_most].into_iter().flatten();
        let first = bounds().next()?;
        if !bounds().all(|bound| bound.is_finite() && bound > 0.0) {
            return None;
        }
        let Some(interval) = ratio.interval() else {
            return more(ratio.needs().unwrap_or(0) as f64, ratio.n);
        };
        if ratio.value == 0.0 {
            return more(ratio.n as f64 * interval.high() / first, ratio.n);
        }
        let gap = bounds()
            .filter(|_| ratio.value > 0.0)
            .map(|bound| log_ratio(bound, ratio.value).abs())
            .min_by(f64::total_cmp)?;
        let margin = 1.0 + self.z_power() / self.z_interval();
        let shrink = margin * interval.log_width()? / 2.0 / gap;
        more(ratio.n as f64 * shrink * shrink, ratio.n)
    }

    fn floor(&self) -> usize {
        minimum_rounds(self.confidence).max(FLOOR)
    }

    fn z_interval(&self) -> f64 {
        two_sided_z(self.confidence)
    }

    fn z_power(&self) -> f64 {
        standard_quantile(self.power)
    }
}

/// 95 % confidence and 80 % power.
impl Default for Planner {
    fn default() -> Self {
        Self { confidence: Confidence::P95, power: 0.8 }
    }
}

/// The number rounded up; `None` if it exceeds a `u32`.
fn whole(rounds: f64) -> Option<u32> {
    let up = rounds.ceil();
    (up <= f64::from(u32::MAX)).then_some(up as u32)
}

/// The rounds missing from `have` to `total`, at least one because the question is still open; `None` above
/// [`Planner::MOST`].
fn more(total: f64, have: usize) -> Option<u32> {
    whole((total.ceil() - have as f64).max(1.0)).filter(|rounds| total.is_finite() && *rounds <= Planner::MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bounds, Interval};

    fn measured(low: f64, value: f64, high: f64, n: usize) -> Estimate {
        Estimate { value, n, bounds: Bounds::Interval(Interval::new(low, high, 0.95).unwrap()) }
    }

    #[test]
    fn sharp_metrics_need_the_floor_and_blunt_ones_hundreds() {
        let planner = Planner::default();
        let rounds = |s| planner.total_for_tolerance(Spread::normal(s), Tolerance::DEFAULT);
        // 1.05·((1.95996 + 0.84162)·s/0.04879)² + 1.95996²/2
        assert_eq!(rounds(0.025), Some(6));
        assert_eq!(rounds(0.32), Some(357));
        assert_eq!(rounds(0.0), Some(6));
        assert_eq!(rounds(f64::NAN), None);
        assert_eq!(rounds(-1.0), None);
        assert_eq!(rounds(f64::INFINITY), None);
        assert_eq!(rounds(1e9), None);
    }

    #[test]
    fn a_shared_confidence_raises_the_floor() {
        let shared = Confidence::P95.shared_by(10).unwrap();
        let planner = Planner::new(shared, 0.8).unwrap();
        assert_eq!(planner.total_for_tolerance(Spread::normal(0.0), Tolerance::DEFAULT), Some(9));
        assert!(Planner::new(shared, 1.0).is_err());
        assert!(Planner::new(shared, f64::NAN).is_err());
    }

    #[test]
    fn the_smallest_effect_is_the_inverse_of_the_rounds_it_takes() {
        for planner in [Planner::default(), Planner::new(Confidence::P99, 0.9).unwrap()] {
            for spread in [0.01, 0.08, 0.3].map(Spread::normal) {
                for rounds in [9, 10, 20, 40, 357] {
                    let effect = planner.smallest_effect(spread, rounds).unwrap();
                    let just = |factor: f64| {
                        planner.total_for_tolerance(spread, Tolerance::new(effect * factor).unwrap()).unwrap()
                    };
                    assert_eq!(just(1.0 + 1e-9), rounds, "{spread:?} {rounds}");
                    assert!(just(0.999) > rounds, "{spread:?} {rounds}");
                }
            }
        }
        // Three times the noise triples the smallest effect, in logs.
        let log = |spread| Planner::default().smallest_effect(Spread::normal(spread), 10).unwrap().ln_1p();
        assert!((log(0.15) / log(0.05) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn no_effect_is_promised_where_there_is_no_interval() {
        let planner = Planner::default();
        assert_eq!(planner.smallest_effect(Spread::normal(0.05), 5), None);
        assert_eq!(planner.smallest_effect(Spread::normal(f64::NAN), 10), None);
        assert_eq!(planner.smallest_effect(Spread::normal(-0.1), 10), None);
        assert_eq!(planner.smallest_effect(Spread::normal(50.0), 6), None);
        assert_eq!(planner.smallest_effect(Spread::normal(0.0), 6), Some(0.0));
    }

    #[test]
    fn counts_only_what_is_missing() {
        let planner = Planner::default();
        let wide = measured(0.8, 1.0, 1.25, 10);
        let more = |spread| planner.more_for_tolerance(&wide, Some(Spread::normal(spread)), Tolerance::DEFAULT);
        // 155 in total, and 357, which is impractical.
        assert_eq!((more(0.21), more(0.32)), (Some(145), None));
        let few = Estimate { bounds: Bounds::NeedsAtLeast(6), n: 2, ..wide };
        let more = planner.more_for_tolerance(&few, Some(Spread::normal(0.01)), Tolerance::DEFAULT);
        assert_eq!(more, Some(4));
    }

    #[test]
    fn a_plan_already_met_turns_to_the_width() {
        let planner = Planner::default();
        // Twice the allowed width takes four times the rounds.
        let edge = 2.0 * Tolerance::DEFAULT.log();
        let touching = measured(1.0, (edge / 2.0).exp(), edge.exp(), 10);
        let more = planner.more_for_tolerance(&touching, Some(Spread::normal(0.01)), Tolerance::DEFAULT);
        assert!(matches!(more, Some(30..=31)), "{more:?}");
    }

    #[test]
    fn a_claim_costs_more_the_nearer_its_bound() {
        let planner = Planner::default();
        let ratio = measured(1.6, 2.0, 2.5, 10);
        let cost = |bound| planner.more_to_settle(&ratio, Some(bound), None);
        // h = ln(1.25), g = ln(2/1.8): 10·(1.42941·0.22314/0.10536)² = 91.6 in total.
        assert_eq!(cost(1.8), Some(82));
        assert!(cost(1.85) > cost(1.8));
        // Too near for 200 additional rounds, and on the estimate.
        assert_eq!((cost(1.9), cost(2.0)), (None, None));
        // Without events in ten rounds up to 1.2 % is possible; twelve times as many rounds leave 0.1 %.
        let none = measured(0.0, 0.0, 0.012, 10);
        let cost = |bound| planner.more_to_settle(&none, None, Some(bound));
        assert_eq!((cost(0.001), cost(0.0001)), (Some(110), None));
    }
}
