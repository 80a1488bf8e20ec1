//! Comparison of two runs, or of two variants of one run; repetition of a study.
//!
//! Variants of one run share rounds and are compared within them. Two runs share no rounds: changes on the machine
//! between them are part of every ratio, and the comparison states that.

mod build;
pub mod confirm;
pub mod repeat;
mod select;

use litelab_model::Metric;
use litelab_record::RunInfo;
use litelab_stats::{Confidence, Estimate, Tolerance, UnpairedRatio, Verdict};

pub use build::Builds;
pub use confirm::{Confirmation, RerunMode};
pub use repeat::{Change, Repetition, repetition};
pub use select::select_variant;
pub(crate) use select::split;

use crate::analysis::{Analysis, DurabilityPair, VariantAnalysis, better, judged, pair, unsound};
use crate::error::ReportError;
use crate::number;
pub use crate::unlike::{Difference, Unlike, differences};

/// A run and its analysis.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Analysis of the run.
    pub analysis: &'a Analysis,
    /// Plan, environment and builds of the run.
    pub info: &'a RunInfo,
}

/// Options of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// Relative difference that does not matter; default: that of the base's study.
    pub tolerance: Option<f64>,
    /// Metrics to compare; default: those by which the scenario is judged. Metrics of single transactions must have
    /// been computed ([`crate::analyse_with`]).
    pub metrics: Vec<Metric>,
    /// Kinds of differences that are allowed between the runs; the comparison reports them.
    pub allow_unlike: Vec<Unlike>,
}

/// Whether the compared trials share rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// They do: two variants of one run.
    Rounds,
    /// They do not: two runs.
    None,
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Name of the base: a file, or a variant.
    pub base: String,
    /// Name of the head, which is compared with the base.
    pub head: String,
    /// Whether base and head share rounds.
    pub pairing: Pairing,
    /// Rows by variant, then by metric.
    pub rows: Vec<CompareRow>,
    /// Differences between the runs, which the options allow.
    pub unlike: Vec<Difference>,
    /// Variants that only one of the runs has.
    pub unmatched: Vec<String>,
    /// Relative difference that does not matter.
    pub tolerance: f64,
    /// Confidence level of each interval, a fraction. At this level all intervals of one metric hold together at 95 %.
    pub confidence: f64,
}

/// Comparison of a variant in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareRow {
    /// Name of the head's variant in the form `scenario/label`.
    pub name: String,
    /// Indices of the variants of base and head in their plans.
    pub variants: (usize, usize),
    /// Compared metric.
    pub metric: Metric,
    /// Median of the base.
    pub base: Option<Estimate>,
    /// Median of the head.
    pub head: Option<Estimate>,
    /// Ratio of head to base, or the reason for which there is none.
    pub ratio: Result<Estimate, String>,
    /// Verdict on head, relative to base.
    pub verdict: Verdict,
    /// Durability levels of head and base.
    pub durability_pair: DurabilityPair,
}

impl Comparison {
    /// Rows in which head is shown to be worse than base.
    #[must_use]
    pub fn regressions(&self) -> Vec<&CompareRow> {
        self.rows.iter().filter(|row| row.verdict == Verdict::Slower).collect()
    }

    /// Rows without a conclusive verdict.
    #[must_use]
    pub fn inconclusive(&self) -> Vec<&CompareRow> {
        self.rows.iter().filter(|row| matches!(row.verdict, Verdict::Inconclusive { .. })).collect()
    }
}

/// Compares the variants of two runs that have the same scenario and dimensions.
///
/// # Errors
/// If the runs differ in machine, build or workload without permission, share no variant, or the tolerance is invalid.
pub fn compare(base: Side<'_>, head: Side<'_>, options: &CompareOptions) -> Result<Comparison, ReportError> {
    let tolerance = tolerance(base, options)?;
    let variants = |side: Side<'_>| side.analysis.variants.iter().filter(|a| !a.is_twin()).cloned().collect::<Vec<_>>();
    let (ours, theirs) = (variants(base), variants(head));
    let is_same = |a: &VariantAnalysis, b: &VariantAnalysis| a.name == b.name;
    let pairs: Vec<(&VariantAnalysis, &VariantAnalysis)> =
        ours.iter().filter_map(|a| Some((a, theirs.iter().find(|b| is_same(a, b))?))).collect();
    if pairs.is_empty() {
        return Err(ReportError::NothingInCommon);
    }
    let matched: Vec<(usize, usize)> = pairs.iter().map(|(a, b)| (a.index, b.index)).collect();
    let unlike = differences(base.info, head.info, &matched);
    let refused: Vec<Difference> =
        unlike.iter().filter(|difference| !options.allow_unlike.contains(&difference.of)).cloned().collect();
    if !refused.is_empty() {
        return Err(ReportError::Unlike(refused));
    }
    let is_run = |variant: &VariantAnalysis| variant.skipped.is_none() && !variant.is_all_failed();
    let compared = pairs.iter().filter(|(a, b)| is_run(a) && is_run(b)).count();
    let confidence = Confidence::P95.shared_by(compared.max(1)).unwrap_or_default();
    let rows = pairs.iter().flat_map(|(a, b)| {
        let metrics = metrics(base, a, options).into_iter();
        metrics.map(|metric| unpaired(a, b, metric, confidence, tolerance))
    });
    let only = |these: &[VariantAnalysis], those: &[VariantAnalysis], of: &str| {
        let alone = these.iter().filter(|a| !those.iter().any(|b| is_same(a, b)));
        alone.map(|a| format!("{} (only in {of})", a.name)).collect::<Vec<_>>()
    };
    Ok(Comparison {
        base: name(base.info),
        head: name(head.info),
        pairing: Pairing::None,
        rows: rows.collect(),
        unlike,
        unmatched: [only(&ours, &theirs, "base"), only(&theirs, &ours, "head")].concat(),
        tolerance: tolerance.delta(),
        confidence: confidence.level(),
    })
}

