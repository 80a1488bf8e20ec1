//! Comparison of two runs without common rounds.

use serde::Serialize;

use crate::null::{self, EXACT_LIMIT, NullDistribution};
use crate::quantile::median_of_sorted;
use crate::ranks::Midranks;
use crate::sample::{self, PAIRWISE_LIMIT};
use crate::{Better, Bounds, Confidence, Estimate, Interval, Planner, StatsError, Tolerance, Verdict};

/// The ratio B/A of a metric between two separate runs.
///
/// The estimate is Hodges and Lehmann's shift of the logs: the median of ln(bⱼ/aᵢ) over all pairs, as a ratio. Its
/// interval omits the k smallest and k largest pairs, with k from the null distribution of Mann and Whitney's U
/// (Hollander, Wolfe and Chicken, §4.2–4.3).
///
/// **It cannot detect drift.** A change of the host between the two runs is part of the ratio, and the interval does
/// not account for it: on a noisy machine, identical configurations compared this way "differ" far more often than the
/// level states. Any report of this type must mention this. Prefer [`PairedRatio`](crate::PairedRatio) whenever both
/// variants can run in rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UnpairedRatio {
    /// B/A. 1 means no difference; `n` and [`Bounds::NeedsAtLeast`] count trials of the smaller run.
    pub ratio: Estimate,
    /// Two-sided p-value of the Mann-Whitney test that the ratio is 1.
    pub p_value: f64,
}

impl UnpairedRatio {
    /// Compares two runs, one positive number per trial, both in the same unit.
    ///
    /// Exact up to 50 trials together, over all splits of the observed midranks, so that ties need no correction; above
    /// 50 the normal approximation with continuity and tie correction. The interval uses the distribution without ties,
    /// which makes it conservative with ties.
    ///
    /// # Errors
    /// An empty run, a number that is not finite and positive, more than 2000 trials in a run, or a ratio that exceeds
    /// a double.
    pub fn from_runs(a: &[f64], b: &[f64], confidence: Confidence) -> Result<Self, StatsError> {
        for run in [a, b] {
            sample::positive(run)?;
            sample::at_most(run.len(), PAIRWISE_LIMIT)?;
        }
        let (n_a, n_b) = (a.len(), b.len());
        let mut shifts: Vec<f64> = a.iter().flat_map(|&a| b.iter().map(move |&b| sample::log_ratio(a, b))).collect();
        shifts.sort_unstable_by(f64::total_cmp);
        let bounds = match critical(n_a, n_b, confidence) {
            Some((k, coverage)) => Bounds::Interval(Interval::new(
                sample::ratio(shifts[k])?,
                sample::ratio(shifts[shifts.len() - 1 - k])?,
                coverage,
            )?),
            None => Bounds::NeedsAtLeast(minimum_trials(confidence)),
        };
        let ratio = Estimate { value: sample::ratio(median_of_sorted(&shifts))?, n: n_a.min(n_b), bounds };
        Ok(Self { ratio, p_value: rank_sum_test(a, b) })
    }

    /// Whether B is faster or slower than A, drift included. The needed rounds are additional trials in each run, which
    /// narrow the interval but do not reduce drift.
    #[must_use]
    pub fn verdict(&self, tolerance: Tolerance, better: Better, planner: &Planner) -> Verdict {
        let more = planner.more_for_tolerance(&self.ratio, None, tolerance);
        Verdict::judge(self.ratio.interval(), tolerance, better, more)
    }
}

/// Minimum number of trials per run for an interval at this level: the least n with 2/C(2n, n) ≤ α.
fn minimum_trials(confidence: Confidence) -> usize {
    let mut n = 1_usize;
    let mut splits = 2.0;
    // The level is at most 1 − 10⁻⁹ and C(2n, n) > 2ⁿ, so this ends below 32.
    while 2.0 / splits > confidence.alpha() + 1e-12 {
        n += 1;
        splits *= (2 * (2 * n - 1)) as f64 / n as f64;
    }
    n
}

/// Number of pairs to omit on each side, and the coverage; `None` if there are too few trials.
fn critical(n_a: usize, n_b: usize, confidence: Confidence) -> Option<(usize, f64)> {
    if n_a + n_b <= EXACT_LIMIT {
        NullDistribution::mann_whitney(n_a, n_b).critical(confidence)
    } else {
        let pairs = n_a as f64 * n_b as f64;
        let variance = pairs * (n_a + n_b + 1) as f64 / 12.0;
        let (k, coverage) = null::normal_critical(pairs / 2.0, variance, confidence)?;
        // The approximation is invalid for small tails: one trial against fifty has too few splits.
        let tail = (1.0 - coverage) / 2.0;
        (tail * choose(n_a + n_b, n_a) >= 1.0).then_some((k, coverage))
    }
}

/// C(n, k), or infinity if it exceeds a double.
fn choose(n: usize, k: usize) -> f64 {
    let k = k.min(n - k);
    (1..=k).map(|i| (n - k + i) as f64 / i as f64).product()
}

/// Two-sided p-value.
fn rank_sum_test(a: &[f64], b: &[f64]) -> f64 {
    let pooled: Vec<f64> = b.iter().chain(a).copied().collect();
    let ranks = Midranks::of(&pooled);
    let sum_b: usize = ranks.doubled[..b.len()].iter().map(|&r| r as usize).sum();
    if pooled.len() <= EXACT_LIMIT {
        NullDistribution::rank_sum(&ranks.doubled, b.len()).two_sided(sum_b)
    } else {
        let (n_a, n_b, n) = (a.len() as f64, b.len() as f64, pooled.len() as f64);
        // In doubled ranks, which gives 4 times the textbook variance.
        let mean = n_b * (n + 1.0);
        let ties = ranks.tie_correction() / (n * (n - 1.0));
        let variance = n_a * n_b / 3.0 * (n + 1.0 - ties);
        null::normal_two_sided(sum_b as f64, mean, variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_trials_each_are_the_first_with_an_interval() {
        assert_eq!(minimum_trials(Confidence::P95), 4);
        assert_eq!(minimum_trials(Confidence::P99), 5);
        for level in [0.5, 0.9, 0.95, 0.99, 0.999, 0.999_999] {
            let confidence = Confidence::new(level).unwrap();
            let n = minimum_trials(confidence);
            assert!(critical(n, n, confidence).is_some(), "{level}");
            assert!(n == 1 || critical(n - 1, n - 1, confidence).is_none(), "{level}");
        }
        let three = UnpairedRatio::from_runs(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], Confidence::P95);
        let three = three.unwrap();
        assert_eq!(three.ratio.needs(), Some(4));
        assert_eq!(three.p_value, 2.0 / 20.0);
    }

    #[test]
    fn one_trial_against_many_has_no_interval() {
        let many: Vec<f64> = (1..=60).map(f64::from).collect();
        let lopsided = UnpairedRatio::from_runs(&[100.0], &many, Confidence::P99).unwrap();
        assert_eq!(lopsided.ratio.interval(), None);
        assert_eq!(lopsided.ratio.needs(), Some(5));
    }

    #[test]
    fn identical_constant_runs_are_no_evidence() {
        for n in [5, 40] {
            let run = vec![2.0; n];
            let same = UnpairedRatio::from_runs(&run, &run, Confidence::P95).unwrap();
            assert_eq!((same.p_value, same.ratio.value), (1.0, 1.0));
        }
    }
}
