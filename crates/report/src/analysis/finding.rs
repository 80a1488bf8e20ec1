//! Findings: sentences of the study with measured values and intervals filled in.

use litelab_model::Metric;
use litelab_model::plan::{FindingPlan, FindingValuePlan};
use litelab_stats::{Confidence, Tolerance, Verdict};

use super::arm::ArmAnalysis;
use super::durability::Footing;
use super::pair::{pair, ratio};
use crate::number;

/// Replaces the placeholders of the sentence. A value that could not be measured is replaced by the reason.
pub(super) fn fill(plan: &FindingPlan, arms: &[ArmAnalysis], tolerance: f64) -> String {
    let tolerance = Tolerance::new(tolerance).unwrap_or_default();
    // One pass over the text: a value is never searched for further placeholders.
    let mut out = String::new();
    let mut rest = plan.text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let found = after.split_once('}').and_then(|(name, tail)| Some((plan.values.get(name)?, tail)));
        match found {
            Some((value, tail)) => {
                out.push_str(&text(value, arms, tolerance));
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

fn text(value: &FindingValuePlan, arms: &[ArmAnalysis], tolerance: Tolerance) -> String {
    match value {
        FindingValuePlan::Value { metric, arm } => match arms.get(*arm).and_then(|arm| arm.estimate(metric)) {
            Some(estimate) => {
                let max_of = arms.get(*arm).and_then(|arm| arm.metrics.get(metric)?.max_of);
                let longest = max_of.map_or_else(String::new, |n| format!(", the longest of {n}"));
                format!("{}{longest}", number::sentence(estimate, metric.unit()))
            }
            None => format!("(no {metric})"),
        },
        FindingValuePlan::Ratio { metric, arm, against } => match (arms.get(*arm), arms.get(*against)) {
            (Some(arm), Some(against)) => match ratio(arm, against, metric, Confidence::P95) {
                Ok(paired) => match (number::ratio(&paired.ratio), Footing::of(arm, against)) {
                    (Some(ratio), footing) if footing.difference().is_some() => format!("{ratio} ({footing})"),
                    (Some(ratio), _) => ratio,
                    (None, _) => format!("(a ratio that {})", number::needs(&paired.ratio)),
                },
                Err(why) => format!("({why})"),
            },
            _ => "(an arm that is not in this run)".into(),
        },
        FindingValuePlan::Best { metric, arms: among, dimension } => best(metric, among, dimension, arms, tolerance),
    }
}

/// Whether the intervals of two medians do not overlap. This comparison remains where a value of 0, such as the share
/// of a writer that starves, has no ratio.
fn apart(one: &ArmAnalysis, other: &ArmAnalysis, metric: &Metric) -> bool {
    let interval = |arm: &ArmAnalysis| arm.estimate(metric).and_then(|estimate| estimate.interval());
    interval(one).zip(interval(other)).is_some_and(|(a, b)| a.high() < b.low() || b.high() < a.low())
}

/// The arm with the best median, and the arms that are not shown to be worse. The confidence level is shared by k − 1
/// comparisons and not by all pairs: the truly best arm is left out only if one of its own k − 1 intervals fails, as in
/// Hsu's multiple comparisons with the best.
fn best(metric: &Metric, among: &[usize], dimension: &str, arms: &[ArmAnalysis], tolerance: Tolerance) -> String {
    let mut ranked: Vec<(&ArmAnalysis, f64)> = among
        .iter()
        .filter_map(|index| arms.get(*index))
        .filter_map(|arm| Some((arm, arm.estimate(metric)?.value)))
        .collect();
    ranked.sort_by(|(_, a), (_, b)| if metric.measure.more_is_better() { b.total_cmp(a) } else { a.total_cmp(b) });
    let Some(((first, _), others)) = ranked.split_first() else { return format!("(no {metric})") };
    let differ = others.iter().any(|(arm, _)| arm.durability != first.durability);
    let name = |arm: &ArmAnalysis| {
        let name = arm.dimensions.get(dimension).map_or_else(|| arm.label.clone(), ToString::to_string);
        // A winner with a lower durability level must not be named without that level.
        if differ { format!("{name} ({})", Footing::of(arm, arm)) } else { name }
    };
    let confidence = Confidence::P95.shared_by(others.len().max(1)).unwrap_or_default();
    let worse = |arm: &ArmAnalysis| {
        let compared = pair(arm, first, metric, confidence, tolerance);
        compared.verdict == Verdict::Slower || compared.ratio.is_err() && apart(arm, first, metric)
    };
    let winner = name(first);
    let mut open: Vec<String> = Vec::new();
    for (arm, _) in others.iter().filter(|(arm, _)| !worse(arm)) {
        // Arms that differ in other dimensions share a name in this one, possibly that of the winner.
        let name = name(arm);
        if name != winner && !open.contains(&name) {
            open.push(name);
        }
    }
    if open.is_empty() { winner } else { format!("{winner} (not told apart from {})", open.join(", ")) }
}
