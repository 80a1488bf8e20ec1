//! Repetition of a study: two runs of one plan, compared by their verdicts.
//!
//! Every verdict comes from the rounds of its own run; the two runs are never combined into one estimate. A repetition
//! on the same machine must not show a verdict that turns into its opposite.

use std::collections::BTreeMap;

use litelab_model::Metric;
use litelab_model::plan::{Plan, Variant};
use litelab_record::RunInfo;
use litelab_stats::{ClaimVerdict, Verdict};

use super::{Difference, Side};
use crate::analysis::{Analysis, ClaimResult, DurabilityPair, Measured, MetricComparison, failures};
use crate::error::ReportError;

/// Verdicts of two runs of one study.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// Name of the first run: its file, its time and its number of rounds.
    pub before: String,
    /// Name of the second run.
    pub after: String,
    /// Differences in machine, builds or drivers.
    pub unlike: Vec<Difference>,
    /// Seeds of the runs, if they differ.
    pub seeds: Option<(u64, u64)>,
    /// Verdicts: reversed ones first, unchanged ones last; otherwise in the order of the plan.
    pub verdicts: Vec<Repeated>,
}

/// A verdict in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// Name of the variant that is compared with the baseline of its scenario, or of the claim.
    pub name: String,
    /// Metric of the verdict.
    pub metric: Metric,
    /// Verdict of the first run.
    pub before: Judged,
    /// Verdict of the second run.
    pub after: Judged,
    /// Change from the first run to the second.
    pub change: Change,
    /// Durability levels of the variant and of the one that it is compared with, or of the variant alone, in the first
    /// run.
    pub durability_pair: DurabilityPair,
}

/// A verdict with its measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Measured ratio or value.
    pub measured: Measured,
    /// Verdict on the measurement.
    pub verdict: Judgement,
    /// Reason for which nothing was measured or judged.
    pub reason: Option<String>,
}

/// Verdict of a comparison or of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Verdict on a variant compared with its baseline.
    Comparison(Verdict),
    /// Verdict on a claim.
    Claim(ClaimVerdict),
}

/// Change of a verdict from one run to the next; the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// The verdict turned into its opposite: faster and slower, holds and contradicted.
    Reversed,
    /// The first run decided, the second is inconclusive.
    Lost,
    /// Both runs decided, with different but not opposite verdicts: faster or slower in one, equivalent in the other.
    Moved,
    /// The first run is inconclusive, the second decided.
    Gained,
    /// Both runs are inconclusive.
    Undecided,
    /// Both runs decided, with the same verdict.
    Unchanged,
}

impl Change {
    /// All changes, the most important first.
    pub const ALL: [Self; 6] =
        [Self::Reversed, Self::Lost, Self::Moved, Self::Gained, Self::Undecided, Self::Unchanged];

    /// The change from one verdict to another.
    #[must_use]
    pub fn of(before: Judgement, after: Judgement) -> Self {
        match (before.sense(), after.sense()) {
            (None, None) => Self::Undecided,
            (a, b) if a == b => Self::Unchanged,
            (None, _) => Self::Gained,
            (_, None) => Self::Lost,
            (Some(a), Some(b)) if a == -b => Self::Reversed,
            _ => Self::Moved,
        }
    }
}

impl Judgement {
    /// 1 for a positive verdict, −1 for a negative one, 0 for neither; `None` if it is inconclusive.
    fn sense(self) -> Option<i8> {
        match self {
            Self::Comparison(Verdict::Faster) | Self::Claim(ClaimVerdict::Holds) => Some(1),
            Self::Comparison(Verdict::Slower) | Self::Claim(ClaimVerdict::Contradicted) => Some(-1),
            Self::Comparison(Verdict::Equivalent) => Some(0),
            Self::Comparison(Verdict::Inconclusive { .. }) | Self::Claim(ClaimVerdict::Inconclusive { .. }) => None,
        }
    }
}

