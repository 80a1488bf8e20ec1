//! The median and its order-statistic interval.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::confidence::minimum_rounds;
use crate::quantile::median_of_sorted;
use crate::sample;
use crate::{Bounds, Confidence, Estimate, Interval, StatsError};

/// The sample median, in the unit of the sample, with an interval between two order statistics.
///
/// The number of observations below the true median is Binomial(n, ½) whatever the distribution, so \[x₍ᵣ₎, x₍ₙ₊₁₋ᵣ₎\]
/// covers it with probability 1 − 2·P(B ≤ r − 1). The rank r is the largest for which this is at least `confidence`,
/// and the interval reports the coverage it achieves (a lower bound if values tie). The method assumes independent
/// observations, not normality. At 95 % it needs 6.
///
/// # Errors
/// Empty or non-finite samples.
pub fn median(sample: &[f64], confidence: Confidence) -> Result<Estimate, StatsError> {
    sample::finite(sample)?;
    let sorted = sample::sorted(sample);
    let n = sorted.len();
    let bounds = match order_statistic(n, confidence) {
        Some((r, coverage)) => Bounds::Interval(Interval::new(sorted[r - 1], sorted[n - r], coverage)?),
        None => Bounds::NeedsAtLeast(minimum_rounds(confidence)),
    };
    Ok(Estimate { value: median_of_sorted(&sorted), n, bounds })
}

/// The rank r (from 1) of the lower end, and the coverage; `None` if there are too few observations.
fn order_statistic(n: usize, confidence: Confidence) -> Option<(usize, f64)> {
    let below = Binomial::new(0.5, n as u64).ok()?;
    // As in the rank tests, a tail of exactly α/2 must count despite rounding.
    let allowed = confidence.alpha() / 2.0 + 1e-12;
    let fits = |r: usize| r == 0 || below.cdf(r as u64 - 1) <= allowed;
    let (mut r, mut too_far) = (0, n / 2 + 1);
    while too_far - r > 1 {
        let middle = r.midpoint(too_far);
        if fits(middle) {
            r = middle;
        } else {
            too_far = middle;
        }
    }
    (r > 0).then(|| {
        let tail = below.cdf(r as u64 - 1);
        (r, (1.0 - 2.0 * tail).clamp(0.0, 1.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_observations_have_no_interval_and_say_what_they_need() {
        let five = median(&[5.0, 1.0, 4.0, 2.0, 3.0], Confidence::P95).unwrap();
        assert_eq!(five.value, 3.0);
        assert_eq!(five.needs(), Some(6));
        let six = median(&[5.0, 1.0, 4.0, 2.0, 3.0, 6.0], Confidence::P95).unwrap();
        assert_eq!((six.low(), six.high()), (Some(1.0), Some(6.0)));
        assert!((six.confidence().unwrap() - (1.0 - 2.0 / 64.0)).abs() < 1e-12);
    }

    #[test]
    fn the_coverage_is_the_smallest_that_suffices() {
        for n in 6..200 {
            let (r, coverage) = order_statistic(n, Confidence::P95).unwrap();
            assert!(coverage >= 0.95, "n = {n}");
            let next = Binomial::new(0.5, n as u64).unwrap().cdf(r as u64);
            assert!(1.0 - 2.0 * next < 0.95, "n = {n} could be narrower");
        }
    }
}
