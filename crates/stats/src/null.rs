//! Null distributions of rank statistics: their distributions if there is no effect.
//!
//! All are tabulated exactly for up to [`EXACT_LIMIT`] observations, ties included, by adding one observation at a
//! time. The limit is set by the precision of doubles, not by the computing time: 2⁵⁰ sign patterns and C(50, 25) ≈
//! 1.3·10¹⁴ splits are still integers below 2⁵³.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::Confidence;

/// Largest number of observations (both samples together) with a tabulated null distribution.
pub(crate) const EXACT_LIMIT: usize = 50;

/// Tolerance by which a tail that equals α/2 in exact arithmetic still counts as equal after rounding.
const ROUNDING: f64 = 1e-12;

/// The probability of each value 0, 1, 2, … of a statistic.
pub(crate) struct NullDistribution {
    mass: Vec<f64>,
}

impl NullDistribution {
    /// Distribution of the sum of those `ranks` that carry a positive sign, if both signs are equally likely.
    pub fn signed_rank(ranks: &[u32]) -> Self {
        let mut mass = vec![0.0; total(ranks) + 1];
        mass[0] = 1.0;
        let mut reached = 0;
        for &rank in ranks {
            let rank = rank as usize;
            reached += rank;
            for sum in (0..=reached).rev() {
                let positive = if sum >= rank { mass[sum - rank] } else { 0.0 };
                mass[sum] = 0.5 * mass[sum] + 0.5 * positive;
            }
        }
        Self { mass }
    }

    /// Distribution of the sum of `take` of the `ranks`, if every choice is equally likely. `take` ≤ `ranks.len()`.
    pub fn rank_sum(ranks: &[u32], take: usize) -> Self {
        let width = total(ranks) + 1;
        // Indexed by chosen * width + sum.
        let mut ways = vec![0.0; (take + 1) * width];
        ways[0] = 1.0;
        let mut reached = 0;
        for (seen, &rank) in ranks.iter().enumerate() {
            let rank = rank as usize;
            reached += rank;
            for chosen in (1..=take.min(seen + 1)).rev() {
                let (fewer, more) = ways.split_at_mut(chosen * width);
                let from = &fewer[(chosen - 1) * width..];
                for sum in rank..=reached {
                    more[sum] += from[sum - rank];
                }
            }
        }
        let mut mass = ways.split_off(take * width);
        let all: f64 = mass.iter().sum();
        mass.iter_mut().for_each(|m| *m /= all);
        Self { mass }
    }

    /// Distribution of Mann-Whitney's U of samples of `n` and `m` without ties: the number of pairs in which the first
    /// value is larger.
    pub fn mann_whitney(n: usize, m: usize) -> Self {
        let ranks: Vec<u32> = (1..=(n + m) as u32).collect();
        let sums = Self::rank_sum(&ranks, n);
        // U is the rank sum minus its minimum 1 + 2 + … + n, and at most n·m.
        let least = n * (n + 1) / 2;
        Self { mass: sums.mass[least..=least + n * m].to_vec() }
    }

    /// P(T ≤ t), the lower tail.
    pub fn at_most(&self, t: usize) -> f64 {
        let end = self.mass.len().min(t.saturating_add(1));
        self.mass[..end].iter().sum::<f64>().min(1.0)
    }

    /// P(T ≥ t), the upper tail.
    pub fn at_least(&self, t: usize) -> f64 {
        let start = self.mass.len().min(t);
        self.mass[start..].iter().sum::<f64>().min(1.0)
    }

    /// Twice the smaller tail at `t`, at most 1: the two-sided p-value.
    pub fn two_sided(&self, t: usize) -> f64 {
        (2.0 * self.at_most(t).min(self.at_least(t))).min(1.0)
    }

    /// The largest k with P(T ≤ k) ≤ α/2, and the coverage 1 − 2·P(T ≤ k) of the interval that omits the k most extreme
    /// pairs on each side. `None` if even k = 0 exceeds α/2.
    pub fn critical(&self, confidence: Confidence) -> Option<(usize, f64)> {
        let allowed = confidence.alpha() / 2.0 + ROUNDING;
        let mut tail = 0.0;
        let mut found = None;
        for (k, p) in self.mass.iter().enumerate() {
            tail += p;
            if tail > allowed {
                break;
            }
            found = Some((k, 1.0 - 2.0 * tail));
        }
        found
    }
}

