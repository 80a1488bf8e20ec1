//! Scatter of observations.

use serde::{Deserialize, Serialize};

use crate::null::standard_quantile;
use crate::quantile::{self, median_of_sorted};
use crate::{StatsError, sample};

/// 1/Φ⁻¹(3/4): the factor that makes the MAD of a normal sample an estimate of its standard deviation.
const NORMAL_CONSISTENCY: f64 = 1.482_602_218_505_602;

/// The median absolute deviation from the median, times 1.4826, in the unit of the sample.
///
/// For normal data it estimates the standard deviation, and it tolerates outliers in up to half of the sample. Zero if
/// more than half of the observations are equal.
///
/// # Errors
/// Empty or non-finite samples; [`StatsError::Overflow`] if a deviation exceeds a double.
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
    // Two passes: the one-pass sum of squares cancels if the mean is large relative to the spread.
    let mean = sample.iter().map(|x| x / n).sum::<f64>();
    let squares = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    representable((squares / (n - 1.0)).sqrt())
}

/// Scatter of the log-ratios of rounds about their estimate, for effects of every size, in logs.
///
/// The number of rounds that a signed-rank test needs depends on how often the mean of two rounds deviates by more than
/// the effect of interest (Noether 1987). On a normal host one standard deviation determines this for every effect. On
/// a shared host most rounds agree and some deviate far, which no single number describes: the median absolute
/// deviation reflects only those that agree. The type therefore holds four quantiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread([f64; SHARES.len()]);

/// Shares of pairs of rounds whose mean deviates by at most the corresponding value in [`Spread`].
const SHARES: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// Minimum number of rounds for an estimate from pairs; with fewer the scatter is assumed to be normal.
const PAIRS_TELL: usize = 6;

impl Spread {
    /// The spread of the log-ratios of rounds about their centre. `None` below two rounds, or if a number exceeds a
    /// double.
    pub(crate) fn of(d: &[f64], centre: f64) -> Option<Self> {
        if d.len() < PAIRS_TELL {
            return robust(d).map(Self::normal);
        }
        let mut off: Vec<f64> = Vec::with_capacity(d.len() * (d.len() - 1) / 2);
        for (i, x) in d.iter().enumerate() {
            off.extend(d[i + 1..].iter().map(|y| (x.midpoint(*y) - centre).abs()));
        }
        off.sort_unstable_by(f64::total_cmp);
        // The mean of two of n is closer to the mean of all n than to the true value: its variance is s²·(1/2 − 1/n).
        let n = d.len() as f64;
        let own_centre = (n / (n - 2.0)).sqrt();
        let spread = SHARES.map(|share| own_centre * quantile::of_sorted(&off, share));
        spread.iter().all(|off| off.is_finite()).then_some(Self(spread))
    }

    /// The spread of normal log-ratios with the standard deviation `deviation`.
    #[must_use]
    pub fn normal(deviation: f64) -> Self {
        Self(SHARES.map(|share| deviation * normal_reach(share)))
    }

    /// The standard deviation, in logs, for the round count formula at an effect of this size: that of normal
    /// log-ratios with the same share of pairs that deviate by at most `effect`.
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
        // Beyond the last quantile as on a normal host.
        below.0 * reach / below.1
    }

    /// Scatter of most rounds as a standard deviation: half of the pairs deviate by at most 0.48 of it.
    #[must_use]
    pub fn typical(&self) -> f64 {
        self.0[1] / normal_reach(SHARES[1])
    }

    /// The effect divided by the spread at its size: linear between the quantiles, and not decreasing in the effect.
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

/// Largest deviation of the mean of two normal numbers in the given share of pairs, in their standard deviations: the
/// inverse of the error function.
fn normal_reach(share: f64) -> f64 {
    standard_quantile(f64::midpoint(1.0, share)) / std::f64::consts::SQRT_2
}

/// The MAD, or the standard deviation if more than half of the observations are equal, where the MAD would be zero.
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

    /// Evenly spaced quantiles of a normal distribution with this standard deviation, as on a normal host.
    fn normal_rounds(n: usize, deviation: f64) -> Vec<f64> {
        (0..n).map(|i| deviation * standard_quantile((i as f64 + 0.5) / n as f64)).collect()
    }

    #[test]
    fn a_normal_host_has_one_spread_for_effects_of_all_sizes() {
        for spread in [Spread::normal(0.1), Spread::of(&normal_rounds(400, 0.1), 0.0).unwrap()] {
            for effect in [0.001, 0.02, 0.05, 0.1, 0.2, 0.5] {
                assert!((spread.at(effect) / 0.1 - 1.0).abs() < 0.03, "{effect}: {spread:?}");
                let back = spread.effect(effect / spread.at(effect));
                assert!((back / effect - 1.0).abs() < 1e-9, "{effect}: {back}");
            }
            assert!((spread.typical() / 0.1 - 1.0).abs() < 0.03, "{spread:?}");
        }
    }

    #[test]
    fn a_few_rounds_far_off_count_for_effects_of_their_size() {
        // Five in eight rounds agree within 2 %, three in eight deviate by 0.3 in either direction.
        let mut rounds = normal_rounds(50, 0.02);
        rounds.extend([0.3, -0.3].repeat(15));
        let spread = Spread::of(&rounds, 0.0).unwrap();
        assert!(mad(&rounds).unwrap() < 0.05);
        assert!(spread.at(0.01) < 0.05, "{spread:?}");
        assert!(spread.at(0.1) > 0.2, "{spread:?}");
    }

    #[test]
    fn equal_rounds_have_no_spread_and_one_round_none_that_is_known() {
        let none = Spread::of(&[0.5; 9], 0.5).unwrap();
        assert_eq!((none.at(0.05), none.effect(3.0), none.typical()), (0.0, 0.0, 0.0));
        assert_eq!(Spread::of(&[0.5], 0.5), None);
        assert_eq!(Spread::of(&[0.0, 0.0, 0.1], 0.0).unwrap().typical(), standard_deviation(&[0.0, 0.0, 0.1]).unwrap());
    }
}
