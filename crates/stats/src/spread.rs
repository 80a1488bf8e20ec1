//! How far observations scatter.

use serde::{Deserialize, Serialize};

use crate::null::standard_quantile;
use crate::quantile::{self, median_of_sorted};
use crate::{StatsError, sample};

/// 1/Φ⁻¹(3/4): makes the MAD of a normal sample estimate its standard deviation.
const NORMAL_CONSISTENCY: f64 = 1.482_602_218_505_602;

/// The median absolute deviation from the median, times 1.4826, in the unit of the sample.
///
/// For normal data it estimates the standard deviation, and up to half the sample may be outliers before it
/// breaks down. Zero when more than half the observations are equal.
///
/// # Errors
/// Empty or non-finite samples; [`StatsError::Overflow`] when a deviation exceeds a double.
pub fn mad(sample: &[f64]) -> Result<f64, StatsError> {
    sample::finite(sample)?;
    let centre = median_of_sorted(&sample::sorted(sample));
    let mut deviations: Vec<f64> = sample.iter().map(|x| (x - centre).abs()).collect();
    deviations.sort_unstable_by(f64::total_cmp);
    representable(NORMAL_CONSISTENCY * median_of_sorted(&deviations))
}

/// The sample standard deviation (divisor n − 1), in the unit of the sample.
///
/// # Errors
/// Fewer than two observations, non-finite ones, or a sum of squares that exceeds a double.
pub fn standard_deviation(sample: &[f64]) -> Result<f64, StatsError> {
    sample::finite(sample)?;
    if sample.len() < 2 {
        return Err(StatsError::TooFew { have: sample.len(), need: 2 });
    }
    let n = sample.len() as f64;
    // Two passes: the one-pass sum of squares cancels when the mean is large beside the spread.
    let mean = sample.iter().map(|x| x / n).sum::<f64>();
    let squares = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    representable((squares / (n - 1.0)).sqrt())
}

/// By how much the log-ratios of blocks scatter about the estimate, at effects of every size, in logs.
///
/// How many blocks a signed-rank test takes depends on how often two blocks together are off by more than the effect
/// looked for (Noether 1987). On a normal host one standard deviation says that for every effect. On one that is shared
/// most blocks agree and some are far off, and no single number does: the median absolute deviation sees only those that
/// agree. So four quantiles are kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread([f64; SHARES.len()]);

/// The shares of pairs of blocks whose mean is off by at most what [`Spread`] holds.
const SHARES: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// The fewest blocks of which pairs tell enough; of fewer the scatter is taken for normal.
const PAIRS_TELL: usize = 6;

impl Spread {
    /// Of log-ratios of blocks and their centre. `None` below two blocks, or if a number exceeds a double.
    pub(crate) fn of(d: &[f64], centre: f64) -> Option<Self> {
        if d.len() < PAIRS_TELL {
            return robust(d).map(Self::normal);
        }
        let mut off: Vec<f64> = Vec::with_capacity(d.len() * (d.len() - 1) / 2);
        for (i, x) in d.iter().enumerate() {
            off.extend(d[i + 1..].iter().map(|y| (x.midpoint(*y) - centre).abs()));
        }
        off.sort_unstable_by(f64::total_cmp);
        // The mean of two of n lies nearer to the mean of all n than to the truth: its variance is s²·(1/2 − 1/n).
        let n = d.len() as f64;
        let own_centre = (n / (n - 2.0)).sqrt();
        let spread = SHARES.map(|share| own_centre * quantile::of_sorted(&off, share));
        spread.iter().all(|off| off.is_finite()).then_some(Self(spread))
    }

    /// Of normal log-ratios with the standard deviation `deviation`.
    #[must_use]
    pub fn normal(deviation: f64) -> Self {
        Self(SHARES.map(|share| deviation * normal_reach(share)))
    }

    /// The standard deviation of normal log-ratios of which as many pairs are off by at most `effect`: what the formula
    /// for a normal host takes to plan for an effect of this size, in logs.
    #[must_use]
    pub fn at(&self, effect: f64) -> f64 {
        let reach = self.reach(effect);
        if reach == f64::INFINITY { 0.0 } else { effect / reach }
    }

    /// The effect, in logs, that is `reach` times the spread at its size: the inverse of [`Spread::at`].
    pub(crate) fn effect(&self, reach: f64) -> f64 {
        let mut below = (0.0, 0.0);
        for (&off, share) in self.0.iter().zip(SHARES) {
            let at = normal_reach(share);
            if reach <= at {
                return below.0 + (off - below.0) * (reach - below.1) / (at - below.1);
            }
            below = (off, at);
        }
        // Beyond the last quantile as of a normal host.
        below.0 * reach / below.1
    }

