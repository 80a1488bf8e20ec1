//! Comparison of two variants in one metric, round by round.

use std::collections::BTreeMap;

use litelab_model::Metric;
use litelab_stats::{Better, Confidence, Events, PairedRatio, Planner, StatsError, Tolerance, Verdict};
use serde::Serialize;

use super::claim::failures;
use super::serial;
use super::variant::{Values, VariantAnalysis};

/// Comparison of a variant with another in one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricComparison {
    /// The metric.
    pub metric: Metric,
    /// Ratio of the variant to the variant that it is compared with, or the reason in one line for which there is none.
    #[serde(serialize_with = "serial::known_ratio")]
    pub ratio: Result<PairedRatio, String>,
    /// Verdict on the ratio.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Holm's adjusted p-value within the family of comparisons.
    pub p_adjusted: Option<f64>,
}

/// Direction in which a metric improves.
#[must_use]
pub fn better(metric: &Metric) -> Better {
    if metric.measure.more_is_better() { Better::Higher } else { Better::Lower }
}

/// Planner of rounds with 80 % power at a confidence.
pub(crate) fn planner(confidence: Confidence) -> Planner {
    Planner::new(confidence, 0.8).unwrap_or_default()
}

/// Rounds in which both variants have a value: round number, value of `against`, value of `variant`.
pub(crate) fn pairs(variant: &VariantAnalysis, against: &VariantAnalysis, metric: &Metric) -> Vec<(u32, f64, f64)> {
    pairs_of(variant.values(metric), against.values(metric))
}

fn pairs_of(ours: &[(u32, f64)], theirs: &[(u32, f64)]) -> Vec<(u32, f64, f64)> {
    let ours: BTreeMap<u32, f64> = ours.iter().copied().collect();
    let both = |(round, theirs): &(u32, f64)| Some((*round, *theirs, *ours.get(round)?));
    theirs.iter().filter_map(both).collect()
}

/// Computes the ratio variant / against over the rounds in which both have a value.
///
/// # Errors
/// The reason in one line for which there is none.
pub(crate) fn ratio(
    variant: &VariantAnalysis,
    against: &VariantAnalysis,
    metric: &Metric,
    confidence: Confidence,
) -> Result<PairedRatio, String> {
    ratio_between((variant, metric), (against, metric), confidence)
}

/// Computes the ratio of a metric of one variant to a metric of another, or of the same, as [`ratio`] does.
///
/// # Errors
/// The reason in one line for which there is none.
pub(crate) fn ratio_between(
    (variant, metric): (&VariantAnalysis, &Metric),
    (against, other): (&VariantAnalysis, &Metric),
    confidence: Confidence,
) -> Result<PairedRatio, String> {
    let none = Values::default();
    let ours = variant.metrics.get(metric).unwrap_or(&none);
    let theirs = against.metrics.get(other).unwrap_or(&none);
    if let Some(why) = theirs.not_judged(other).or_else(|| ours.not_judged(metric)) {
        return Err(why);
    }
    if let (Some(our_sum), Some(their_sum)) = (ours.sum(), theirs.sum()) {
        let both = |(round, theirs): (&u32, &Events)| Some((*theirs, *ours.events.get(round)?));
        let rounds: Vec<(Events, Events)> = theirs.events.iter().filter_map(both).collect();
        let counts = |sum: Events| format!("{} of {}", sum.count, sum.of);
        return PairedRatio::from_events(&rounds, confidence).map_err(|error| match error {
            StatsError::Overflow => format!(
                "no ratio in {metric}: {} against {} happened in too few rounds to bound it",
                counts(our_sum),
                counts(their_sum)
            ),
            other => format!("no ratio in {metric}: {other}"),
        });
    }
    let pairs = pairs_of(&ours.by_round, &theirs.by_round);
    let values: Vec<(f64, f64)> = pairs.iter().map(|(_, theirs, ours)| (*theirs, *ours)).collect();
    let round = |index: usize| pairs.get(index).map_or(0, |(round, ..)| round + 1);
    PairedRatio::from_rounds(&values, confidence).map_err(|error| match error {
        StatsError::Empty => format!("no round has a {metric} of both variants"),
        StatsError::NotPositive { index, .. } => {
            format!("no ratio in {metric}: it is not above 0 in round {}", round(index))
        }
        StatsError::NotFinite { index, .. } => {
            format!("no ratio in {metric}: it is no number in round {}", round(index))
        }
        StatsError::TooMany { have, limit } => {
            format!("no ratio in {metric}: {have} rounds are more than the {limit} that can be compared")
        }
        other => format!("no ratio in {metric}: {other}"),
    })
}

/// Compares `variant` with `against` at a confidence, in one metric.
#[must_use]
pub fn pair(
    variant: &VariantAnalysis,
    against: &VariantAnalysis,
    metric: &Metric,
    confidence: Confidence,
    tolerance: Tolerance,
) -> MetricComparison {
    pair_between((variant, metric), (against, metric), confidence, tolerance)
}

/// Compares a metric of one variant with a metric of another, or of the same, as [`pair`] does.
pub(crate) fn pair_between(
    (variant, metric): (&VariantAnalysis, &Metric),
    (against, other): (&VariantAnalysis, &Metric),
    confidence: Confidence,
    tolerance: Tolerance,
) -> MetricComparison {
    let ratio = ratio_between((variant, metric), (against, other), confidence);
    let verdict = match &ratio {
        Ok(paired) => paired.verdict(tolerance, better(metric), &planner(confidence)),
        Err(_) => Verdict::Inconclusive { rounds_needed: None },
    };
    let (ratio, verdict) = match unsound(verdict, variant, against) {
        None => (ratio, verdict),
        Some(why) => (Err(why), Verdict::Inconclusive { rounds_needed: None }),
    };
    MetricComparison { metric: metric.clone(), ratio, verdict, p_adjusted: None }
}

/// Reason for which a verdict does not hold: failed trials, which selected the rounds that are left. A variant that
/// fails itself is not better for it, and may be worse.
pub(crate) fn unsound(verdict: Verdict, variant: &VariantAnalysis, against: &VariantAnalysis) -> Option<String> {
    let is_sound = match verdict {
        Verdict::Slower => against.failed() == 0,
        Verdict::Faster => variant.failed() == 0,
        _ => false,
    };
    failures(variant, Some(against)).filter(|_| !is_sound)
}
