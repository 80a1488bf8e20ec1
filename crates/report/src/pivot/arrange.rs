//! Arrangement of units in rows and columns.

use indexmap::IndexSet;
use litelab_model::Metric;
use litelab_record::RunInfo;
use litelab_stats::Tolerance;

use super::change::compare;
use super::select::{self, SCENARIO, TRANSACTION};
use super::unit::{ALL, Unit};
use super::{Grid, GridCell, GridRow, PivotOptions, mean, settings};
use crate::analysis::Analysis;

/// Builds the table of one metric.
pub(super) fn grid(
    units: &[Unit<'_>],
    metric: &Metric,
    columns: &[String],
    analysis: &Analysis,
    info: &RunInfo,
    options: &PivotOptions,
) -> Result<Grid, String> {
    let rows = row_names(units, columns, analysis, options);
    let place = |unit: &Unit<'_>, names: &[String]| -> Vec<String> {
        names.iter().map(|n| unit.value(analysis, n).unwrap_or_else(|| crate::number::NONE.into())).collect()
    };
    let heads = heads(units, columns, analysis, options, &place);
    let mut lines: Vec<GridRow> = Vec::new();
    for unit in units {
        let keys = place(unit, &rows);
        let at = lines.iter().position(|line| line.keys == keys).unwrap_or_else(|| {
            lines.push(GridRow { keys, cells: vec![None; heads.len()] });
            lines.len() - 1
        });
        let head = place(unit, columns);
        let Some(cell) = heads.iter().position(|h| *h == head).and_then(|c| lines[at].cells.get_mut(c)) else {
            continue;
        };
        if let Some(other) = cell {
            return Err(crowded(unit, other, &rows, columns, analysis));
        }
        let estimate = unit.variant.estimate(&unit.metric).copied();
        *cell = Some(GridCell { variant: unit.variant.index, metric: unit.metric.clone(), estimate, change: None });
    }
    let (confidence, family) = compare(&mut lines, analysis);
    let dimensions: Vec<String> = rows.iter().chain(columns).cloned().collect();
    let settings = settings::settings(&lines, heads.len(), &dimensions, analysis, info);
    let mut scenarios: Vec<usize> = units.iter().map(|unit| unit.variant.scenario).collect();
    scenarios.dedup();
    let mut grid = Grid {
        metric: metric.clone(),
        scenarios,
        rows,
        columns: columns.to_vec(),
        heads,
        lines,
        confidence,
        family,
        means: Vec::new(),
        settings,
    };
    let tolerance = Tolerance::new(analysis.tolerance).unwrap_or_default();
    grid.means = mean::means(&grid, &parts(&grid), analysis, tolerance);
    Ok(grid)
}

/// Rows that a mean covers: single transactions if there are any, because all transactions together contain them again.
fn parts(grid: &Grid) -> Vec<usize> {
    let at = grid.rows.iter().position(|name| name == TRANSACTION);
    let is_whole = |line: &GridRow| at.and_then(|at| line.keys.get(at)).is_some_and(|key| key == ALL);
    let has_parts = at.is_some() && grid.lines.iter().any(|line| !is_whole(line));
    let rows = grid.lines.iter().enumerate().filter(|(_, line)| !(has_parts && is_whole(line)));
    rows.map(|(index, _)| index).collect()
}

/// Names of the row dimensions; default: all that vary, the scenario first and the transaction last.
fn row_names(units: &[Unit<'_>], columns: &[String], analysis: &Analysis, options: &PivotOptions) -> Vec<String> {
    if !options.rows.is_empty() {
        return options.rows.clone();
    }
    let varied = units.iter().flat_map(|unit| unit.variant.dimensions.keys().cloned());
    let mut names: IndexSet<String> = std::iter::once(SCENARIO.to_owned()).chain(varied).collect();
    // If every variant has only one transaction, its other dimensions identify it already.
    if units.iter().any(|unit| units.iter().filter(|u| u.variant.index == unit.variant.index).count() > 1) {
        names.insert(TRANSACTION.to_owned());
    }
    names.retain(|name| !columns.contains(name));
    let varies = |name: &String| {
        let mut values = units.iter().map(|unit| unit.value(analysis, name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let varying: Vec<String> = names.iter().filter(|name| varies(name)).cloned().collect();
    if varying.is_empty() { names.into_iter().take(1).collect() } else { varying }
}

/// Columns in the order in which a filter names them, else in the order of the plan; then with the value of the
/// baseline first, if all scenarios have the same one.
fn heads(
    units: &[Unit<'_>],
    columns: &[String],
    analysis: &Analysis,
    options: &PivotOptions,
    place: &dyn Fn(&Unit<'_>, &[String]) -> Vec<String>,
) -> Vec<Vec<String>> {
    let heads: IndexSet<Vec<String>> = units.iter().map(|unit| place(unit, columns)).collect();
    let mut heads = Vec::from_iter(heads);
    let rank = |head: &Vec<String>| -> Vec<usize> {
        let ranked = columns.iter().zip(head).map(|(name, value)| {
            let filter = options.filters.iter().find(|f| f.name == *name);
            filter.and_then(|f| f.values.iter().position(|v| v == value)).unwrap_or(0)
        });
        ranked.collect()
    };
    heads.sort_by_key(rank);
    if !options.filters.iter().any(|f| columns.contains(&f.name) && f.values.len() > 1) {
        let is_baseline = |unit: &&Unit<'_>| {
            analysis.scenarios.get(unit.variant.scenario).is_some_and(|s| s.baseline == unit.variant.index)
        };
        let mut baselines = units.iter().filter(is_baseline).map(|unit| place(unit, columns));
        let first = baselines.next().filter(|first| baselines.all(|other| other == *first));
        if let Some(at) = first.and_then(|first| heads.iter().position(|head| *head == first)) {
            let first = heads.remove(at);
            heads.insert(0, first);
        }
    }
    heads
}

/// Message for two variants in one cell, which names a dimension that distinguishes them.
fn crowded(unit: &Unit<'_>, other: &GridCell, rows: &[String], columns: &[String], analysis: &Analysis) -> String {
    let Some(theirs) = analysis.variants.get(other.variant) else { return "two variants share a cell".into() };
    let named = |name: &&str| !rows.iter().chain(columns).any(|n| n == name);
    let candidates = std::iter::once(SCENARIO).chain(unit.variant.dimensions.keys().map(String::as_str));
    let apart = |name: &&str| select::value(unit.variant, analysis, name) != select::value(theirs, analysis, name);
    // Variants of one run differ in their scenario or in one of its dimensions, units of one variant in their
    // transaction.
    let name = candidates.filter(named).find(apart).unwrap_or(TRANSACTION);
    format!(
        "a cell would hold several variants ({} and {}): add `{name}` to --rows or --columns, or choose with --filter {name}=VALUE",
        theirs.name, unit.variant.name
    )
}