    /// What most blocks scatter by, as a standard deviation: half of the pairs are off by at most 0.48 of it.
    #[must_use]
    pub fn typical(&self) -> f64 {
        self.0[1] / normal_reach(SHARES[1])
    }

    /// `effect` over the spread at its size; linear between the quantiles, and never less for a greater effect.
    fn reach(&self, effect: f64) -> f64 {
        let (mut below, mut at) = ((0.0, 0.0), 0);
        while at < SHARES.len() && self.0[at] <= effect {
            below = (self.0[at], normal_reach(SHARES[at]));
            at += 1;
        }
        match self.0.get(at) {
            Some(off) => below.1 + (normal_reach(SHARES[at]) - below.1) * (effect - below.0) / (off - below.0),
            None => below.1 * effect / below.0,
        }
    }
}

/// By how many of their standard deviations the mean of two normal numbers is off at most, in such a share of pairs: the
/// inverse of the error function.
fn normal_reach(share: f64) -> f64 {
    standard_quantile(f64::midpoint(1.0, share)) / std::f64::consts::SQRT_2
}

/// The MAD, or the standard deviation when more than half the observations are equal and the MAD would claim certainty.
/// `None` below two observations.
fn robust(sample: &[f64]) -> Option<f64> {
    if sample.len() < 2 {
        return None;
    }
    match mad(sample) {
        Ok(spread) if spread > 0.0 => Some(spread),
        _ => standard_deviation(sample).ok(),
    }
}

fn representable(value: f64) -> Result<f64, StatsError> {
    if value.is_finite() { Ok(value) } else { Err(StatsError::Overflow) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_moves_the_standard_deviation_and_not_the_mad() {
        let calm = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let mut struck = calm;
        struck[6] = 7000.0;
        assert_eq!(mad(&calm).unwrap(), mad(&struck).unwrap());
        assert!(standard_deviation(&struck).unwrap() > 100.0 * standard_deviation(&calm).unwrap());
    }

    #[test]
    fn falls_back_when_most_observations_are_equal() {
        let mostly = [1.0, 1.0, 1.0, 1.0, 2.0];
        assert_eq!(mad(&mostly).unwrap(), 0.0);
        assert_eq!(robust(&mostly), standard_deviation(&mostly).ok());
        assert_eq!(robust(&[1.0]), None);
    }

    /// Evenly spaced quantiles of a normal host with a standard deviation of `deviation`.
    fn normal_blocks(n: usize, deviation: f64) -> Vec<f64> {
        (0..n).map(|i| deviation * standard_quantile((i as f64 + 0.5) / n as f64)).collect()
    }

    #[test]
    fn a_normal_host_has_one_spread_for_effects_of_all_sizes() {
        for spread in [Spread::normal(0.1), Spread::of(&normal_blocks(400, 0.1), 0.0).unwrap()] {
            for effect in [0.001, 0.02, 0.05, 0.1, 0.2, 0.5] {
                assert!((spread.at(effect) / 0.1 - 1.0).abs() < 0.03, "{effect}: {spread:?}");
                let back = spread.effect(effect / spread.at(effect));
                assert!((back / effect - 1.0).abs() < 1e-9, "{effect}: {back}");
            }
            assert!((spread.typical() / 0.1 - 1.0).abs() < 0.03, "{spread:?}");
        }
    }

    #[test]
    fn a_few_blocks_far_off_count_for_effects_of_their_size() {
        // Five in eight agree within 2 %, three in eight are off by a third either way.
        let mut blocks = normal_blocks(50, 0.02);
        blocks.extend([0.3, -0.3].repeat(15));
        let spread = Spread::of(&blocks, 0.0).unwrap();
        assert!(mad(&blocks).unwrap() < 0.05);
        assert!(spread.at(0.01) < 0.05, "{spread:?}");
        assert!(spread.at(0.1) > 0.2, "{spread:?}");
    }

    #[test]
    fn equal_blocks_have_no_spread_and_one_block_none_that_is_known() {
        let none = Spread::of(&[0.5; 9], 0.5).unwrap();
        assert_eq!((none.at(0.05), none.effect(3.0), none.typical()), (0.0, 0.0, 0.0));
        assert_eq!(Spread::of(&[0.5], 0.5), None);
        assert_eq!(Spread::of(&[0.0, 0.0, 0.1], 0.0).unwrap().typical(), standard_deviation(&[0.0, 0.0, 0.1]).unwrap());
    }
}
