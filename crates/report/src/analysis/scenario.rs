//! Analysis of a scenario: every variant compared with the baseline.

use litelab_model::Metric;
use litelab_model::judging::{judged, shared_confidence};
use litelab_model::metric::{Measure, Quantile, Timing};
use litelab_model::plan::ScenarioPlan;
use litelab_record::RunInfo;
use litelab_stats::{Tolerance, Verdict, holm};
use serde::Serialize;

use super::Analysis;
use super::alert::{self, AlertResult};
use super::answer::{self, Answer};
use super::content::{self, ContentCheck};
use super::durability::DurabilityPair;
use super::effect::{self, Effects};
use super::harness::{self, HarnessCost};
use super::noise::{self, AaCheck};
use super::pair::{MetricComparison, pair};
use super::scalability::{self, Scalability};
use super::serial;
use super::timeline::Timeline;
use super::variant::VariantAnalysis;

/// Comparisons, checks and costs of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioAnalysis {
    /// Name of the scenario.
    pub name: String,
    /// Question that the scenario answers.
    pub question: String,
    /// Number of planned rounds.
    pub planned: u32,
    /// Number of rounds with at least one trial.
    pub done: u64,
    /// Dimensions in which the variants differ, without that of the twin.
    pub dimensions: Vec<String>,
    /// Indices of the variants without the twin, in the order of the plan.
    pub variants: Vec<usize>,
    /// Index of the variant that the others are compared with.
    pub baseline: usize,
    /// Metrics to show.
    pub metrics: Vec<Metric>,
    /// Metrics by which variants are judged, the deciding one first.
    pub judged: Vec<Metric>,
    /// Confidence level of each ratio's interval, a fraction. At this level all intervals of the scenario hold together
    /// at 95 %.
    pub confidence: f64,
    /// Comparisons of all variants except the baseline and variants of which all trials failed.
    pub comparisons: Vec<VariantComparison>,
    /// Comparisons of identical variants.
    pub aa: Vec<AaCheck>,
    /// Checks that variants with the same work left the same rows.
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
    /// Time series of the variants, if the scenario requests them.
    pub timelines: Vec<Timeline>,
    /// Answer to "Which one should I use?".
    pub answer: Answer,
}

/// Comparison of a variant with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantComparison {
    /// Index of the variant.
    pub variant: usize,
    /// Durability levels of the variant and of the baseline.
    #[serde(rename = "durability")]
    pub durability_pair: DurabilityPair,
    /// Comparisons in the order of the judged metrics.
    pub metrics: Vec<MetricComparison>,
}

impl ScenarioAnalysis {
    /// The variants without the twin, in the order of the plan.
    pub(crate) fn among<'a>(&self, analysis: &'a Analysis) -> impl Iterator<Item = &'a VariantAnalysis> {
        self.variants.iter().filter_map(|index| analysis.variants.get(*index))
    }

    /// The variants that were not skipped.
    pub(crate) fn not_skipped<'a>(&self, analysis: &'a Analysis) -> impl Iterator<Item = &'a VariantAnalysis> {
        self.among(analysis).filter(|variant| variant.skipped.is_none())
    }

    /// The variants with at least one measured trial.
    pub(crate) fn measured<'a>(&self, analysis: &'a Analysis) -> impl Iterator<Item = &'a VariantAnalysis> {
        self.among(analysis).filter(|variant| variant.measured > 0)
    }

    /// The metric of the longest wait.
    #[must_use]
    pub fn longest(&self) -> Metric {
        self.answer.longest.clone().unwrap_or_else(|| Measure::Latency(Timing::Service, Quantile::Max).into())
    }

    /// The baseline, then the other variants by the first metric, the best first: at most `most` variants that have
    /// measurements.
    #[must_use]
    pub fn leading<'a>(&self, analysis: &'a Analysis, most: usize) -> Vec<&'a VariantAnalysis> {
        let Some(metric) = self.metrics.first() else { return Vec::new() };
        let mut ranked: Vec<&VariantAnalysis> = self.measured(analysis).collect();
        ranked.sort_by(|a, b| a.rank(metric).total_cmp(&b.rank(metric)));
        ranked.sort_by_key(|variant| variant.index != self.baseline);
        ranked.truncate(most);
        ranked
    }
}

