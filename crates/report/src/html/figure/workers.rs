//! Throughput and P99 against workers, with the Universal Scalability Law.

use litelab_model::Scalar;
use litelab_model::metric::{Measure, Metric, Quantile, Timing};

use super::{Figure, Source};
use crate::analysis::{ArmAnalysis, Scalability};
use crate::chart::{Reading, Scaling, ScalingPoint, ScalingSeries};

/// Curves that can be told apart.
const MOST: usize = 6;

pub(super) fn figure(source: Source<'_>) -> Option<Figure> {
    let scenario = source.scenario;
    let first = scenario.scalability.first()?;
    let shown = &scenario.scalability[..scenario.scalability.len().min(MOST)];
    let is_p99 = |metric: &&Metric| matches!(metric.measure, Measure::Latency(_, Quantile::P99));
    let service = Metric::from(Measure::Latency(Timing::Service, Quantile::P99));
    let p99 = scenario.metrics.iter().find(is_p99).unwrap_or(&service);
    let of = |of: &Scalability| arms(source, of);
    let series = shown.iter().map(|law| ScalingSeries {
        name: law.label.clone(),
        points: of(law)
            .into_iter()
            .map(|(workers, arm)| ScalingPoint {
                workers,
                throughput: arm.estimate(&law.metric).map(Reading::from),
                latency: arm.estimate(p99).filter(|_| arm.too_few(p99).is_none()).map(Reading::from),
            })
            .collect(),
        law: Some(law.law.as_ref().map(Into::into).map_err(Clone::clone)),
    });
    let chart = Scaling {
        title: format!("{}: {} and {p99} against {}", scenario.name, first.metric, first.dimension),
        summary: String::new(),
        workers: first.dimension.clone(),
        throughput: first.metric.to_string(),
        unit: Some(first.metric.measure.unit()),
        latency: p99.to_string(),
        series: series.collect(),
    };
    let more = match scenario.scalability.len() - shown.len() {
        0 => String::new(),
        more => format!(" {more} more curves are left out; their figures stand below the table."),
    };
    let note = format!("Medians over blocks with 95 % intervals; the law is fitted to all blocks.{more}");
    let arms = shown.iter().flat_map(of).map(|(_, arm)| arm.index).collect();
    Some(Figure { chart: Box::new(chart), note, arms, course: None })
}

/// The arms of one curve with their workers.
fn arms<'a>(source: Source<'a>, law: &Scalability) -> Vec<(u32, &'a ArmAnalysis)> {
    let of = |arm: &'a ArmAnalysis| {
        let Some(Scalar::Integer(level)) = arm.dimensions.get(&law.dimension) else { return None };
        let others = arm.dimensions.iter().filter(|(name, _)| **name != law.dimension);
        let label = others.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        Some((u32::try_from(*level).ok()?, arm)).filter(|_| label == law.label)
    };
    source.measured().filter_map(of).collect()
}