/// Compares two variants of one run, round by round.
///
/// # Errors
/// If the run does not have the variants, both variants are the same, or the tolerance is invalid.
pub fn compare_variants(
    side: Side<'_>,
    base: usize,
    head: usize,
    options: &CompareOptions,
) -> Result<Comparison, ReportError> {
    let tolerance = tolerance(side, options)?;
    let variant = |index: usize| {
        let variants = &side.analysis.variants;
        variants
            .get(index)
            .ok_or_else(|| ReportError::Variant(format!("there is no variant {index}: the run has {}", variants.len())))
    };
    let (a, b) = (variant(base)?, variant(head)?);
    if base == head {
        return Err(ReportError::Variant(format!("{} would be compared with itself: name two variants", a.name)));
    }
    let metrics = metrics(side, a, options).into_iter();
    let rows = metrics.map(|metric| paired(a, b, metric, tolerance));
    Ok(Comparison {
        base: a.name.clone(),
        head: b.name.clone(),
        pairing: Pairing::Rounds,
        rows: rows.collect(),
        unlike: Vec::new(),
        unmatched: Vec::new(),
        tolerance: tolerance.delta(),
        confidence: Confidence::P95.level(),
    })
}

/// Compares variants of one run at 95 %.
fn paired(base: &VariantAnalysis, head: &VariantAnalysis, metric: Metric, tolerance: Tolerance) -> CompareRow {
    let compared = pair(head, base, &metric, Confidence::P95, tolerance);
    row(base, head, metric, compared.ratio.map(|paired| paired.ratio), compared.verdict)
}

/// Compares variants of two runs.
fn unpaired(
    base: &VariantAnalysis,
    head: &VariantAnalysis,
    metric: Metric,
    confidence: Confidence,
    tolerance: Tolerance,
) -> CompareRow {
    let values =
        |variant: &VariantAnalysis| variant.values(&metric).iter().map(|(_, value)| *value).collect::<Vec<_>>();
    let ratio = match base.not_judged(&metric).or_else(|| head.not_judged(&metric)) {
        Some(why) => Err(why),
        None => UnpairedRatio::from_runs(&values(base), &values(head), confidence)
            .map_err(|e| format!("no ratio in {metric}: {e}")),
    };
    let planner = crate::analysis::planner(confidence);
    let verdict = match &ratio {
        Ok(unpaired) => unpaired.verdict(tolerance, better(&metric), &planner),
        Err(_) => Verdict::Inconclusive { rounds_needed: None },
    };
    match unsound(verdict, head, base) {
        None => row(base, head, metric, ratio.map(|unpaired| unpaired.ratio), verdict),
        Some(why) => row(base, head, metric, Err(why), Verdict::Inconclusive { rounds_needed: None }),
    }
}

fn row(
    base: &VariantAnalysis,
    head: &VariantAnalysis,
    metric: Metric,
    ratio: Result<Estimate, String>,
    verdict: Verdict,
) -> CompareRow {
    CompareRow {
        name: head.name.clone(),
        variants: (base.index, head.index),
        base: base.estimate(&metric).copied(),
        head: head.estimate(&metric).copied(),
        ratio,
        verdict,
        durability_pair: DurabilityPair::of(head, base),
        metric,
    }
}

fn metrics(side: Side<'_>, variant: &VariantAnalysis, options: &CompareOptions) -> Vec<Metric> {
    if options.metrics.is_empty() {
        side.info.plan.scenarios.get(variant.scenario).map(|s| judged(&s.metrics)).unwrap_or_default()
    } else {
        options.metrics.clone()
    }
}

fn tolerance(side: Side<'_>, options: &CompareOptions) -> Result<Tolerance, ReportError> {
    match options.tolerance {
        Some(delta) => Tolerance::new(delta).map_err(|_| ReportError::Tolerance(delta)),
        None => Ok(Tolerance::new(side.analysis.tolerance).unwrap_or_default()),
    }
}

/// Name of a run: its file, its time and its number of rounds.
pub(crate) fn name(info: &RunInfo) -> String {
    format!("{} ({}, {})", info.file_name(), info.created, number::counted(info.rounds(), "round"))
}
