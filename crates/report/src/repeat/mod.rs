//! A study run twice: which of its verdicts stand, and which changed.
//!
//! Every verdict is that of its own run, from its own blocks; the two runs are never mixed into one estimate. A verdict
//! that turns into its opposite is the one thing that a repetition on the same machine must not show.

mod change;

use std::collections::BTreeMap;

use litelab_model::Metric;
use litelab_model::plan::{Arm, Plan};
use litelab_record::RunInfo;
use litelab_stats::Estimate;

pub use change::{Change, Judgement};

use crate::analysis::{Analysis, ArmAnalysis, ClaimResult, Footing, Measured, MetricComparison};
use crate::compare::{self, Difference, Side};
use crate::error::ReportError;

/// Two runs of one study, verdict by verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// The first run: its file, when, how many blocks.
    pub before: String,
    /// The second one.
    pub after: String,
    /// In what machine, builds or drivers differ.
    pub unlike: Vec<Difference>,
    /// The seeds, where they differ.
    pub seeds: Option<(u64, u64)>,
    /// Those that turned into their opposite first, those that stand last; otherwise in the order of the plan.
    pub verdicts: Vec<Repeated>,
}

/// A verdict before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// What was judged.
    pub about: About,
    /// In what.
    pub metric: Metric,
    /// In the first run.
    pub before: Judged,
    /// In the second one.
    pub after: Judged,
    /// What became of it.
    pub change: Change,
    /// The durability of the arm beside that of the one it is compared with, or of the arm alone, in the first run.
    pub footing: Footing,
}

/// What was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// An arm against the baseline of its scenario: its name.
    Comparison(String),
    /// A claim: its name.
    Claim(String),
}

/// A verdict and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What was measured.
    pub measured: Quantity,
    /// What it shows.
    pub verdict: Judgement,
    /// Why nothing was measured or judged, if so.
    pub reason: Option<String>,
}

/// A measured quantity with its interval.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// Of two arms.
    Ratio(Estimate),
    /// Of one, in the unit of its metric.
    Value(Estimate),
    /// Nothing.
    Nothing,
}

impl Repetition {
    /// How many verdicts changed in this way.
    #[must_use]
    pub fn count(&self, change: Change) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.change == change).count()
    }
}

/// Judges a repetition.
///
/// # Errors
/// [`ReportError::NoRepetition`] when the runs are not of one resolved study.
pub fn judge(before: Side<'_>, after: Side<'_>) -> Result<Repetition, ReportError> {
    same_study(&before.info.plan, &after.info.plan)?;
    let mut verdicts: Vec<Repeated> = comparisons(before.analysis, after.analysis);
    verdicts.extend(claims(before.analysis, after.analysis));
    // Stable: within a kind the plan's order stays.
    verdicts.sort_by_key(|verdict| verdict.change);
    let seeds = (before.info.plan.seed, after.info.plan.seed);
    Ok(Repetition {
        before: compare::name(before.info),
        after: compare::name(after.info),
        unlike: differences(before.info, after.info),
        seeds: (seeds.0 != seeds.1).then_some(seeds),
        verdicts,
    })
}

/// In what the machine, the builds and the drivers of two runs of one plan differ; arms that the first one skipped are
/// not asked about.
#[must_use]
pub fn differences(before: &RunInfo, after: &RunInfo) -> Vec<Difference> {
    let run = before.plan.arms.iter().enumerate().filter(|(_, arm)| arm.skipped.is_none());
    let arms: Vec<(usize, usize)> = run.map(|(index, _)| (index, index)).collect();
    compare::differences(before, after, &arms)
}

