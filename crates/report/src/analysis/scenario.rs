//! Analysis of a scenario: every arm compared with the baseline.

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

/// Comparisons, checks and costs of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioAnalysis {
    /// Name of the scenario.
    pub name: String,
    /// Question that the scenario answers.
    pub question: String,
    /// Number of planned blocks.
    pub planned: u32,
    /// Number of blocks with at least one trial.
    pub done: u64,
    /// Dimensions in which the arms differ, without that of the twin.
    pub dimensions: Vec<String>,
    /// Indices of the arms without the twin, in the order of the plan.
    pub arms: Vec<usize>,
    /// Index of the arm that the others are compared with.
    pub baseline: usize,
    /// Metrics to show.
    pub metrics: Vec<Metric>,
    /// Metrics by which arms are judged, the deciding one first.
    pub judged: Vec<Metric>,
    /// Confidence level of each ratio's interval, a fraction. At this level all intervals of the scenario hold together
    /// at 95 %.
    pub confidence: f64,
    /// Comparisons of all arms except the baseline and arms of which all trials failed.
    pub comparisons: Vec<ArmComparison>,
    /// Comparisons of identical arms.
    pub aa: Vec<AaCheck>,
    /// Checks that arms with the same work left the same rows.
    pub content: Vec<ContentCheck>,
    /// Costs of the harness itself.
    pub harness: Vec<HarnessCost>,
    /// Alerts of the scenario.
    pub alerts: Vec<AlertResult>,
    /// Laws of scalability, if the scenario requests them.
    pub scalability: Vec<Scalability>,
    /// Effects of single dimensions in the first metric, or the reason for which there are none; `None` if not
    /// requested.
    #[serde(serialize_with = "serial::known_if_any")]
    pub effects: Option<Result<Effects, String>>,
    /// Time series of the arms, if the scenario requests them.
    pub timelines: Vec<Timeline>,
}

/// Comparison of an arm with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmComparison {
    /// Index of the arm.
    pub arm: usize,
    /// Durability levels of the arm and of the baseline.
    #[serde(rename = "durability", serialize_with = "serial::footing")]
    pub footing: Footing,
    /// Comparisons in the order of the judged metrics.
    pub metrics: Vec<MetricComparison>,
}

impl ScenarioAnalysis {
    /// The baseline, then the other arms by the first metric, the best first: at most `most` arms that have
    /// measurements.
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
    /// The first conclusive metric. All judged metrics share the confidence level, so that an arm equal to the baseline
    /// is distinguished from it in at most 5 % of scenarios, whichever metric decides.
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
    // Counted over the arms to run, not over those that succeeded: the level must not depend on the outcome. An arm
    // without any value has no outcome and no verdict.
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

/// Compares arms with their baseline in all judged metrics, as one family.
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

/// Fills in Holm's adjusted p-values.
fn adjust(comparisons: &mut [ArmComparison]) {
    let cells: Vec<&mut MetricComparison> = comparisons.iter_mut().flat_map(|c| &mut c.metrics).collect();
    let p_values: Vec<f64> = cells.iter().map(|c| c.ratio.as_ref().map_or(1.0, |r| r.p_value)).collect();
    let Ok(adjusted) = holm(&p_values) else { return };
    for (cell, p) in cells.into_iter().zip(adjusted) {
        cell.p_adjusted = cell.ratio.is_ok().then_some(p);
    }
}
