//! From which number on (of workers, of rows) one way overtakes another.

use std::collections::BTreeMap;

use litelab_model::crossover::{CrossoverPlan, LinePlan};
use litelab_model::{Metric, Plan};
use litelab_stats::{Confidence, Crossover, PairedRatio, StatsError};
use serde::Serialize;

use super::arm::ArmAnalysis;
use super::claim::failures;
use super::pair::{self, better};
use super::serial;

/// One way against another in one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossoverResult {
    /// The scenario's name.
    pub scenario: String,
    /// The dimension that grows.
    pub over: String,
    /// What is overtaken, as the study selects it.
    pub base: String,
    /// What may overtake it.
    pub other: String,
    /// The values that both have, ascending; two at least.
    pub levels: Vec<u32>,
    /// Arms at them: of the base, and of the other.
    pub arms: (Vec<usize>, Vec<usize>),
    /// In the order of the study.
    pub metrics: Vec<MetricCrossover>,
}

/// In one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricCrossover {
    /// The metric.
    pub metric: Metric,
    /// Where it is, at 95 %; or why that is not known, in one line.
    #[serde(serialize_with = "serial::known")]
    pub found: Result<Crossover, String>,
    /// The other over the base at the last value, at 95 %.
    #[serde(serialize_with = "serial::ratio_if_any")]
    pub last: Option<PairedRatio>,
}

/// All of a plan, in its order.
pub(super) fn find(plan: &Plan, arms: &[ArmAnalysis]) -> Vec<CrossoverResult> {
    let each = |of: &CrossoverPlan| of.others.iter().map(|other| one(plan, of, other, arms)).collect::<Vec<_>>();
    plan.crossovers.iter().flat_map(each).collect()
}

fn one(plan: &Plan, of: &CrossoverPlan, other: &LinePlan, arms: &[ArmAnalysis]) -> CrossoverResult {
    let theirs: BTreeMap<u32, usize> = other.arms.iter().copied().collect();
    let shared = of.base.arms.iter().filter_map(|(level, base)| Some((*level, *base, *theirs.get(level)?)));
    let shared: Vec<(u32, usize, usize)> = shared.collect();
    let in_metric = |metric: &Metric| MetricCrossover {
        metric: metric.clone(),
        found: judge(metric, &shared, arms),
        last: shared.last().and_then(|(_, base, other)| {
            pair::ratio(arms.get(*other)?, arms.get(*base)?, metric, Confidence::P95).ok()
        }),
    };
    CrossoverResult {
        scenario: plan.scenarios.get(of.scenario).map_or_else(String::new, |s| s.name.clone()),
        over: of.over.clone(),
        base: of.base.label.clone(),
        other: other.label.clone(),
        levels: shared.iter().map(|(level, ..)| *level).collect(),
        arms: shared.iter().map(|(_, base, other)| (*base, *other)).unzip(),
        metrics: of.metrics.iter().map(in_metric).collect(),
    }
}

/// Over the blocks that have all values of both. As with a claim, arms of which a trial failed prove nothing.
fn judge(metric: &Metric, shared: &[(u32, usize, usize)], arms: &[ArmAnalysis]) -> Result<Crossover, String> {
    let mut blocks: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for (at, (_, base, other)) in shared.iter().enumerate() {
        let (Some(base), Some(other)) = (arms.get(*base), arms.get(*other)) else {
            return Err("an arm is not in this run".into());
        };
        if let Some(why) = failures(other, Some(base)) {
            return Err(why);
        }
        if let Some(why) = [base, other].into_iter().find_map(|arm| arm.too_few(metric)) {
            return Err(why);
        }
        for (block, base, other) in pair::pairs(other, base, metric) {
            let curve = blocks.entry(block).or_default();
            // Whoever lacks a value before this one has a shorter curve, and is left out.
            if curve.len() == at {
                curve.push((base, other));
            }
        }
    }
    blocks.retain(|_, curve| curve.len() == shared.len());
    let (numbers, blocks): (Vec<u32>, Vec<Vec<(f64, f64)>>) = blocks.into_iter().unzip();
    let levels: Vec<f64> = shared.iter().map(|(level, ..)| f64::from(*level)).collect();
    if blocks.is_empty() {
        return Err(format!("no block has a {metric} of all arms"));
    }
    let block = |index: usize| numbers.get(index).map_or(0, |block| block + 1);
    Crossover::from_blocks(&levels, &blocks, better(metric), Confidence::P95).map_err(|error| match error {
        StatsError::NotPositive { index, .. } => format!("no ratio in {metric}: it is 0 in block {}", block(index)),
        StatsError::NotFinite { index, .. } => {
            format!("no ratio in {metric}: it is no number in block {}", block(index))
        }
        other => format!("no crossover in {metric}: {other}"),
    })
}