/// Whether two plans are of the same work, whatever their seeds and numbers of blocks.
///
/// # Errors
/// [`ReportError::NoRepetition`] with the first thing in which they differ.
pub fn same_study(before: &Plan, after: &Plan) -> Result<(), ReportError> {
    let differ = |what: String| Err(ReportError::NoRepetition(what));
    if before.study != after.study {
        return differ(format!("one is of the study {}, the other of {}", before.study, after.study));
    }
    let names = |plan: &Plan| -> Vec<String> { (0..plan.arms.len()).map(|index| plan.arm_name(index)).collect() };
    if names(before) != names(after) {
        return differ(
            "they do not have the same arms: one may be of the quick scale, or of some scenarios only".into(),
        );
    }
    let work = |arm: &Arm| {
        let mut arm = arm.clone();
        (arm.trial.seed, arm.skipped) = (0, None);
        arm
    };
    let unlike = before.arms.iter().zip(&after.arms).position(|(a, b)| work(a) != work(b));
    match unlike {
        Some(index) => differ(format!("{} is not the same work in both", before.arm_name(index))),
        None if before.claims != after.claims => differ("they do not examine the same claims".into()),
        None => Ok(()),
    }
}

fn comparisons(before: &Analysis, after: &Analysis) -> Vec<Repeated> {
    let after: BTreeMap<(usize, &Metric), &MetricComparison> =
        each(after).map(|(arm, m)| ((arm, &m.metric), m)).collect();
    let name =
        |arm: usize| before.arms.get(arm).map_or_else(|| format!("arm {arm}"), |arm: &ArmAnalysis| arm.name.clone());
    let against = |arm: usize| {
        let scenario = before.arms.get(arm).and_then(|arm| before.scenarios.get(arm.scenario));
        scenario.map_or(arm, |scenario| scenario.baseline)
    };
    let repeated = |(arm, was): (usize, &MetricComparison)| {
        let now = after.get(&(arm, &was.metric)).map_or_else(not_there, |now| judged(now));
        let footing = before.footing(arm, against(arm));
        repeated(About::Comparison(name(arm)), was.metric.clone(), (judged(was), now), footing)
    };
    each(before).map(repeated).collect()
}

/// Every comparison of a run.
fn each(analysis: &Analysis) -> impl Iterator<Item = (usize, &MetricComparison)> {
    let comparisons = analysis.scenarios.iter().flat_map(|scenario| &scenario.comparisons);
    comparisons.flat_map(|comparison| comparison.metrics.iter().map(move |metric| (comparison.arm, metric)))
}

fn claims(before: &Analysis, after: &Analysis) -> Vec<Repeated> {
    let repeated = |was: &ClaimResult| {
        let now = after.claims.iter().find(|claim| claim.plan.name == was.plan.name);
        let now = now.map_or_else(not_there, judged_claim);
        let footing = before.footing(was.plan.arm, was.plan.against.unwrap_or(was.plan.arm));
        repeated(About::Claim(was.plan.name.clone()), was.plan.metric.clone(), (judged_claim(was), now), footing)
    };
    before.claims.iter().map(repeated).collect()
}

fn repeated(about: About, metric: Metric, (before, after): (Judged, Judged), footing: Footing) -> Repeated {
    let change = Change::of(before.verdict, after.verdict);
    Repeated { about, metric, before, after, change, footing }
}

fn judged(of: &MetricComparison) -> Judged {
    Judged {
        measured: of.ratio.as_ref().map_or(Quantity::Nothing, |paired| Quantity::Ratio(paired.ratio)),
        verdict: Judgement::Comparison(of.verdict),
        reason: of.ratio.as_ref().err().cloned(),
    }
}

fn judged_claim(of: &ClaimResult) -> Judged {
    let measured = match &of.measured {
        Measured::Ratio(paired) => Quantity::Ratio(paired.ratio),
        Measured::Value(estimate) => Quantity::Value(*estimate),
        Measured::Nothing => Quantity::Nothing,
    };
    Judged { measured, verdict: Judgement::Claim(of.verdict), reason: of.reason.clone() }
}

/// An arm that the second run had to skip.
fn not_there() -> Judged {
    let verdict = Judgement::Comparison(litelab_stats::Verdict::Inconclusive { blocks_needed: None });
    Judged { measured: Quantity::Nothing, verdict, reason: Some("it is not in the second run".into()) }
}
