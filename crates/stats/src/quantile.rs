//! Sample quantiles.

use crate::StatsError;
use crate::sample;

/// The sample quantile at `fraction` (0 ..= 1), interpolated linearly between order statistics: type 7 of
/// Hyndman and Fan (1996), the default of NumPy and R.
///
/// Intended for summaries over trials. Latency percentiles over operations come from histograms.
///
/// # Errors
/// Empty or non-finite samples, and a fraction outside 0 ..= 1.
pub fn quantile(sample: &[f64], fraction: f64) -> Result<f64, StatsError> {
    sample::finite(sample)?;
    if !(0.0..=1.0).contains(&fraction) {
        return Err(StatsError::OutOfDomain { what: "quantile", value: fraction, domain: "from 0 to 1" });
    }
    Ok(of_sorted(&sample::sorted(sample), fraction))
}

/// The quantile as in [`quantile`], for a sorted, finite, non-empty slice.
pub(crate) fn of_sorted(sorted: &[f64], fraction: f64) -> f64 {
    let position = fraction * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    midway(sorted[below], sorted[above], position - below as f64)
}

/// The median of a sorted, finite, non-empty slice.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { sorted[middle - 1].midpoint(sorted[middle]) }
}

fn midway(low: f64, high: f64, share: f64) -> f64 {
    // The difference form is exact at both ends and for equal neighbours. It overflows only if the two values have
    // opposite signs and are near the largest double.
    let step = high - low;
    if step.is_finite() { low + step * share } else { low * (1.0 - share) + high * share }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_the_largest_doubles() {
        let extremes = [f64::MIN, f64::MAX];
        assert_eq!(quantile(&extremes, 0.5).unwrap(), 0.0);
        assert_eq!(quantile(&extremes, 1.0).unwrap(), f64::MAX);
        assert_eq!(median_of_sorted(&[f64::MAX, f64::MAX]), f64::MAX);
    }

    #[test]
    fn refuses_fractions_that_are_percents() {
        assert!(quantile(&[1.0, 2.0], 50.0).is_err());
        assert!(quantile(&[1.0, 2.0], f64::NAN).is_err());
    }
}
