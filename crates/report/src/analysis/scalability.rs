//! The Universal Scalability Law over a scenario's numbers of workers, and the point from which more workers do less.

use indexmap::IndexMap;
use litelab_model::Scalar;
use litelab_model::metric::{Measure, Metric};
use litelab_stats::{Confidence, Estimate, StatsError, Usl, UslPoint};
use serde::Serialize;

use super::variant::VariantAnalysis;
use super::{pair, serial};

/// Scalability of variants that differ only in the number of workers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scalability {
    /// Values that the variants share: `profile=balanced executor=threads`; empty without other dimensions.
    pub label: String,
    /// Name of the dimension of workers.
    pub dimension: String,
    /// Fitted metric: the throughput that the scenario names first.
    pub metric: Metric,
    /// The fitted law, or the reason for which there is none.
    #[serde(serialize_with = "serial::law")]
    pub law: Result<Usl, String>,
    /// Number of workers and median throughput of the judged variant with the highest throughput.
    pub best: Option<(u32, f64)>,
    /// The fewest workers above the best for which the interval of the ratio to the best lies below 1, with that ratio.
    pub falls: Option<(u32, Estimate)>,
}

/// Fits one law for each combination of the other dimensions.
pub(super) fn fit(dimension: &str, metrics: &[Metric], variants: &[&VariantAnalysis]) -> Vec<Scalability> {
    let throughput = metrics.iter().find(|m| matches!(m.measure, Measure::Throughput | Measure::RowsPerSecond));
    let metric = throughput.cloned().unwrap_or_else(|| Measure::Throughput.into());
    let mut groups: IndexMap<String, Vec<(u32, &VariantAnalysis)>> = IndexMap::new();
    for variant in variants.iter().filter(|variant| variant.skipped.is_none()) {
        let Some(Scalar::Integer(level)) = variant.dimensions.get(dimension) else { continue };
        let Ok(level) = u32::try_from(*level) else { continue };
        let others = variant.dimensions.iter().filter(|(name, _)| *name != dimension);
        let label = others.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        groups.entry(label).or_default().push((level, variant));
    }
    groups.into_iter().map(|(label, group)| one(label, dimension, &metric, group)).collect()
}

fn one(label: String, dimension: &str, metric: &Metric, mut group: Vec<(u32, &VariantAnalysis)>) -> Scalability {
    group.sort_by_key(|(level, _)| *level);
    let points: Vec<UslPoint> = group
        .iter()
        .flat_map(|(level, variant)| variant.values(metric).iter().map(|(_, value)| (*level, *value)))
        .map(|(concurrency, throughput)| UslPoint { concurrency, throughput })
        .collect();
    let found = |law, best, falls| {
        let (dimension, metric) = (dimension.to_owned(), metric.clone());
        Scalability { label, dimension, metric, law, best, falls }
    };
    if let Some(zero) = points.iter().find(|point| point.throughput <= 0.0) {
        return found(Err(format!("{metric} is 0 in a round at {}", zero.concurrency)), None, None);
    }
    // The seed changes only the last digit of the interval; a constant one gives the same report each time.
    let law = Usl::fit(&points, Confidence::P95, 1).map_err(|error| match error {
        StatsError::TooFew { have, need } => format!("it needs {need} levels, and {have} were measured"),
        other => other.to_string(),
    });
    let median = |variant: &VariantAnalysis| variant.estimate(metric).map(|estimate| estimate.value);
    let judged = group.iter().filter(|(_, variant)| variant.is_judged(metric));
    let measured = judged.filter_map(|(level, variant)| Some((*level, *variant, median(variant)?)));
    let best = measured.max_by(|(.., a), (.., b)| a.total_cmp(b));
    let falls = best.and_then(|(top, best, _)| {
        let beyond = group.iter().filter(|(level, variant)| *level > top && variant.is_judged(metric));
        beyond
            .filter_map(|(level, variant)| {
                Some((*level, pair::ratio(variant, best, metric, Confidence::P95).ok()?.ratio))
            })
            .find(|(_, ratio)| ratio.interval().is_some_and(|interval| interval.high() < 1.0))
    });
    found(law, best.map(|(level, _, value)| (level, value)), falls)
}
