//! The metrics in which a scenario is judged and their confidence level, shared by the plan's round count and the
//! analysis.

use litelab_stats::Confidence;

use crate::metric::{Measure, Metric, Quantile, Timing};

/// Metrics in which variants are judged: the first one shown. Throughput is imprecise on a busy machine, so it is
/// accompanied by the median latency and the CPU time, which are more precise.
#[must_use]
pub fn judged(shown: &[Metric]) -> Vec<Metric> {
    let Some(first) = shown.first() else { return Vec::new() };
    let mut judged = vec![first.clone()];
    if first.measure == Measure::Throughput {
        let p50 = Measure::Latency(Timing::Service, Quantile::P50);
        judged.push(Metric { measure: p50, transaction: first.transaction.clone() });
        judged.push(Measure::Cpu.into());
    }
    judged
}

/// Confidence level of each ratio of `others` variants to their baseline in all judged metrics (Bonferroni).
///
/// A single metric chosen beforehand would need no correction over metrics. But the first metric shown is throughput,
/// which varies several times as much as the other two: a third of α in the most precise metric detects more than all
/// of α in throughput.
#[must_use]
pub fn shared_confidence(others: usize, judged: &[Metric]) -> Confidence {
    Confidence::P95.shared_by((others * judged.len()).max(1)).unwrap_or_default()
}
