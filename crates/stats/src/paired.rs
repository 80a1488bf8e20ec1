//! Comparison of two variants within rounds.

use serde::Serialize;

use crate::confidence::minimum_rounds;
use crate::null::{self, EXACT_LIMIT, NullDistribution};
use crate::quantile::median_of_sorted;
use crate::ranks::Midranks;
use crate::sample::{self, PAIRWISE_LIMIT};
use crate::{Better, Bounds, Confidence, Estimate, Interval, Planner, Spread, StatsError, Tolerance, Verdict};

/// The ratio B/A of a metric between two variants, from rounds that ran both.
///
/// Per round d = ln(b/a). The estimate is Hodges and Lehmann's: the median of the Walsh averages (dᵢ + dⱼ)/2 over i ≤
/// j, as a ratio. Its interval omits the k smallest and k largest Walsh averages, with k from the null distribution of
/// Wilcoxon's signed-rank statistic (Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, §3.2–3.3).
///
/// Assumes independent rounds and differences symmetric about the true log-ratio; a random order of the variants within
/// a round guarantees the symmetry if the variants do not differ. It makes no other assumption about the distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedRatio {
    /// B/A. 1 means no difference; `n` counts rounds.
    pub ratio: Estimate,
    /// Two-sided p-value of the signed-rank test that the ratio is 1.
    pub p_value: f64,
    /// Spread of d between rounds; `None` for a single round.
    pub spread: Option<Spread>,
}

impl PairedRatio {
    /// Compares the rounds `(a, b)`. Each number is that of one trial, positive, and both are in the same unit.
    ///
    /// **p-value.** Exact up to 50 rounds: all sign patterns of the observed ranks, so that ties among |d| need no
    /// correction. Zero differences keep their rank and contribute no evidence (Pratt 1959); if they were dropped
    /// before ranking, a stronger effect could have a larger p. Above 50 rounds, the normal approximation with
    /// continuity correction.
    ///
    /// **Interval.** Up to 50 rounds from the distribution without ties, which makes it conservative with ties. Without
    /// ties or zeros the interval excludes 1 exactly if p ≤ α.
    ///
    /// # Errors
    /// No rounds, a number that is not finite and positive (the index counts rounds), more than 2000 rounds, or a ratio
    /// that exceeds a double.
    pub fn from_rounds(rounds: &[(f64, f64)], confidence: Confidence) -> Result<Self, StatsError> {
        sample::at_most(rounds.len(), PAIRWISE_LIMIT)?;
        let (a, b): (Vec<f64>, Vec<f64>) = rounds.iter().copied().unzip();
        sample::positive(&a)?;
        sample::positive(&b)?;
        let d: Vec<f64> = rounds.iter().map(|&(a, b)| sample::log_ratio(a, b)).collect();
        let n = d.len();

        let walsh = walsh_averages(&d);
        let bounds = match critical(n, confidence) {
            Some((k, coverage)) => Bounds::Interval(Interval::new(
                sample::ratio(walsh[k])?,
                sample::ratio(walsh[walsh.len() - 1 - k])?,
                coverage,
            )?),
            None => Bounds::NeedsAtLeast(minimum_rounds(confidence)),
        };
        let centre = median_of_sorted(&walsh);
        let ratio = Estimate { value: sample::ratio(centre)?, n, bounds };
        Ok(Self { ratio, p_value: signed_rank_test(&d), spread: Spread::of(&d, centre) })
    }

    /// Whether B is faster or slower than A. The planner must have the confidence level of the interval.
    #[must_use]
    pub fn verdict(&self, tolerance: Tolerance, better: Better, planner: &Planner) -> Verdict {
        let more = planner.more_for_tolerance(&self.ratio, self.spread, tolerance);
        Verdict::judge(self.ratio.interval(), tolerance, better, more)
    }
}

