//! Checks of raw observations, made once in each public function.

use crate::StatsError;

/// Maximum number of observations per sample for pairwise methods. Two million Walsh averages take 16 MB, and two
/// thousand rounds are impractical.
pub(crate) const PAIRWISE_LIMIT: usize = 2_000;

/// Accepts a non-empty sample of finite numbers.
pub(crate) fn finite(sample: &[f64]) -> Result<(), StatsError> {
    if sample.is_empty() {
        return Err(StatsError::Empty);
    }
    match sample.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(StatsError::NotFinite { index, value: sample[index] }),
        None => Ok(()),
    }
}

/// Accepts a non-empty sample of finite numbers above zero.
pub(crate) fn positive(sample: &[f64]) -> Result<(), StatsError> {
    finite(sample)?;
    match sample.iter().position(|&x| x <= 0.0) {
        Some(index) => Err(StatsError::NotPositive { index, value: sample[index] }),
        None => Ok(()),
    }
}

/// Accepts up to `limit` observations.
pub(crate) fn at_most(have: usize, limit: usize) -> Result<(), StatsError> {
    if have > limit {
        return Err(StatsError::TooMany { have, limit });
    }
    Ok(())
}

/// A sorted copy of a finite sample.
pub(crate) fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut copy = sample.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    copy
}

/// ln(b / a) of two positive numbers. It is exactly antisymmetric, so that swapping the variants of a comparison gives
/// the reciprocal ratio and the same p-value to the last bit.
pub(crate) fn log_ratio(a: f64, b: f64) -> f64 {
    let (small, large, sign) = if b >= a { (a, b, 1.0) } else { (b, a, -1.0) };
    let quotient = large / small;
    // The quotient is more exact (equal ratios remain ties); the difference cannot overflow.
    let log = if quotient.is_finite() { quotient.ln() } else { large.ln() - small.ln() };
    sign * log
}

/// The ratio of a log-ratio; [`StatsError::Overflow`] unless it is a positive, finite double.
pub(crate) fn ratio(log: f64) -> Result<f64, StatsError> {
    let ratio = log.exp();
    if ratio.is_finite() && ratio > 0.0 { Ok(ratio) } else { Err(StatsError::Overflow) }
}
