//! How many blocks an answer costs.

use crate::null::{standard_quantile, two_sided_z};
use crate::paired::minimum_blocks;
use crate::sample::log_ratio;
use crate::{Confidence, Estimate, ExpectedRange, Spread, StatsError, Tolerance};

/// 1/0.955: what the signed-rank test needs more than the t-test on normal data. Never more than 1/0.864 on
/// any (Hodges and Lehmann 1956), and less than 1 on heavy tails.
const RANK_TEST_COST: f64 = 1.05;

/// Fewer blocks give no interval at 95 %.
const FLOOR: usize = 6;

/// Estimates blocks from the spread seen so far.
///
/// All numbers are forecasts from a spread that is itself estimated from few blocks: good for deciding
/// whether to go on, not a promise. Deciding from them again and again at every block would be optional
/// stopping; fix the looks beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planner {
    confidence: Confidence,
    power: f64,
}

impl Planner {
    /// The most blocks that are forecast: nobody runs more, and the spread that a forecast is from is not known well enough to
    /// tell how many more it would be.
    pub const MOST: u32 = 200;

    /// Plans for intervals at `confidence` that settle the question with probability `power`.
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

    /// Blocks in total to find a true difference of the size of the tolerance: 1.05·((z₁₋α/₂ + z₁₋β)·s /
    /// ln(1 + δ))² + z²₁₋α/₂/2, at least 6.
    ///
    /// The last term (Guenther 1981; two blocks at 95 %) makes up for a spread that is not known but
    /// estimated from the same blocks. Without it a plan of a dozen blocks reaches 70 % where 80 % was
    /// asked for.
    ///
    /// s is the spread at an effect of that size ([`Spread::at`]). `None` if it is no spread (negative, not finite), or if
    /// the number of blocks exceeds a `u32`.
    #[must_use]
    pub fn total_for_tolerance(&self, spread: Spread, tolerance: Tolerance) -> Option<u32> {
        let deviation = spread.at(tolerance.log());
        if !(deviation >= 0.0 && deviation.is_finite()) {
            return None;
        }
        let effect = (self.z_interval() + self.z_power()) * deviation / tolerance.log();
        let blocks = RANK_TEST_COST * effect * effect + self.z_interval().powi(2) / 2.0;
        whole(blocks.max(self.floor() as f64))
    }

    /// The smallest relative difference that `blocks` blocks can be expected to show, a fraction: the tolerance for
    /// which [`Planner::total_for_tolerance`] asks for so many, e^((z₁₋α/₂ + z₁₋β)·s·√(1.05/(n − z²₁₋α/₂/2))) − 1.
    ///
    /// `None` below the fewest blocks that give an interval, if there is no such spread, or if nothing below a factor
    /// of 101 could be shown, where [`Tolerance`] ends.
    #[must_use]
    pub fn smallest_effect(&self, spread: Spread, blocks: u32) -> Option<f64> {
        let informed = f64::from(blocks) - self.z_interval().powi(2) / 2.0;
        if (blocks as usize) < self.floor() || informed <= 0.0 {
            return None;
        }
        let log = spread.effect((self.z_interval() + self.z_power()) * (RANK_TEST_COST / informed).sqrt());
        Some(log.exp_m1()).filter(|effect| (0.0..=100.0).contains(effect))
    }

    /// Blocks on top of those there are before a comparison can be expected to leave "inconclusive": from 1 to 200, `None`
    /// where it takes more.
    ///
    /// The plan for the spread, if the blocks so far fall short of it. If they do not, the spread was
    /// underestimated or the truth lies near the edge; then what makes the interval narrower than ln(1 +
    /// δ), because an interval that narrow either excludes 1 or lies inside the band. Its width falls with
    /// √n.
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

    /// Blocks on top of those there are before a claim can be expected to be settled: from 1 to 200, `None` where it takes
    /// more.
    ///
    /// If the estimate stays where it is, the interval must shrink until it clears the nearest bound of the
    /// claim; it falls with √n. With h half its width and g the gap from estimate to bound, both in
    /// log-ratio: n·((1 + z₁₋β/z₁₋α/₂)·h/g)² in total, where the first factor allows for the estimate
    /// moving. `None` when the estimate lies on the bound: no number of blocks is expected to settle that. Of a count of 0 the
    /// upper end falls with 1/n instead.
    #[must_use]
    pub fn more_to_settle(&self, ratio: &Estimate, expected: &ExpectedRange) -> Option<u32> {
        let Some(interval) = ratio.interval() else {
            return more(ratio.needs().unwrap_or(0) as f64, ratio.n);
        };
        if let (true, Some(bound)) = (ratio.value == 0.0, expected.low().or(expected.high())) {
            return more(ratio.n as f64 * interval.high() / bound, ratio.n);
        }
        let gap = [expected.low(), expected.high()]
            .into_iter()
            .flatten()
            .filter(|_| ratio.value > 0.0)
            .map(|bound| log_ratio(bound, ratio.value).abs())
            .min_by(f64::total_cmp)?;
        let margin = 1.0 + self.z_power() / self.z_interval();
        let shrink = margin * interval.log_width()? / 2.0 / gap;
        more(ratio.n as f64 * shrink * shrink, ratio.n)
    }