impl Repetition {
    /// Number of verdicts with this change.
    #[must_use]
    pub fn count(&self, change: Change) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.change == change).count()
    }
}

/// Compares the verdicts of two runs.
///
/// # Errors
/// [`ReportError::NoRepetition`] if the runs are not of one resolved study.
pub fn repetition(before: Side<'_>, after: Side<'_>) -> Result<Repetition, ReportError> {
    same_study(&before.info.plan, &after.info.plan)?;
    let mut verdicts: Vec<Repeated> = comparisons(before.analysis, after.analysis);
    verdicts.extend(before.analysis.claims.iter().map(|claim| repeated_claim(claim, before.analysis, after.analysis)));
    // The sort is stable: verdicts with the same change stay in the plan's order.
    verdicts.sort_by_key(|verdict| verdict.change);
    let seeds = (before.info.plan.seed, after.info.plan.seed);
    Ok(Repetition {
        before: super::name(before.info),
        after: super::name(after.info),
        unlike: differences(before.info, after.info),
        seeds: (seeds.0 != seeds.1).then_some(seeds),
        verdicts,
    })
}

/// Differences in machine, builds and drivers between two runs of one plan, without those of variants that the first
/// run skipped.
#[must_use]
pub fn differences(before: &RunInfo, after: &RunInfo) -> Vec<Difference> {
    let run = before.plan.variants.iter().enumerate().filter(|(_, variant)| variant.skipped.is_none());
    let variants: Vec<(usize, usize)> = run.map(|(index, _)| (index, index)).collect();
    super::differences(before, after, &variants)
}

/// Checks that two plans have the same work; seeds and numbers of rounds may differ.
///
/// # Errors
/// [`ReportError::NoRepetition`] with the first difference.
pub fn same_study(before: &Plan, after: &Plan) -> Result<(), ReportError> {
    let differ = |what: String| Err(ReportError::NoRepetition(what));
    if before.study != after.study {
        return differ(format!("one is of the study {}, the other of {}", before.study, after.study));
    }
    let names =
        |plan: &Plan| -> Vec<String> { (0..plan.variants.len()).map(|index| plan.variant_name(index)).collect() };
    if names(before) != names(after) {
        return differ(
            "they do not have the same variants: one may be of the quick scale, or of some scenarios only".into(),
        );
    }
    let work = |variant: &Variant| {
        let mut variant = variant.clone();
        (variant.trial.seed, variant.skipped) = (0, None);
        variant
    };
    let unlike = before.variants.iter().zip(&after.variants).position(|(a, b)| work(a) != work(b));
    match unlike {
        Some(index) => differ(format!("{} is not the same work in both", before.variant_name(index))),
        None if before.claims != after.claims => differ("they do not examine the same claims".into()),
        None if before.tolerance != after.tolerance || !is_judged_alike(before, after) => {
            differ("they are not judged by the same baselines, metrics and tolerance".into())
        }
        None => Ok(()),
    }
}

fn is_judged_alike(before: &Plan, after: &Plan) -> bool {
    let mut scenarios = before.scenarios.iter().zip(&after.scenarios);
    scenarios.all(|(before, after)| before.baseline == after.baseline && before.metrics == after.metrics)
}

fn comparisons(before: &Analysis, after: &Analysis) -> Vec<Repeated> {
    let now: BTreeMap<(usize, &Metric), &MetricComparison> =
        each(after).map(|(variant, _, of)| ((variant, &of.metric), of)).collect();
    let repeated = |(variant, durability_pair, was): (usize, DurabilityPair, &MetricComparison)| {
        let now = now.get(&(variant, &was.metric)).map_or_else(|| absent(failure(variant, after)), |now| judged(now));
        let name =
            before.variants.get(variant).map_or_else(|| format!("variant {variant}"), |variant| variant.name.clone());
        repeated(name, &was.metric, (judged(was), now), durability_pair)
    };
    each(before).map(repeated).collect()
}