/// The normal approximation of [`NullDistribution::two_sided`] for a statistic of doubled ranks, in steps of 2, with this
/// mean and variance.
pub(crate) fn normal_two_sided(t: f64, mean: f64, variance: f64) -> f64 {
    // Without variance all observations are equal, which is no evidence of a difference.
    if variance <= 0.0 {
        return 1.0;
    }
    let beyond = ((t - mean).abs() - 1.0) / variance.sqrt();
    (2.0 * Normal::standard().sf(beyond)).min(1.0)
}

/// The normal approximation of [`NullDistribution::critical`] for a statistic in steps of 1.
pub(crate) fn normal_critical(mean: f64, variance: f64, confidence: Confidence) -> Option<(usize, f64)> {
    let deviation = variance.sqrt();
    let k = (mean - 0.5 - two_sided_z(confidence) * deviation).floor();
    if k < 0.0 {
        return None;
    }
    let tail = Normal::standard().cdf((k + 0.5 - mean) / deviation);
    Some((k as usize, 1.0 - 2.0 * tail))
}

/// z₁₋α/₂: half the width of a two-sided interval in standard deviations.
pub(crate) fn two_sided_z(confidence: Confidence) -> f64 {
    standard_quantile(1.0 - confidence.alpha() / 2.0)
}

/// Φ⁻¹, the quantile function of the standard normal distribution.
pub(crate) fn standard_quantile(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(probability)
}

fn total(ranks: &[u32]) -> usize {
    ranks.iter().map(|&rank| rank as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(T ≤ t) by enumeration of all sign patterns.
    fn signed_rank_by_enumeration(ranks: &[u32], t: usize) -> f64 {
        let patterns = 1_u32 << ranks.len();
        let hits = (0..patterns)
            .filter(|signs| {
                let sum: u32 = (0..ranks.len()).filter(|i| signs >> i & 1 == 1).map(|i| ranks[i]).sum();
                sum as usize <= t
            })
            .count();
        hits as f64 / f64::from(patterns)
    }

    #[test]
    fn signed_rank_agrees_with_enumeration_with_and_without_ties() {
        for ranks in [&[1, 2, 3, 4, 5, 6][..], &[3, 3, 3, 8, 10, 13, 13], &[5, 5]] {
            let null = NullDistribution::signed_rank(ranks);
            for t in 0..=total(ranks) {
                assert_eq!(null.at_most(t), signed_rank_by_enumeration(ranks, t));
            }
        }
    }

    #[test]
    fn rank_sum_agrees_with_enumeration() {
        let ranks = [2_u32, 5, 5, 5, 10, 12, 15, 15];
        let take = 3;
        let null = NullDistribution::rank_sum(&ranks, take);
        let sums: Vec<usize> = (0_u32..1 << ranks.len())
            .filter(|chosen| chosen.count_ones() as usize == take)
            .map(|chosen| (0..ranks.len()).filter(|i| chosen >> i & 1 == 1).map(|i| ranks[i] as usize).sum())
            .collect();
        for t in 0..=total(&ranks) {
            let hits = sums.iter().filter(|&&sum| sum <= t).count();
            let expected = hits as f64 / sums.len() as f64;
            assert!((null.at_most(t) - expected).abs() < 1e-14, "t = {t}");
        }
    }

    #[test]
    fn the_largest_tables_still_sum_to_one() {
        let ranks: Vec<u32> = (1..=EXACT_LIMIT as u32).map(|r| 2 * r).collect();
        let signed = NullDistribution::signed_rank(&ranks);
        assert_eq!(signed.mass.iter().sum::<f64>(), 1.0);
        assert_eq!(signed.mass[0], 0.5_f64.powi(EXACT_LIMIT as i32));
        let sums = NullDistribution::rank_sum(&ranks, EXACT_LIMIT / 2);
        assert!((sums.mass.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
