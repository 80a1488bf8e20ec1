//! Proportions with exact intervals.

use statrs::function::beta::beta_reg;

use crate::{Bounds, Confidence, Estimate, Interval, StatsError};

/// Number of bisections, enough to exhaust the precision of a double.
const HALVINGS: u32 = 100;

/// The share of `successes` in `trials` with Clopper and Pearson's interval (1934): at each end a tail of the binomial
/// distribution is α/2, computed through the beta distribution.
///
/// The interval is exact: it covers at least as often as its level states, for any share and any number of trials. For
/// 0 of n its lower end is 0, for n of n its upper end 1. The price is width: with 30 trials and no success the true
/// share can be 11.6 %.
///
/// # Errors
/// [`StatsError::Empty`] without trials, [`StatsError::OutOfDomain`] for more successes than trials.
pub fn proportion(successes: u32, trials: u32, confidence: Confidence) -> Result<Estimate, StatsError> {
    if trials == 0 {
        return Err(StatsError::Empty);
    }
    let (k, n) = (f64::from(successes), f64::from(trials));
    if successes > trials {
        return Err(StatsError::OutOfDomain { what: "successes", value: k, domain: "at most the number of trials" });
    }
    let (low, high) = clopper_pearson(k, n, confidence);
    let interval = Interval::new(low, high, confidence.level())?;
    Ok(Estimate { value: k / n, n: trials as usize, bounds: Bounds::Interval(interval) })
}

/// The ends of the interval for `k` of `n`, which can be fractional: 0 ≤ k ≤ n, n > 0.
pub(crate) fn clopper_pearson(k: f64, n: f64, confidence: Confidence) -> (f64, f64) {
    let tail = confidence.alpha() / 2.0;
    (lower(k, n, tail), upper(k, n, tail))
}

/// The share at which P(at least k of n) = `tail`; above 0 for any k above 0.
fn lower(k: f64, n: f64, tail: f64) -> f64 {
    // For large k the beta function is inexact near its middle; the complementary search avoids this region.
    if k <= 0.0 || k > 1e4 {
        return 1.0 - upper(n - k, n, tail);
    }
    let (mut low, mut high) = (0.0, k / n);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if beta_reg(k, n - k + 1.0, middle) < tail { low = middle } else { high = middle }
    }
    high
}

/// The share at which P(at most k of n) = `tail`, by bisection: the distribution's own inverse does not terminate for n
/// from 10⁸ on.
fn upper(k: f64, n: f64, tail: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    let (mut low, mut high) = (k / n, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if beta_reg(k + 1.0, n - k, middle) < 1.0 - tail { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(successes: u32, trials: u32) -> (f64, f64) {
        let interval = proportion(successes, trials, Confidence::P95).unwrap().interval().unwrap();
        (interval.low(), interval.high())
    }

    /// Tail of the binomial distribution, summed term by term, independent of the beta distribution.
    fn at_least(successes: u32, trials: u32, p: f64) -> f64 {
        let term = |k: u32| {
            let ways: f64 = (0..k).map(|i| f64::from(trials - i) / f64::from(i + 1)).product();
            ways * p.powi(k as i32) * (1.0 - p).powi((trials - k) as i32)
        };
        (successes..=trials).map(term).sum()
    }

    #[test]
    fn each_end_is_where_a_tail_is_half_of_alpha() {
        for (k, n) in [(1, 20), (5, 100), (3, 10), (19, 20), (2, 33), (50, 100)] {
            let (low, high) = ends(k, n);
            assert!((at_least(k, n, low) - 0.025).abs() < 1e-6, "{k} of {n}: {low}");
            assert!((1.0 - at_least(k + 1, n, high) - 0.025).abs() < 1e-6, "{k} of {n}: {high}");
        }
    }

    #[test]
    fn the_ends_of_the_scale_have_closed_forms() {
        for n in [1, 6, 30, 200, 304, 1_000_000, u32::MAX] {
            // P(0 of n) = (1 − p)ⁿ = α/2.
            let bound = -(0.025_f64.ln() / f64::from(n)).exp_m1();
            let (low, high) = ends(0, n);
            assert!(low == 0.0 && (high / bound - 1.0).abs() < 1e-6, "0 of {n}: {high} and not {bound}");
            let (low, high) = ends(n, n);
            assert!(high == 1.0 && (low - (1.0 - bound)).abs() < 1e-6, "{n} of {n}: {low}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(proportion(0, 0, Confidence::P95), Err(StatsError::Empty));
        assert!(proportion(3, 2, Confidence::P95).is_err());
    }
}
