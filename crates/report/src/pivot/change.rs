//! Comparison of every column with the first one.

use std::collections::BTreeMap;

use litelab_model::Metric;
use litelab_stats::{Confidence, Tolerance};

use super::{GridCell, GridRow};
use crate::analysis::{Analysis, pair_between};

/// Fills in the comparisons. Returns the least and the greatest confidence level of their intervals, and the size of
/// the largest family.
pub(super) fn compare(lines: &mut [GridRow], analysis: &Analysis) -> (Option<(f64, f64)>, usize) {
    let tolerance = Tolerance::new(analysis.tolerance).unwrap_or_default();
    let scenario = |cell: &GridCell| analysis.variants.get(cell.variant).map(|variant| variant.scenario);
    // The same family as in the scenario's own table, if the metric is one of those that are judged.
    let together = |cell: &GridCell| {
        let judged = scenario(cell).and_then(|index| Some(&analysis.scenarios.get(index)?.judged));
        judged.filter(|judged| judged.contains(&cell.metric)).map_or(1, Vec::len)
    };
    let mut families: BTreeMap<(Option<usize>, Metric), usize> = BTreeMap::new();
    for line in lines.iter() {
        let mut cells = line.cells.iter();
        if cells.next().is_none_or(Option::is_none) {
            continue;
        }
        for cell in cells.flatten() {
            *families.entry((scenario(cell), cell.metric.clone())).or_default() += together(cell);
        }
    }
    for line in lines.iter_mut() {
        let Some(base) = line.cells.first().cloned().flatten() else { continue };
        for cell in line.cells.iter_mut().skip(1).flatten() {
            let family = families.get(&(scenario(cell), cell.metric.clone())).copied().unwrap_or(1);
            let confidence = Confidence::P95.shared_by(family).unwrap_or_default();
            let (Some(ours), Some(theirs)) = (analysis.variants.get(cell.variant), analysis.variants.get(base.variant))
            else {
                continue;
            };
            cell.change = Some(pair_between((ours, &cell.metric), (theirs, &base.metric), confidence, tolerance));
        }
    }
    let counts = families.values().copied();
    let level = |count: usize| Confidence::P95.shared_by(count).unwrap_or_default().level();
    let (least, most) = (counts.clone().min(), counts.max());
    (least.zip(most).map(|(least, most)| (level(least), level(most))), most.unwrap_or(0))
}
