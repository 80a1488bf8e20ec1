//! What of a scenario is judged, and at which level: the plan has its blocks by it, and the analysis its intervals.

use litelab_stats::Confidence;

use crate::metric::{Measure, Metric, Quantile, Timing};

/// Metrics in which arms are judged: the first shown and, since throughput is a blunt comparator on a busy machine,
/// beside it the median latency and the CPU time, which are sharper.
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

/// The level of each ratio of so many arms to their baseline in all judged metrics (Bonferroni). One metric chosen beforehand
/// would need no correction over metrics, but the first shown is throughput, which scatters several times as much as the
/// other two: a third of α in the sharpest finds more than all of it there.
#[must_use]
pub fn shared_confidence(others: usize, judged: &[Metric]) -> Confidence {
    Confidence::P95.shared_by((others * judged.len()).max(1)).unwrap_or_default()
}
