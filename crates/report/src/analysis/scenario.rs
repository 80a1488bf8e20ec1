//! A scenario: every arm against the baseline.

use litelab_model::Metric;
use litelab_model::judging::{judged, shared_confidence};
use litelab_model::plan::ScenarioPlan;
use litelab_record::RunInfo;
use litelab_stats::{Tolerance, Verdict, holm};
use serde::Serialize;

use super::Analysis;
use super::alert::{self, AlertResult};
use super::arm::ArmAnalysis;
use super::content::{self, ContentCheck};
use super::durability::Footing;
use super::effect::{self, Effects};
use super::harness::{self, HarnessCost};
use super::noise::{self, AaCheck};
use super::pair::{MetricComparison, pair};
use super::scalability::{self, Scalability};
use super::serial;
use super::timeline::Timeline;

/// What a scenario's trials say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioAnalysis {
    /// Its name.
    pub name: String,
    /// The question it answers.
    pub question: String,
    /// Blocks planned.
    pub planned: u32,
    /// Blocks of which at least one trial is there.
    pub done: u64,
    /// Dimensions in which its arms differ, that of the twin left out.
    pub dimensions: Vec<String>,
    /// Its arms without the twin, in order.
    pub arms: Vec<usize>,
    /// The arm others are compared with.
    pub baseline: usize,
    /// Metrics shown.
    pub metrics: Vec<Metric>,
    /// Metrics in which arms are judged, the deciding one first.
    pub judged: Vec<Metric>,
    /// Level of each ratio's interval, a fraction: with it, all of the scenario hold together at 95 %.
    pub confidence: f64,
    /// All arms but the baseline, without those of which all trials failed.
    pub comparisons: Vec<ArmComparison>,
    /// Two identical arms compared.
    pub aa: Vec<AaCheck>,
    /// Whether arms with the same rows to leave left the same.
    pub content: Vec<ContentCheck>,
    /// What the harness itself costs.
    pub harness: Vec<HarnessCost>,
    /// Bounds that every trial was looked at by.
    pub alerts: Vec<AlertResult>,
    /// Laws of scalability, where one was asked for.
    pub scalability: Vec<Scalability>,
    /// Effects of single dimensions in the first metric, where they were asked for; or why there are none.
    #[serde(serialize_with = "serial::known_if_any")]
    pub effects: Option<Result<Effects, String>>,
    /// Arms over the time of their trials, where it was asked for.
    pub timelines: Vec<Timeline>,
}

/// An arm against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmComparison {
    /// Index of the arm.
    pub arm: usize,
    /// Its durability beside that of the baseline.
    #[serde(rename = "durability", serialize_with = "serial::footing")]
    pub footing: Footing,
    /// In the order of the judged metrics.
    pub metrics: Vec<MetricComparison>,
}

impl ScenarioAnalysis {
    /// The baseline, then the others by the first metric, the best first; of those that were measured at most so many.
    #[must_use]
    pub fn leading<'a>(&self, analysis: &'a Analysis, most: usize) -> Vec<&'a ArmAnalysis> {
        let Some(metric) = self.metrics.first() else { return Vec::new() };
        let rank = |arm: &ArmAnalysis| {
            let value = arm
                .estimate(metric)
                .map_or(f64::INFINITY, |e| if metric.measure.more_is_better() { -e.value } else { e.value });
            (arm.index != self.baseline, value)
        };
        let arms = self.arms.iter().filter_map(|index| analysis.arms.get(*index));
        let mut ranked: Vec<&ArmAnalysis> = arms.filter(|arm| arm.measured > 0).collect();
        ranked.sort_by(|a, b| {
            let ((a_other, a), (b_other, b)) = (rank(a), rank(b));
            a_other.cmp(&b_other).then(a.total_cmp(&b))
        });
        ranked.truncate(most);
        ranked
    }
}

