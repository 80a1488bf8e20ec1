//! Crossovers: the smallest level of a dimension (workers, rows) at which one variant overtakes another.

use std::collections::BTreeMap;

use litelab_model::crossover::{CrossoverPlan, LinePlan};
use litelab_model::{Metric, Plan};
use litelab_stats::{Confidence, Crossover, PairedRatio, StatsError};
use serde::Serialize;

use super::claim::failures;
use super::pair::{self, better};
use super::serial;
use super::variant::VariantAnalysis;

/// Crossovers of two variants in one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossoverResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Dimension whose level grows.
    pub over: String,
    /// The base variant, as the study selects it.
    pub base: String,
    /// The variant that may overtake the base.
    pub other: String,
    /// Levels that both variants have, ascending; at least two.
    pub levels: Vec<u32>,
    /// Variants at these levels: those of the base, then those of the other.
    pub variants: (Vec<usize>, Vec<usize>),
    /// Results in the order of the study's metrics.
    pub metrics: Vec<MetricCrossover>,
}

/// Crossover in one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricCrossover {
    /// The metric.
    pub metric: Metric,
    /// The crossover at 95 %, or the reason in one line for which it is not known.
    #[serde(serialize_with = "serial::known")]
    pub found: Result<Crossover, String>,
    /// Ratio of the other to the base at the last level, at 95 %.
    #[serde(serialize_with = "serial::ratio_if_any")]
    pub last: Option<PairedRatio>,
}

/// Finds all crossovers of a plan, in its order.
pub(super) fn find(plan: &Plan, variants: &[VariantAnalysis]) -> Vec<CrossoverResult> {
    let each = |of: &CrossoverPlan| of.others.iter().map(|other| one(plan, of, other, variants)).collect::<Vec<_>>();
    plan.crossovers.iter().flat_map(each).collect()
}

fn one(plan: &Plan, of: &CrossoverPlan, other: &LinePlan, variants: &[VariantAnalysis]) -> CrossoverResult {
    let theirs: BTreeMap<u32, usize> = other.variants.iter().copied().collect();
    let shared = of.base.variants.iter().filter_map(|(level, base)| Some((*level, *base, *theirs.get(level)?)));
    let shared: Vec<(u32, usize, usize)> = shared.collect();
    let in_metric = |metric: &Metric| MetricCrossover {
        metric: metric.clone(),
        found: judge(metric, &shared, variants),
        last: shared.last().and_then(|(_, base, other)| {
            pair::ratio(variants.get(*other)?, variants.get(*base)?, metric, Confidence::P95).ok()
        }),
    };
    CrossoverResult {
        scenario: plan.scenarios.get(of.scenario).map_or_else(String::new, |s| s.name.clone()),
        over: of.over.clone(),
        base: of.base.label.clone(),
        other: other.label.clone(),
        levels: shared.iter().map(|(level, ..)| *level).collect(),
        variants: shared.iter().map(|(_, base, other)| (*base, *other)).unzip(),
        metrics: of.metrics.iter().map(in_metric).collect(),
    }
}

/// Judges the rounds that have a value of both variants at every level. As with a claim, a failed trial of a variant
/// leaves the result open.
fn judge(metric: &Metric, shared: &[(u32, usize, usize)], variants: &[VariantAnalysis]) -> Result<Crossover, String> {
    let mut rounds: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for (at, (_, base, other)) in shared.iter().enumerate() {
        let (Some(base), Some(other)) = (variants.get(*base), variants.get(*other)) else {
            return Err("a variant is not in this run".into());
        };
        if let Some(why) = failures(other, Some(base)) {
            return Err(why);
        }
        if let Some(why) = [base, other].into_iter().find_map(|variant| variant.not_judged(metric)) {
            return Err(why);
        }
        for (round, base, other) in pair::pairs(other, base, metric) {
            let curve = rounds.entry(round).or_default();
            // A round without a value at an earlier level has a shorter curve and is dropped below.
            if curve.len() == at {
                curve.push((base, other));
            }
        }
    }
    rounds.retain(|_, curve| curve.len() == shared.len());
    let (numbers, rounds): (Vec<u32>, Vec<Vec<(f64, f64)>>) = rounds.into_iter().unzip();
    let levels: Vec<f64> = shared.iter().map(|(level, ..)| f64::from(*level)).collect();
    if rounds.is_empty() {
        return Err(format!("no round has a {metric} of all variants"));
    }
    let round = |index: usize| numbers.get(index).map_or(0, |round| round + 1);
    Crossover::from_rounds(&levels, &rounds, better(metric), Confidence::P95).map_err(|error| match error {
        StatsError::NotPositive { index, .. } => {
            format!("no ratio in {metric}: it is not above 0 in round {}", round(index))
        }
        StatsError::NotFinite { index, .. } => {
            format!("no ratio in {metric}: it is no number in round {}", round(index))
        }
        other => format!("no crossover in {metric}: {other}"),
    })
}
