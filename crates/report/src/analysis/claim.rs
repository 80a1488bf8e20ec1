//! Judges claims by this run's measurements.

use std::collections::BTreeMap;

use litelab_model::claim::Origin;
use litelab_model::plan::ClaimPlan;
use litelab_stats::{ClaimVerdict, Confidence, Estimate, Events, PairedRatio};
use serde::{Serialize, Serializer};

use super::Analysis;
use super::pair::{self, planner};
use super::serial;
use super::variant::VariantAnalysis;
use crate::number;

/// Result of judging one claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimResult {
    /// The claim.
    #[serde(flatten)]
    pub plan: ClaimPlan,
    /// Names of the claim's variant and of the variant that it is compared with.
    pub variants: (String, Option<String>),
    /// Ratio or value that the claim is judged by.
    pub measured: Measured,
    /// Ratio or value of the metric that is shown beside it.
    #[serde(skip_serializing_if = "Measured::is_nothing")]
    pub shown_beside: Measured,
    /// Verdict on the claim.
    #[serde(flatten)]
    pub verdict: ClaimVerdict,
    /// Counts of a rare event over all trials, for a claim about the variant's own value.
    pub events: Option<Events>,
    /// Reason for which the claim was not judged.
    pub reason: Option<String>,
}

/// Quantity that a claim is judged by.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// Ratio of the variant to the variant that it is compared with, at 95 %.
    Ratio(PairedRatio),
    /// Value of the variant itself, at 95 %.
    Value(Estimate),
    /// No measurement.
    Nothing,
}

impl Measured {
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }

    /// The ratio or value; `None` without a measurement.
    #[must_use]
    pub fn estimate(&self) -> Option<&Estimate> {
        match self {
            Self::Ratio(paired) => Some(&paired.ratio),
            Self::Value(estimate) => Some(estimate),
            Self::Nothing => None,
        }
    }
}

/// Serialises a ratio as [`serial::ratio`] does, and a value as an estimate.
impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ratio(paired) => serial::ratio(paired, serializer),
            Self::Value(estimate) => estimate.serialize(serializer),
            Self::Nothing => serializer.serialize_none(),
        }
    }
}

/// Numbers of claims by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Claims that hold.
    pub holds: usize,
    /// Claims that are contradicted.
    pub contradicted: usize,
    /// Claims that are open.
    pub inconclusive: usize,
}

impl Analysis {
    /// Numbers of claims by verdict, apart for each origin that has claims.
    #[must_use]
    pub fn tally(&self) -> BTreeMap<Origin, Tally> {
        let mut tally: BTreeMap<Origin, Tally> = BTreeMap::new();
        for claim in &self.claims {
            let tally = tally.entry(claim.plan.origin).or_default();
            match claim.verdict {
                ClaimVerdict::Holds => tally.holds += 1,
                ClaimVerdict::Contradicted => tally.contradicted += 1,
                ClaimVerdict::Inconclusive { .. } => tally.inconclusive += 1,
            }
        }
        tally
    }
}

const OPEN: ClaimVerdict = ClaimVerdict::Inconclusive { rounds_needed: None };

/// Judges a claim. A failed trial of a variant leaves the claim open: the failure selected the remaining rounds.
pub(super) fn examine(plan: &ClaimPlan, variants: &[VariantAnalysis]) -> ClaimResult {
    let find = |index: usize| variants.get(index);
    let name = |index: usize| find(index).map_or_else(|| format!("variant {index}"), |a| a.name.clone());
    let result = |measured, verdict, reason| ClaimResult {
        plan: plan.clone(),
        variants: (name(plan.variant), plan.against.map(name)),
        measured,
        shown_beside: beside(plan, variants),
        verdict,
        events: find(plan.variant).filter(|_| plan.against.is_none()).and_then(|variant| variant.events(&plan.metric)),
        reason,
    };
    let against = plan.against.and_then(find);
    let Some(variant) = find(plan.variant).filter(|_| against.is_some() == plan.against.is_some()) else {
        return result(Measured::Nothing, OPEN, Some("its variant is not in this run".into()));
    };
    let measured = match against {
        Some(against) => {
            let other = plan.against_metric.as_ref().unwrap_or(&plan.metric);
            pair::ratio_between((variant, &plan.metric), (against, other), Confidence::P95).map(Measured::Ratio)
        }
        None => match variant.estimate(&plan.metric) {
            Some(estimate) => Ok(Measured::Value(*estimate)),
            None => Err(format!("no trial of {} has a {}", variant.name, plan.metric)),
        },
    };
    let failed = failures(variant, against);
    let measured = match measured {
        Ok(measured) => measured,
        Err(reason) => return result(Measured::Nothing, OPEN, failed.or(Some(reason))),
    };
    if let Some(why) = failed.or_else(|| variant.not_judged(&plan.metric)) {
        return result(measured, OPEN, Some(why));
    }
    let judge = |e: &Estimate| ClaimVerdict::judge(e, plan.at_least, plan.at_most, &planner(Confidence::P95));
    let verdict = measured.estimate().map_or(OPEN, judge);
    let few = measured.estimate().filter(|e| e.interval().is_none());
    let few = few.map(|few| format!("{}; there are {}", number::needs(few), few.n));
    let reason = if against.is_none() && verdict == OPEN { never(plan, variant).or(few) } else { few };
    result(measured, verdict, reason)
}

/// Ratio or value of the claim's second metric, which is not judged.
fn beside(plan: &ClaimPlan, variants: &[VariantAnalysis]) -> Measured {
    let find = || {
        let metric = plan.beside.as_ref()?;
        let variant = variants.get(plan.variant)?;
        // Two metrics of one variant have no second pair.
        match plan.against.filter(|_| plan.against_metric.is_none()) {
            None => variant.estimate(metric).copied().map(Measured::Value),
            Some(against) => {
                let against = variants.get(against)?;
                pair::ratio(variant, against, metric, Confidence::P95).ok().map(Measured::Ratio)
            }
        }
    };
    find().unwrap_or(Measured::Nothing)
}

/// Reason for which a claim "at most 0" stays open although no event was seen: the measurement gives an upper bound
/// only.
fn never(plan: &ClaimPlan, variant: &VariantAnalysis) -> Option<String> {
    let values = variant.metrics.get(&plan.metric).filter(|_| plan.at_most == Some(0.0))?;
    let (of, high) = (values.sum()?.of, values.estimate?.high()?);
    let bound = number::value(high, plan.metric.unit());
    Some(format!(
        "not shown otherwise: none in {of} transactions shows {bound} at the most, and no number of them shows never"
    ))
}

/// Reason for which a variant supports no verdict: it was skipped, or some of its trials failed.
pub(crate) fn failures(variant: &VariantAnalysis, against: Option<&VariantAnalysis>) -> Option<String> {
    let both = || std::iter::once(variant).chain(against);
    if let Some((variant, why)) = both().find_map(|variant| Some((variant, variant.skipped.as_ref()?))) {
        return Some(format!("{} was skipped: {why}", variant.name));
    }
    let failed = both().find(|variant| variant.failed() > 0)?;
    let all = failed.failed() + failed.measured;
    let first = failed.failures.first().map_or("", |f| f.reason.as_str());
    Some(format!("{} of {} of {} failed: {first}", failed.failed(), number::counted(all, "trial"), failed.name))
}