    fn floor(&self) -> usize {
        minimum_blocks(self.confidence).max(FLOOR)
    }

    fn z_interval(&self) -> f64 {
        two_sided_z(self.confidence)
    }

    fn z_power(&self) -> f64 {
        standard_quantile(self.power)
    }
}

/// 95 % confidence, 80 % power.
impl Default for Planner {
    fn default() -> Self {
        Self { confidence: Confidence::P95, power: 0.8 }
    }
}

/// Rounded up; `None` if it is no number of blocks.
fn whole(blocks: f64) -> Option<u32> {
    let up = blocks.ceil();
    (up <= f64::from(u32::MAX)).then_some(up as u32)
}

/// What is missing from `have` to `total`, and at least one block: the question is still open.
fn more(total: f64, have: usize) -> Option<u32> {
    whole((total.ceil() - have as f64).max(1.0)).filter(|blocks| total.is_finite() && *blocks <= Planner::MOST)
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
        let blocks = |s| planner.total_for_tolerance(Spread::normal(s), Tolerance::DEFAULT);
        // 1.05·((1.95996 + 0.84162)·s/0.04879)² + 1.95996²/2
        assert_eq!(blocks(0.025), Some(6));
        assert_eq!(blocks(0.32), Some(357));
        assert_eq!(blocks(0.0), Some(6));
        assert_eq!(blocks(f64::NAN), None);
        assert_eq!(blocks(-1.0), None);
        assert_eq!(blocks(f64::INFINITY), None);
        assert_eq!(blocks(1e9), None);
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
    fn the_smallest_effect_is_the_inverse_of_the_blocks_it_takes() {
        for planner in [Planner::default(), Planner::new(Confidence::P99, 0.9).unwrap()] {
            for spread in [0.01, 0.08, 0.3].map(Spread::normal) {
                for blocks in [9, 10, 20, 40, 357] {
                    let effect = planner.smallest_effect(spread, blocks).unwrap();
                    let just = |factor: f64| {
                        planner.total_for_tolerance(spread, Tolerance::new(effect * factor).unwrap()).unwrap()
                    };
                    assert_eq!(just(1.0 + 1e-9), blocks, "{spread:?} {blocks}");
                    assert!(just(0.999) > blocks, "{spread:?} {blocks}");
                }
            }
        }
        // Three times the noise: three times as coarse, in logs.
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
        // 155 in all; and 357, which nobody runs.
        assert_eq!((more(0.21), more(0.32)), (Some(145), None));
        let few = Estimate { bounds: Bounds::NeedsAtLeast(6), n: 2, ..wide };
        let more = planner.more_for_tolerance(&few, Some(Spread::normal(0.01)), Tolerance::DEFAULT);
        assert_eq!(more, Some(4));
    }

    #[test]
    fn a_plan_already_met_turns_to_the_width() {
        let planner = Planner::default();
        // Twice as wide as it may be, so four times the blocks.
        let edge = 2.0 * Tolerance::DEFAULT.log();
        let touching = measured(1.0, (edge / 2.0).exp(), edge.exp(), 10);
        let more = planner.more_for_tolerance(&touching, Some(Spread::normal(0.01)), Tolerance::DEFAULT);
        assert!(matches!(more, Some(30..=31)), "{more:?}");
    }

    #[test]
    fn a_claim_costs_more_the_nearer_its_bound() {
        let planner = Planner::default();
        let ratio = measured(1.6, 2.0, 2.5, 10);
        let cost = |bound| planner.more_to_settle(&ratio, &ExpectedRange::at_least(bound).unwrap());
        // h = ln(1.25), g = ln(2/1.8): 10·(1.42941·0.22314/0.10536)² = 91.6 in total.
        assert_eq!(cost(1.8), Some(82));
        assert!(cost(1.85) > cost(1.8));
        // Nearer than what 200 more blocks could tell apart, and on the estimate.
        assert_eq!((cost(1.9), cost(2.0)), (None, None));
        // No event in ten blocks, up to 1.2 % possible: twelve times as many leave 0.1 %.
        let none = measured(0.0, 0.0, 0.012, 10);
        let cost = |bound| planner.more_to_settle(&none, &ExpectedRange::at_most(bound).unwrap());
        assert_eq!((cost(0.001), cost(0.0001)), (Some(110), None));
    }
}
