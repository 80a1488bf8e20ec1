//! Findings: sentences of the study with measured values and intervals filled in.

use litelab_model::Metric;
use litelab_model::plan::{FindingPlan, FindingValuePlan};
use litelab_stats::{Confidence, Tolerance, Verdict};

use super::claim::failures;
use super::durability::DurabilityPair;
use super::pair::{MetricComparison, pair, ratio};
use super::variant::VariantAnalysis;
use crate::number;

/// Replaces the placeholders of the sentence. A value that could not be measured is replaced by the reason.
pub(super) fn fill(plan: &FindingPlan, variants: &[VariantAnalysis], tolerance: f64) -> String {
    let tolerance = Tolerance::new(tolerance).unwrap_or_default();
    // One pass over the text: a value is never searched for further placeholders.
    let mut out = String::new();
    let mut rest = plan.text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let found = after.split_once('}').and_then(|(name, tail)| Some((plan.values.get(name)?, tail)));
        match found {
            Some((value, tail)) => {
                out.push_str(&text(value, variants, tolerance));
                rest = tail;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn text(value: &FindingValuePlan, variants: &[VariantAnalysis], tolerance: Tolerance) -> String {
    match value {
        FindingValuePlan::Value { metric, variant } => {
            let of = variants.get(*variant).and_then(|v| Some((v, v.metrics.get(metric)?, v.estimate(metric)?)));
            let Some((variant, values, estimate)) = of else { return format!("(no {metric})") };
            let amount = number::sentence(estimate, metric.unit());
            let longest = values.max_of.map(|n| format!(", the longest of {n}")).unwrap_or_default();
            let not_judged = || values.not_judged(metric).filter(|_| longest.is_empty() || values.short);
            let unsound = failures(variant, None).or_else(not_judged).map(|why| format!(" ({why})"));
            format!("{amount}{longest}{}", unsound.unwrap_or_default())
        }
        FindingValuePlan::Ratio { metric, variant, against } => {
            match (variants.get(*variant), variants.get(*against)) {
                (Some(variant), Some(against)) => match failures(variant, Some(against))
                    .map_or_else(|| ratio(variant, against, metric, Confidence::P95), Err)
                {
                    Ok(paired) => match (number::ratio(&paired.ratio), DurabilityPair::of(variant, against)) {
                        (Some(ratio), durability_pair) if durability_pair.difference().is_some() => {
                            format!("{ratio} ({durability_pair})")
                        }
                        (Some(ratio), _) => ratio,
                        (None, _) => format!("(a ratio that {})", number::needs(&paired.ratio)),
                    },
                    Err(why) => format!("({why})"),
                },
                _ => "(a variant that is not in this run)".into(),
            }
        }
        FindingValuePlan::Best { metric, variants: among, dimension } => {
            best(metric, among, dimension, variants, tolerance)
        }
    }
}

/// Whether there is no ratio, and the intervals of the two medians do not overlap. This comparison remains where a value
/// is 0, such as the share of a writer that starves.
pub(super) fn is_far(compared: &MetricComparison, one: &VariantAnalysis, other: &VariantAnalysis) -> bool {
    let of = |variant: &VariantAnalysis| variant.estimate(&compared.metric).and_then(|estimate| estimate.interval());
    let is_apart = of(one).zip(of(other)).is_some_and(|(a, b)| a.high() < b.low() || b.high() < a.low());
    compared.ratio.is_err() && is_apart
}

/// Whether a comparison shows that the variant is worse than the best one.
pub(super) fn is_worse(compared: &MetricComparison, variant: &VariantAnalysis, best: &VariantAnalysis) -> bool {
    compared.verdict == Verdict::Slower || is_far(compared, variant, best)
}

/// The variant with the best median, and the variants that are not shown to be worse. The confidence level is shared by
/// k − 1 comparisons and not by all pairs: the truly best variant is left out only if one of its own k − 1 intervals
/// fails, as in Hsu's multiple comparisons with the best.
fn best(
    metric: &Metric,
    among: &[usize],
    dimension: &str,
    variants: &[VariantAnalysis],
    tolerance: Tolerance,
) -> String {
    let among = || among.iter().filter_map(|index| variants.get(*index));
    if let Some(why) = among().find_map(|variant| failures(variant, None).or_else(|| variant.not_judged(metric))) {
        return format!("({why})");
    }
    let mut ranked: Vec<&VariantAnalysis> = among().filter(|variant| variant.estimate(metric).is_some()).collect();
    ranked.sort_by(|a, b| a.rank(metric).total_cmp(&b.rank(metric)));
    let Some((first, others)) = ranked.split_first() else { return format!("(no {metric})") };
    let differ = others.iter().any(|variant| variant.durability != first.durability);
    let name = |variant: &VariantAnalysis| {
        let name = variant.dimensions.get(dimension).map_or_else(|| variant.label.clone(), ToString::to_string);
        // A winner with a lower durability level must not be named without that level.
        if differ { format!("{name} ({})", DurabilityPair::of(variant, variant)) } else { name }
    };
    let confidence = Confidence::P95.shared_by(others.len().max(1)).unwrap_or_default();
    let worse =
        |variant: &VariantAnalysis| is_worse(&pair(variant, first, metric, confidence, tolerance), variant, first);
    let winner = name(first);
    let mut open: Vec<String> = Vec::new();
    for variant in others.iter().filter(|variant| !worse(variant)) {
        // Variants that differ in other dimensions share a name in this one, possibly that of the winner.
        let name = name(variant);
        if name != winner && !open.contains(&name) {
            open.push(name);
        }
    }
    if open.is_empty() { winner } else { format!("{winner} (not told apart from {})", open.join(", ")) }
}
