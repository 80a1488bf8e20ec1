//! Latencies of many trials as one distribution.

use hdrhistogram::Histogram as Counts;
use litelab_protocol::histogram::Histogram;

/// Number of significant digits: values are exact within 1 %, which is less than the width of a line. Three digits
/// would take a quarter of a megabyte for each latency of each variant.
const DIGITS: u8 = 2;

/// Number of points of a curve for each further nine of its percentiles.
const PER_NINE: u32 = 6;

/// Histogram of latencies in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Distribution(Counts<u64>);

impl Default for Distribution {
    fn default() -> Self {
        // The library accepts 0 to 5 digits.
        Self(Counts::new(DIGITS).expect("constant digits are valid"))
    }
}

impl Distribution {
    pub(super) fn add(&mut self, histogram: &Histogram) {
        for (nanos, count) in histogram.recorded() {
            // The histogram resizes itself, so that it rejects no value.
            let _recorded = self.0.record_n(nanos, count);
        }
    }

    /// Number of recorded latencies.
    pub(super) fn total(&self) -> u64 {
        self.0.len()
    }

    /// Pairs of quantile and nanoseconds, evenly spaced on the axis log(1/(1 − q)), and the maximum as quantile 1.
    /// Quantiles have at least ten latencies beyond them: a smaller tail does not predict the next trial.
    pub(super) fn curve(&self) -> Vec<(f64, f64)> {
        // A little less than ten, because a share of the total is seldom a whole number in floating point.
        const BEYOND: f64 = 9.999;
        if self.0.is_empty() {
            return Vec::new();
        }
        let total = self.0.len() as f64;
        let quantiles = (1..)
            .map(|step| 1.0 - 10_f64.powf(-f64::from(step) / f64::from(PER_NINE)))
            .take_while(|q| (1.0 - q) * total >= BEYOND && *q < 1.0);
        let points = std::iter::once(0.0).chain(quantiles).map(|q| (q, self.0.value_at_quantile(q) as f64));
        points.chain([(1.0, self.0.max() as f64)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_that_of_the_histogram() {
        let mut histogram = Histogram::new();
        (1..=100_000_u64).for_each(|i| histogram.record(i * 1000));
        let mut distribution = Distribution::default();
        distribution.add(&histogram);
        assert_eq!(distribution.total(), 100_000);
        let curve = distribution.curve();
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{curve:?}");
        for (q, nanos) in &curve {
            let exact = histogram.quantile(*q).unwrap() as f64;
            assert!((nanos / exact - 1.0).abs() < 0.02, "{q}: {nanos}, and the histogram has {exact}");
        }
        // Ten of 100,000 lie beyond the fourth nine.
        assert!(curve.iter().any(|(q, _)| (q - 0.9999).abs() < 1e-9) && curve.last().unwrap().0 == 1.0);
    }

    #[test]
    fn nothing_measured_has_no_curve() {
        assert_eq!(Distribution::default().curve(), []);
    }
}
