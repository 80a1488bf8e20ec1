//! Geometric mean of a column's ratios over all rows: within a round the mean of the logarithms of its ratios, then an
//! estimate over rounds as for every ratio. Only ratios have a mean: one of the values themselves would combine
//! different work.

use std::collections::BTreeMap;

use litelab_stats::{Confidence, PairedRatio, Tolerance, Verdict};

use super::{Grid, GridCell};
use crate::analysis::{Analysis, MetricComparison, better, planner};

/// The means of all columns but the first. An error where a mean would hide something: a missing or failed row, or rows
/// with opposite verdicts. Empty with fewer than two rows or columns.
pub(super) fn means(
    grid: &Grid,
    rows: &[usize],
    analysis: &Analysis,
    tolerance: Tolerance,
) -> Vec<Result<MetricComparison, String>> {
    let columns = grid.heads.len();
    if rows.len() < 2 || columns < 2 {
        return Vec::new();
    }
    let confidence = Confidence::P95.shared_by(columns - 1).unwrap_or_default();
    (1..columns).map(|column| of_column(grid, rows, column, analysis, (confidence, tolerance))).collect()
}

fn of_column(
    grid: &Grid,
    rows: &[usize],
    column: usize,
    analysis: &Analysis,
    (confidence, tolerance): (Confidence, Tolerance),
) -> Result<MetricComparison, String> {
    let (mut seen_better, mut seen_worse) = (false, false);
    // The sum of the logarithms and the number of rows, by round.
    let mut rounds: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
    for row in rows {
        let cells = grid.lines.get(*row).map(|line| &line.cells);
        let at = |column: usize| cells.and_then(|cells| cells.get(column)?.as_ref());
        let (Some(base), Some(cell)) = (at(0), at(column)) else {
            return Err("some rows lack a value".into());
        };
        for cell in [base, cell] {
            let variant = analysis.variants.get(cell.variant);
            if variant.is_some_and(|variant| variant.events(&cell.metric).is_some()) {
                return Err(format!("{} may be 0 in a round", cell.metric));
            }
            if let Some(variant) = variant.filter(|variant| variant.failed() > 0) {
                return Err(format!("trials of {} failed", variant.name));
            }
        }
        match cell.change.as_ref().map(|change| (&change.ratio, change.verdict)) {
            Some((Err(why), _)) => return Err(why.clone()),
            Some((_, Verdict::Faster)) => seen_better = true,
            Some((_, Verdict::Slower)) => seen_worse = true,
            _ => {}
        }
        let values = |cell: &GridCell| -> BTreeMap<u32, f64> {
            let variant = analysis.variants.get(cell.variant);
            variant.into_iter().flat_map(|variant| variant.values(&cell.metric)).copied().collect()
        };
        let theirs = values(base);
        for (round, ours) in values(cell) {
            if let Some(theirs) = theirs.get(&round).filter(|theirs| **theirs > 0.0 && ours > 0.0) {
                let sum = rounds.entry(round).or_default();
                *sum = (sum.0 + (ours / theirs).ln(), sum.1 + 1);
            }
        }
    }
    if seen_better && seen_worse {
        return Err("it is better in some rows and worse in others".into());
    }
    let whole = rounds.values().filter(|(_, count)| *count == rows.len());
    let pairs: Vec<(f64, f64)> = whole.map(|(sum, count)| (1.0, (sum / *count as f64).exp())).collect();
    let ratio = PairedRatio::from_rounds(&pairs, confidence).map_err(|e| e.to_string())?;
    if ratio.ratio.interval().is_none() {
        return Err(format!("it {}", crate::number::needs(&ratio.ratio)));
    }
    let verdict = ratio.verdict(tolerance, better(&grid.metric), &planner(confidence));
    Ok(MetricComparison { metric: grid.metric.clone(), ratio: Ok(ratio), verdict, p_adjusted: None })
}