/// Every comparison of a run: the variant, its durability level and that of the baseline, and the metric.
fn each(analysis: &Analysis) -> impl Iterator<Item = (usize, DurabilityPair, &MetricComparison)> {
    let comparisons = analysis.scenarios.iter().flat_map(|scenario| &scenario.comparisons);
    comparisons.flat_map(|of| of.metrics.iter().map(move |metric| (of.variant, of.durability_pair, metric)))
}

fn repeated_claim(was: &ClaimResult, before: &Analysis, after: &Analysis) -> Repeated {
    let judged = |of: &ClaimResult| Judged {
        measured: of.measured.clone(),
        verdict: Judgement::Claim(of.verdict),
        reason: of.reason.clone(),
    };
    let now = after.claims.iter().find(|claim| claim.plan.name == was.plan.name);
    let durability_pair = before.durability_pair(was.plan.variant, was.plan.against.unwrap_or(was.plan.variant));
    repeated(
        was.plan.name.clone(),
        &was.plan.metric,
        (judged(was), now.map_or_else(|| absent(None), judged)),
        durability_pair,
    )
}

fn repeated(
    name: String,
    metric: &Metric,
    (before, after): (Judged, Judged),
    durability_pair: DurabilityPair,
) -> Repeated {
    let change = Change::of(before.verdict, after.verdict);
    Repeated { name, metric: metric.clone(), before, after, change, durability_pair }
}

fn judged(of: &MetricComparison) -> Judged {
    Judged {
        measured: of.ratio.as_ref().map_or(Measured::Nothing, |paired| Measured::Ratio(*paired)),
        verdict: Judgement::Comparison(of.verdict),
        reason: of.ratio.as_ref().err().cloned(),
    }
}

/// Reason for which a run has no comparison of a variant with its baseline: one of them was skipped or failed.
fn failure(variant: usize, run: &Analysis) -> Option<String> {
    let scenario = run.scenarios.iter().find(|scenario| scenario.variants.contains(&variant))?;
    failures(run.variants.get(variant)?, run.variants.get(scenario.baseline))
}

/// The verdict on a variant or claim that the second run does not have; default of the reason: that it is not there.
fn absent(why: Option<String>) -> Judged {
    let verdict = Judgement::Comparison(Verdict::Inconclusive { rounds_needed: None });
    let why = why.unwrap_or_else(|| "it is not in the second run".into());
    Judged { measured: Measured::Nothing, verdict, reason: Some(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_verdicts_has_its_kind() {
        let open = Verdict::Inconclusive { rounds_needed: Some(3) };
        let all = [Verdict::Faster, Verdict::Slower, Verdict::Equivalent, open];
        let kinds =
            all.map(|before| all.map(|after| Change::of(Judgement::Comparison(before), Judgement::Comparison(after))));
        use Change::{Gained, Lost, Moved, Reversed, Unchanged, Undecided};
        assert_eq!(
            kinds,
            [
                [Unchanged, Reversed, Moved, Lost],
                [Reversed, Unchanged, Moved, Lost],
                [Moved, Moved, Unchanged, Lost],
                [Gained, Gained, Gained, Undecided],
            ]
        );
        // A different number of rounds still needed is not a change.
        let other = Judgement::Comparison(Verdict::Inconclusive { rounds_needed: None });
        assert_eq!(Change::of(Judgement::Comparison(open), other), Undecided);
        let claim = |before, after| Change::of(Judgement::Claim(before), Judgement::Claim(after));
        let open = ClaimVerdict::Inconclusive { rounds_needed: None };
        assert_eq!(claim(ClaimVerdict::Holds, ClaimVerdict::Contradicted), Reversed);
        assert_eq!(claim(ClaimVerdict::Contradicted, ClaimVerdict::Holds), Reversed);
        assert_eq!(claim(ClaimVerdict::Holds, open), Lost);
        assert_eq!(claim(open, ClaimVerdict::Holds), Gained);
    }
}