impl ArmComparison {
    /// The first metric that is conclusive. All judged metrics share the confidence, so that an arm that is like the baseline
    /// is told apart in 5 % of scenarios at the most, whichever of them decides.
    #[must_use]
    pub fn decided(&self) -> Option<&MetricComparison> {
        self.metrics.iter().find(|m| !matches!(m.verdict, Verdict::Inconclusive { .. }))
    }
}

/// Analyses a scenario of a plan.
pub(super) fn analyse(
    tolerance: f64,
    index: usize,
    plan: &ScenarioPlan,
    all: &[ArmAnalysis],
    info: &RunInfo,
) -> ScenarioAnalysis {
    let tolerance = Tolerance::new(tolerance).unwrap_or_default();
    let mine: Vec<&ArmAnalysis> = all.iter().filter(|a| a.scenario == index).collect();
    let arms: Vec<&ArmAnalysis> = mine.iter().filter(|a| !a.is_twin()).copied().collect();
    let judged = judged(&plan.metrics);
    // Of what was to run, not of what succeeded: the level must not depend on the outcome. An arm without any value has no
    // outcome, and no verdict.
    let run = arms.iter().filter(|a| a.skipped.is_none() && !a.is_all_failed());
    let others: Vec<&ArmAnalysis> = run.filter(|a| a.index != plan.baseline).copied().collect();
    let confidence = shared_confidence(others.len(), &judged);
    let baseline = arms.iter().find(|a| a.index == plan.baseline && a.skipped.is_none() && !a.is_all_failed());
    let comparisons = baseline.map_or_else(Vec::new, |baseline| compare(baseline, &others, &judged, tolerance));
    ScenarioAnalysis {
        name: plan.name.clone(),
        question: plan.question.clone(),
        planned: plan.blocks,
        done: mine.iter().map(|a| a.measured + a.failed()).max().unwrap_or(0),
        dimensions: plan.dimensions.iter().filter(|d| *d != litelab_model::resolve::AA).cloned().collect(),
        arms: arms.iter().map(|a| a.index).collect(),
        baseline: plan.baseline,
        metrics: plan.metrics.clone(),
        confidence: confidence.level(),
        comparisons,
        aa: noise::check(&mine, &judged, tolerance),
        content: content::check(&arms, plan.baseline, &info.plan),
        harness: harness::costs(index, &arms, info),
        alerts: plan.alerts.iter().map(|limit| alert::examine(limit, &arms)).collect(),
        scalability: plan.usl.as_ref().map_or_else(Vec::new, |name| scalability::fit(name, &plan.metrics, &arms)),
        effects: (plan.effects && !plan.metrics.is_empty())
            .then(|| effect::effects(&plan.dimensions, &plan.metrics[0], &arms, plan.baseline)),
        timelines: Vec::new(),
        judged,
    }
}

/// Arms against their baseline in all judged metrics, one family.
#[must_use]
pub fn compare(
    baseline: &ArmAnalysis,
    others: &[&ArmAnalysis],
    judged: &[Metric],
    tolerance: Tolerance,
) -> Vec<ArmComparison> {
    let confidence = shared_confidence(others.len(), judged);
    let against = |arm: &&ArmAnalysis| ArmComparison {
        arm: arm.index,
        footing: Footing::of(arm, baseline),
        metrics: judged.iter().map(|m| pair(arm, baseline, m, confidence, tolerance)).collect(),
    };
    let mut comparisons = others.iter().map(against).collect::<Vec<_>>();
    adjust(&mut comparisons);
    comparisons
}

/// Holm's p-values.
fn adjust(comparisons: &mut [ArmComparison]) {
    let cells: Vec<&mut MetricComparison> = comparisons.iter_mut().flat_map(|c| &mut c.metrics).collect();
    let p_values: Vec<f64> = cells.iter().map(|c| c.ratio.as_ref().map_or(1.0, |r| r.p_value)).collect();
    let Ok(adjusted) = holm(&p_values) else { return };
    for (cell, p) in cells.into_iter().zip(adjusted) {
        cell.p_adjusted = cell.ratio.is_ok().then_some(p);
    }
}
