//! Latencies of many trials as one distribution in little space.

use litelab_protocol::histogram::Histogram;

/// Buckets of a power of two: a value is known within 1/64, less than the width of a line.
const PER_OCTAVE: u64 = 64;
const BITS: u32 = PER_OCTAVE.ilog2();

/// Points of a curve for each further nine of its percentiles.
const PER_NINE: u32 = 6;

/// Counts of latencies. Far smaller than a histogram of three digits, of which a study of hundreds of arms would need
/// hundreds at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sketch {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

impl Sketch {
    pub(super) fn add(&mut self, histogram: &Histogram) {
        for (nanos, count) in histogram.recorded() {
            let at = place(nanos);
            if self.counts.len() <= at {
                self.counts.resize(at + 1, 0);
            }
            self.counts[at] = self.counts[at].saturating_add(count);
            self.total = self.total.saturating_add(count);
            self.max = self.max.max(nanos);
        }
    }

    /// Latencies counted.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Quantiles and nanoseconds, evenly spread on the axis log(1/(1 − q)), and the maximum as quantile 1. A quantile is
    /// there only if ten latencies or more lie beyond it: a tail of fewer says nothing of the next trial.
    pub(super) fn curve(&self) -> Vec<(f64, f64)> {
        // A little less than ten, for a share of the total is seldom a whole number in floating point.
        const BEYOND: f64 = 9.999;
        if self.total == 0 {
            return Vec::new();
        }
        let total = self.total as f64;
        let quantiles = (1..)
            .map(|step| 1.0 - 10_f64.powf(-f64::from(step) / f64::from(PER_NINE)))
            .take_while(|q| (1.0 - q) * total >= BEYOND && *q < 1.0);
        let mut below = 0_u64;
        let mut at = 0;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for q in std::iter::once(0.0).chain(quantiles) {
            let rank = ((q * total).ceil() as u64).max(1);
            while at < self.counts.len() && below.saturating_add(self.counts[at]) < rank {
                below = below.saturating_add(self.counts[at]);
                at += 1;
            }
            points.push((q, value(at).min(self.max as f64)));
        }
        points.push((1.0, self.max as f64));
        points
    }
}

/// The bucket of a value: below 2 · 64 its own, above that the 64 of its power of two.
fn place(nanos: u64) -> usize {
    let shift = nanos.max(1).ilog2().saturating_sub(BITS);
    (u64::from(shift) * PER_OCTAVE + (nanos >> shift)) as usize
}

/// The middle of a bucket.
fn value(place: usize) -> f64 {
    let place = place as u64;
    let shift = (place / PER_OCTAVE).saturating_sub(1);
    let low = (place - shift * PER_OCTAVE) as f64;
    let width = 2_f64.powi(i32::try_from(shift).unwrap_or(i32::MAX));
    low * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_known_within_a_sixty_fourth() {
        for nanos in (0..200).chain((0..42).map(|bit| (1_u64 << bit) + bit * 3)) {
            let back = value(place(nanos));
            assert!((back - nanos as f64).abs() <= nanos as f64 / 64.0, "{nanos} comes back as {back}");
        }
    }

    #[test]
    fn a_curve_is_that_of_the_histogram() {
        let mut histogram = Histogram::new();
        (1..=100_000_u64).for_each(|i| histogram.record(i * 1000));
        let mut sketch = Sketch::default();
        sketch.add(&histogram);
        assert_eq!(sketch.total(), 100_000);
        let curve = sketch.curve();
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
        assert_eq!(Sketch::default().curve(), []);
    }
}