impl VariantComparison {
    /// The first conclusive metric. All judged metrics share the confidence level, so that a variant equal to the
    /// baseline is distinguished from it in at most 5 % of scenarios, whichever metric decides.
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
    all: &[VariantAnalysis],
    info: &RunInfo,
) -> ScenarioAnalysis {
    let tolerance = Tolerance::new(tolerance).unwrap_or_default();
    let mine: Vec<&VariantAnalysis> = all.iter().filter(|a| a.scenario == index).collect();
    let variants: Vec<&VariantAnalysis> = mine.iter().filter(|a| !a.is_twin()).copied().collect();
    let judged = judged(&plan.metrics);
    // Counted over the variants to run, not over those that succeeded: the level must not depend on the outcome. A
    // variant without any value has no outcome and no verdict.
    let run = variants.iter().filter(|a| a.skipped.is_none() && !a.is_all_failed());
    let others: Vec<&VariantAnalysis> = run.filter(|a| a.index != plan.baseline).copied().collect();
    let confidence = shared_confidence(others.len(), &judged);
    let baseline = variants.iter().find(|a| a.index == plan.baseline && a.skipped.is_none() && !a.is_all_failed());
    let comparisons = baseline.map_or_else(Vec::new, |baseline| compare(baseline, &others, &judged, tolerance));
    let done = mine.iter().map(|a| a.measured + a.failed()).max().unwrap_or(0);
    // The second baseline of `--aa` has a dimension of its own.
    let dimensions: Vec<String> =
        plan.dimensions.iter().filter(|d| *d != litelab_model::resolve::AA).cloned().collect();
    let alerts: Vec<AlertResult> = plan.alerts.iter().map(|limit| alert::examine(limit, &variants)).collect();
    ScenarioAnalysis {
        answer: answer::answer(&plan.metrics, &variants, &alerts, info, (done, tolerance)),
        name: plan.name.clone(),
        question: plan.question.clone(),
        planned: plan.rounds,
        done,
        variants: variants.iter().map(|a| a.index).collect(),
        baseline: plan.baseline,
        metrics: plan.metrics.clone(),
        confidence: confidence.level(),
        comparisons,
        aa: noise::check(&mine, &judged, tolerance),
        content: content::check(&variants, plan.baseline, &info.plan),
        harness: harness::costs(index, &variants, info),
        alerts,
        scalability: plan.usl.as_ref().map_or_else(Vec::new, |name| scalability::fit(name, &plan.metrics, &variants)),
        effects: (plan.effects && !plan.metrics.is_empty())
            .then(|| effect::effects(&dimensions, &plan.metrics[0], &variants, plan.baseline)),
        dimensions,
        timelines: Vec::new(),
        judged,
    }
}

/// Compares variants with their baseline in all judged metrics, as one family.
#[must_use]
pub fn compare(
    baseline: &VariantAnalysis,
    others: &[&VariantAnalysis],
    judged: &[Metric],
    tolerance: Tolerance,
) -> Vec<VariantComparison> {
    let confidence = shared_confidence(others.len(), judged);
    let against = |variant: &&VariantAnalysis| VariantComparison {
        variant: variant.index,
        durability_pair: DurabilityPair::of(variant, baseline),
        metrics: judged.iter().map(|m| pair(variant, baseline, m, confidence, tolerance)).collect(),
    };
    let mut comparisons = others.iter().map(against).collect::<Vec<_>>();
    adjust(&mut comparisons);
    comparisons
}

/// Fills in Holm's adjusted p-values.
fn adjust(comparisons: &mut [VariantComparison]) {
    let cells: Vec<&mut MetricComparison> = comparisons.iter_mut().flat_map(|c| &mut c.metrics).collect();
    let p_values: Vec<f64> = cells.iter().map(|c| c.ratio.as_ref().map_or(1.0, |r| r.p_value)).collect();
    let Ok(adjusted) = holm(&p_values) else { return };
    for (cell, p) in cells.into_iter().zip(adjusted) {
        cell.p_adjusted = cell.ratio.is_ok().then_some(p);
    }
}
