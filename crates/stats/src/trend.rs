//! Whether a series grows.

use serde::{Deserialize, Serialize};

use crate::null::{self, EXACT_LIMIT, Method, NullDistribution};
use crate::ranks::Midranks;
use crate::{Confidence, StatsError, sample};

/// Quadratic time: twenty thousand one-second medians are more than five hours.
const LIMIT: usize = 20_000;

/// The Mann-Kendall test for a monotone trend (Mann 1945, Kendall 1975): does lag grow during a trial?
///
/// It uses only which of two observations is larger, so spikes and the shape of the growth do not matter.
/// It assumes that without a trend any order is equally likely; neighbouring observations of a queue
/// correlate, so on such a series it rejects more often than its level. Use medians over intervals much
/// longer than the service time, and together with a second sign of overload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Pairs that rise less pairs that fall.
    pub s: i64,
    /// Kendall's τ-b against time, −1 (always falling) to 1 (always rising). 0 when all are equal.
    pub tau: f64,
    /// Two-sided p-value of no trend.
    pub p_value: f64,
    /// Observations.
    pub n: usize,
    /// Exact up to 50 observations, ties included; normal with continuity and tie correction above.
    pub method: Method,
}

/// What a series is shown to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Later observations are larger.
    Rising,
    /// Later observations are smaller.
    Falling,
    /// No trend was shown, which is not the same as none.
    NotShown,
}

impl Trend {
    /// Tests a series in order of time, at equal or unequal distances.
    ///
    /// # Errors
    /// Empty or non-finite series, or more than 20 000 observations.
    pub fn of(series: &[f64]) -> Result<Self, StatsError> {
        sample::finite(series)?;
        sample::at_most(series.len(), LIMIT)?;
        let n = series.len();
        let s: i64 = series
            .iter()
            .enumerate()
            .map(|(i, &x)| {
                let later = &series[i + 1..];
                later.iter().map(|&y| i64::from(y > x) - i64::from(y < x)).sum::<i64>()
            })
            .sum();
        let ranks = Midranks::of(series);
        let pairs = (n * (n - 1) / 2) as i64;
        let tied: i64 = ranks.groups.iter().map(|&t| (t * (t - 1) / 2) as i64).sum();
        let comparable = pairs - tied;
        let tau = if comparable == 0 { 0.0 } else { s as f64 / (comparable as f64 * pairs as f64).sqrt() };
        let (p_value, method) = if n <= EXACT_LIMIT {
            // Falling pairs are inversions: s = comparable − 2·inversions.
            let inversions = ((comparable - s) / 2) as usize;
            let null = NullDistribution::inversions(&ranks.groups);
            (null.two_sided(inversions), Method::Exact)
        } else {
            let p = null::normal_two_sided(s as f64, 0.0, variance(n, &ranks), 2.0);
            (p, Method::Normal)
        };
        Ok(Self { s, tau, p_value, n, method })
    }

    /// The direction, if it is shown at this confidence.
    #[must_use]
    pub fn direction(&self, confidence: Confidence) -> Direction {
        if self.p_value > confidence.alpha() {
            Direction::NotShown
        } else if self.s > 0 {
            Direction::Rising
        } else {
            Direction::Falling
        }
    }
}

/// Variance of S: \[n(n−1)(2n+5) − Σt(t−1)(2t+5)\]/18.
fn variance(n: usize, ranks: &Midranks) -> f64 {
    let term = |t: usize| {
        let t = t as f64;
        t * (t - 1.0) * (2.0 * t + 5.0)
    };
    (term(n) - ranks.groups.iter().map(|&t| term(t)).sum::<f64>()) / 18.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_growth_from_noise_and_from_silence() {
        let growing: Vec<f64> = (0..20).map(|i| f64::from(i) + f64::from(i * 7 % 5)).collect();
        let falling: Vec<f64> = growing.iter().rev().copied().collect();
        let hill: Vec<f64> = growing.iter().chain(&falling).copied().collect();
        let direction = |series: &[f64]| Trend::of(series).unwrap().direction(Confidence::P95);
        assert_eq!(direction(&growing), Direction::Rising);
        assert_eq!(direction(&falling), Direction::Falling);
        assert_eq!(direction(&hill), Direction::NotShown);
        assert_eq!(direction(&[3.0; 20]), Direction::NotShown);
        assert_eq!(direction(&[3.0; 200]), Direction::NotShown);
        assert_eq!(direction(&[3.0]), Direction::NotShown);
    }

    #[test]
    fn a_spike_is_no_trend() {
        let mut series = vec![1.0; 30];
        series[29] = 1e9;
        assert_eq!(Trend::of(&series).unwrap().direction(Confidence::P95), Direction::NotShown);
    }
}