/// All (dᵢ + dⱼ)/2 with i ≤ j, ascending.
pub(crate) fn walsh_averages(d: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(d.len() * (d.len() + 1) / 2);
    for (i, &x) in d.iter().enumerate() {
        averages.extend(d[i..].iter().map(|&y| f64::midpoint(x, y)));
    }
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// Number of Walsh averages to omit on each side, and the coverage; `None` if there are too few rounds.
pub(crate) fn critical(n: usize, confidence: Confidence) -> Option<(usize, f64)> {
    if n <= EXACT_LIMIT {
        let ranks: Vec<u32> = (1..=n as u32).collect();
        NullDistribution::signed_rank(&ranks).critical(confidence)
    } else {
        let n = n as f64;
        let mean = n * (n + 1.0) / 4.0;
        null::normal_critical(mean, mean * (2.0 * n + 1.0) / 6.0, confidence)
    }
}

/// Two-sided p-value.
fn signed_rank_test(d: &[f64]) -> f64 {
    let sizes: Vec<f64> = d.iter().map(|x| x.abs()).collect();
    let ranks = Midranks::of(&sizes).doubled;
    let (moving, positive): (Vec<u32>, Vec<bool>) =
        ranks.iter().zip(d).filter(|&(_, &x)| x != 0.0).map(|(&rank, &x)| (rank, x > 0.0)).unzip();
    let t: usize =
        moving.iter().zip(&positive).filter(|&(_, &positive)| positive).map(|(&rank, _)| rank as usize).sum();
    if d.len() <= EXACT_LIMIT {
        NullDistribution::signed_rank(&moving).two_sided(t)
    } else {
        // In doubled ranks, T is a sum of independent coin tosses worth r each.
        let mean = moving.iter().map(|&r| f64::from(r)).sum::<f64>() / 2.0;
        let variance = moving.iter().map(|&r| f64::from(r).powi(2)).sum::<f64>() / 4.0;
        null::normal_two_sided(t as f64, mean, variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(rounds: &[(f64, f64)]) -> PairedRatio {
        PairedRatio::from_rounds(rounds, Confidence::P95).unwrap()
    }

    #[test]
    fn six_rounds_are_the_first_with_an_interval() {
        let rounds: Vec<(f64, f64)> = (1..=6).map(|i| (1.0, 1.0 + f64::from(i))).collect();
        let five = compare(&rounds[..5]);
        assert_eq!(five.ratio.needs(), Some(6));
        assert_eq!(five.p_value, 2.0 / 32.0);
        let six = compare(&rounds);
        assert_eq!(six.ratio.confidence(), Some(1.0 - 2.0 / 64.0));
        assert_eq!(six.p_value, 2.0 / 64.0);
        // All signs agree, so the interval covers all Walsh averages: from the smallest d to the largest.
        assert!((six.ratio.low().unwrap() - 2.0).abs() < 1e-12);
        assert!((six.ratio.high().unwrap() - 7.0).abs() < 1e-12);
    }

    #[test]
    fn minimum_rounds_is_where_the_smallest_p_value_passes() {
        for (level, n) in [(0.5, 2), (0.75, 3), (0.9, 5), (0.95, 6), (0.99, 8), (0.995, 9)] {
            assert_eq!(minimum_rounds(Confidence::new(level).unwrap()), n, "{level}");
        }
        for n in 2..=30 {
            let level = Confidence::new(1.0 - 2.0 * 0.5_f64.powi(n)).unwrap();
            assert_eq!(minimum_rounds(level), n as usize);
            assert!(critical(n as usize, level).is_some());
            assert!(critical(n as usize - 1, level).is_none());
        }
    }

    #[test]
    fn equal_variants_are_no_evidence_and_zeros_keep_their_rank() {
        let equal = compare(&[(3.0, 3.0); 8]);
        assert_eq!((equal.p_value, equal.ratio.value), (1.0, 1.0));
        // |d| ranks: the two zeros have rank 1.5 each, the others 3, 4, 5, 6, all positive: 2 · 2⁻⁴.
        let rounds = [(1.0, 1.0), (1.0, 1.0), (1.0, 2.0), (1.0, 3.0), (1.0, 4.0), (1.0, 5.0)];
        assert_eq!(compare(&rounds).p_value, 0.125);
    }

    #[test]
    fn a_number_no_ratio_can_use_is_an_error_that_names_the_round() {
        let with = |bad: f64| {
            let rounds = [(1.0, 2.0), (1.0, bad), (1.0, 2.0)];
            PairedRatio::from_rounds(&rounds, Confidence::P95).unwrap_err()
        };
        assert_eq!(with(0.0), StatsError::NotPositive { index: 1, value: 0.0 });
        assert_eq!(with(-1.0), StatsError::NotPositive { index: 1, value: -1.0 });
        assert!(matches!(with(f64::NAN), StatsError::NotFinite { index: 1, .. }));
        assert_eq!(PairedRatio::from_rounds(&[], Confidence::P95), Err(StatsError::Empty));
        let huge = [(f64::MIN_POSITIVE, f64::MAX)];
        assert_eq!(PairedRatio::from_rounds(&huge, Confidence::P95), Err(StatsError::Overflow));
        let operations = vec![(1.0, 2.0); PAIRWISE_LIMIT + 1];
        assert!(matches!(PairedRatio::from_rounds(&operations, Confidence::P95), Err(StatsError::TooMany { .. })));
    }
}
