//! Bands: the bounds of a claim about a figure that its source published.

use crate::metric::{Measure, Metric, Unit};

/// Factor for ratios of two values, shares and sizes, which machines have in common.
pub const COMMON: f64 = 1.25;
/// Factor for absolute rates and times, which differ between machines, and for rare events, of which a source counted
/// few: 12 observed events are compatible with 6 to 21 expected ones.
pub const WIDE: f64 = 2.0;

/// The factor by which a published figure is widened in both directions.
#[must_use]
pub fn factor(metric: &Metric, is_ratio: bool) -> f64 {
    let rare = matches!(metric.measure, Measure::FailedShare | Measure::EmptyShare | Measure::ErrorShare);
    let of_machine = matches!(metric.unit(), Unit::PerSecond | Unit::Nanos);
    if rare || (of_machine && !is_ratio) { WIDE } else { COMMON }
}

/// The bounds of a published range.
#[must_use]
pub fn of(metric: &Metric, is_ratio: bool, (low, high): (f64, f64)) -> (f64, f64) {
    let factor = factor(metric, is_ratio);
    (low / factor, high * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(metric: &str, is_ratio: bool, range: (f64, f64)) -> (f64, f64) {
        of(&metric.parse().expect("metric"), is_ratio, range)
    }

    #[test]
    fn what_differs_between_machines_has_a_wide_band() {
        assert_eq!(band("throughput", false, (400.0, 500.0)), (200.0, 1000.0));
        assert_eq!(band("throughput", true, (1.6, 1.6)), (1.28, 2.0));
        assert_eq!(band("p50", false, (2e6, 2e6)), (1e6, 4e6));
        assert_eq!(band("wal_peak", false, (4e6, 8e6)), (3.2e6, 1e7));
        assert_eq!(band("utilization", false, (0.5, 0.5)), (0.4, 0.625));
        assert_eq!(band("errors", false, (0.012, 0.012)), (0.006, 0.024));
        assert_eq!(band("errors", true, (3.0, 3.0)), (1.5, 6.0));
    }
}
