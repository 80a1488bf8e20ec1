//! How far observations scatter.

use crate::StatsError;
use crate::quantile::median_of_sorted;
use crate::sample;

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

/// The spread the planner works from: the MAD, or the standard deviation when more than half the
/// observations are equal and the MAD would claim certainty. `None` below two observations.
pub(crate) fn robust(sample: &[f64]) -> Option<f64> {
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
}
