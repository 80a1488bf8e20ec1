//! A/A checks: the difference between two identical variants is noise.

use litelab_model::Metric;
use litelab_stats::{Confidence, Tolerance};
use serde::Serialize;

use super::pair::{MetricComparison, pair};
use super::variant::VariantAnalysis;

/// Comparison of a variant with its twin in one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AaCheck {
    /// Index of the variant.
    pub variant: usize,
    /// Index of its twin.
    pub twin: usize,
    /// Ratio of the twin to the variant, at 95 %.
    #[serde(flatten)]
    pub comparison: MetricComparison,
    /// Noise of the environment in this metric.
    pub noise: Noise,
}

/// Noise of the environment, from two identical variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// The variants are equivalent: a difference of the size of the tolerance can be shown.
    Quiet,
    /// The interval excludes 1: this machine shows a difference where there is none.
    False,
    /// The interval contains 1 and extends beyond the tolerance.
    Wide,
    /// There are too few rounds for an interval.
    Unknown,
}

/// Compares every twin with the variant that has the same values in all other dimensions.
pub(super) fn check(variants: &[&VariantAnalysis], metrics: &[Metric], tolerance: Tolerance) -> Vec<AaCheck> {
    let mut checks = Vec::new();
    for twin in variants.iter().filter(|a| a.is_twin()) {
        let same = |variant: &&&VariantAnalysis| {
            let mut dimensions = twin.dimensions.clone();
            dimensions.shift_remove(litelab_model::resolve::AA);
            !variant.is_twin() && variant.dimensions == dimensions
        };
        let Some(variant) = variants.iter().find(same) else { continue };
        for metric in metrics {
            let comparison = pair(twin, variant, metric, Confidence::P95, tolerance);
            let interval = comparison.ratio.as_ref().ok().and_then(|r| r.ratio.interval());
            let noise = match interval {
                None => Noise::Unknown,
                Some(interval) if !interval.contains(1.0) => Noise::False,
                Some(interval) if !tolerance.holds(interval) => Noise::Wide,
                Some(_) => Noise::Quiet,
            };
            checks.push(AaCheck { variant: variant.index, twin: twin.index, comparison, noise });
        }
    }
    checks
}
