//! Arms and their transactions laid out in rows and columns.

use litelab_engine::record::RunInfo;
use litelab_model::Metric;
use litelab_model::metric::{Measure, Timing};
use litelab_stats::{Confidence, Tolerance};

use super::select::{self, SCENARIO, TRANSACTION};
use super::{Grid, GridCell, Line, Pivot, PivotOptions, mean, settings};
use crate::analysis::{Analysis, ArmAnalysis, ScenarioAnalysis, pair_values};

/// All transactions of an arm together.
const ALL: &str = "all";

/// An arm in one metric, as yet in no row.
struct Unit<'a> {
    arm: &'a ArmAnalysis,
    metric: Metric,
    /// What its value is of; [`ALL`] where it is of several.
    transaction: String,
}

impl Unit<'_> {
    fn value(&self, analysis: &Analysis, name: &str) -> Option<String> {
        if name == TRANSACTION { Some(self.transaction.clone()) } else { select::value(self.arm, analysis, name) }
    }
}

/// Whether a metric has a value of each transaction: the process as a whole has no parts.
pub(super) fn is_of_each(metric: &Metric) -> bool {
    let of_each = match metric.measure {
        Measure::Latency(timing, _) => !matches!(timing, Timing::Probe | Timing::PoolWait | Timing::Scheduler),
        Measure::Throughput
        | Measure::RowsPerSecond
        | Measure::RowTime
        | Measure::FailedShare
        | Measure::ErrorShare
        | Measure::Served => true,
        _ => false,
    };
    of_each && metric.transaction.is_none()
}

/// The metric of one transaction.
pub(super) fn of(metric: &Metric, transaction: &str) -> Metric {
    Metric { measure: metric.measure, transaction: Some(transaction.to_owned()) }
}

pub(super) fn pivot(analysis: &Analysis, info: &RunInfo, options: &PivotOptions) -> Result<Pivot, String> {
    let arms = select::arms(analysis, &options.filters);
    let mut left_out = skipped(analysis);
    if arms.is_empty() {
        return Err("no arm of the run passes all filters: leave one out".into());
    }
    // Scenarios that vary the same dimensions share their tables.
    let mut groups: Vec<((Vec<String>, Vec<String>), Vec<&ScenarioAnalysis>)> = Vec::new();
    for (index, scenario) in analysis.scenarios.iter().enumerate() {
        if !arms.iter().any(|arm| arm.scenario == index) {
            continue;
        }
        let columns = match options.columns.is_empty() {
            true => first_column(scenario, options),
            false => options.columns.clone(),
        };
        let lacks = columns.iter().find(|c| *c != SCENARIO && *c != TRANSACTION && !scenario.dimensions.contains(c));
        if let Some(lacks) = lacks {
            left_out.push(format!("{} does not vary {lacks}", scenario.name));
            continue;
        }
        let others = match options.rows.is_empty() {
            true => scenario.dimensions.iter().filter(|name| !columns.contains(name)).cloned().collect(),
            false => options.rows.clone(),
        };
        let key = (columns, others);
        match groups.iter_mut().find(|(of, _)| *of == key) {
            Some((_, scenarios)) => scenarios.push(scenario),
            None => groups.push((key, vec![scenario])),
        }
    }
    let mut grids = Vec::new();
    for ((columns, _), scenarios) in &groups {
        let mut metrics: Vec<&Metric> = Vec::new();
        let shown = scenarios.iter().flat_map(|s| &s.metrics);
        for metric in
            if options.metrics.is_empty() { shown.collect::<Vec<_>>() } else { options.metrics.iter().collect() }
        {
            if !metrics.contains(&metric) {
                metrics.push(metric);
            }
        }
        for metric in metrics {
            let asked = !options.metrics.is_empty();
            let here = |arm: &&&ArmAnalysis| {
                let scenario = analysis.scenarios.get(arm.scenario);
                scenario.is_some_and(|s| scenarios.contains(&s) && (asked || s.metrics.contains(metric)))
            };
            let units = units(&arms.iter().filter(here).copied().collect::<Vec<_>>(), metric, columns, info, options);
            if units.is_empty() {
                left_out.push(format!("{metric} is of no transaction that is asked for"));
                continue;
            }
            grids.push(grid(&units, metric, columns, analysis, info, options)?);
        }
    }
    Ok(Pivot { grids, left_out, tolerance: analysis.tolerance })
}

/// The dimension under question: a scenario's first, unless a row is to have it.
fn first_column(scenario: &ScenarioAnalysis, options: &PivotOptions) -> Vec<String> {
    scenario.dimensions.iter().find(|name| !options.rows.contains(name)).cloned().into_iter().collect()
}

/// A line for each reason.
fn skipped(analysis: &Analysis) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (arm, reason) in analysis.arms.iter().filter_map(|arm| Some((arm, arm.skipped.as_ref()?))) {
        let line = format!("skipped: {reason}");
        if !arm.is_twin() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn units<'a>(
    arms: &[&'a ArmAnalysis],
    metric: &Metric,
    columns: &[String],
    info: &RunInfo,
    options: &PivotOptions,
) -> Vec<Unit<'a>> {
    let filter = options.filters.iter().find(|f| f.name == TRANSACTION);
    let of_each = options.rows.is_empty()
        || options.rows.iter().chain(columns).any(|name| name == TRANSACTION)
        || filter.is_some();
    let mut units = Vec::new();
    for arm in arms {
        let names = info.plan.arms.get(arm.index).map_or_else(Vec::new, select::transactions_of);
        let unit = |metric: Metric, of: &str| Unit { arm, metric, transaction: of.to_owned() };
        match (&metric.transaction, names.as_slice()) {
            (Some(own), _) => units.push(unit(metric.clone(), own)),
            // What the one transaction has is what all have.
            (None, [only]) => units.push(unit(metric.clone(), only)),
            (None, several) => {
                units.push(unit(metric.clone(), ALL));
                if of_each && is_of_each(metric) {
                    units.extend(several.iter().map(|name| unit(of(metric, name), name)));
                }
            }
        }
    }
    units.retain(|unit| filter.is_none_or(|f| f.values.contains(&unit.transaction)));
    units
}

fn grid(
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
    let mut lines: Vec<Line> = Vec::new();
    for unit in units {
        let keys = place(unit, &rows);
        let at = lines.iter().position(|line| line.keys == keys).unwrap_or_else(|| {
            lines.push(Line { keys, cells: vec![None; heads.len()] });
            lines.len() - 1
        });
        let head = place(unit, columns);
        let Some(cell) = heads.iter().position(|h| *h == head).and_then(|c| lines[at].cells.get_mut(c)) else {
            continue;
        };
        if let Some(other) = cell {
            return Err(crowded(unit, other, &rows, columns, analysis));
        }
        let estimate = unit.arm.estimate(&unit.metric).copied();
        *cell = Some(GridCell { arm: unit.arm.index, metric: unit.metric.clone(), estimate, change: None });
    }
    let (confidence, family) = compare(&mut lines, analysis);
    let dimensions: Vec<String> = rows.iter().chain(columns).cloned().collect();
    let settings = settings::settings(&lines, heads.len(), &dimensions, analysis, info);
    let mut scenarios: Vec<usize> = units.iter().map(|unit| unit.arm.scenario).collect();
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

/// Rows that a mean is taken over: single transactions where there are some, for all together hold them again.
fn parts(grid: &Grid) -> Vec<usize> {
    let at = grid.rows.iter().position(|name| name == TRANSACTION);
    let is_whole = |line: &Line| at.and_then(|at| line.keys.get(at)).is_some_and(|key| key == ALL);
    let has_parts = at.is_some() && grid.lines.iter().any(|line| !is_whole(line));
    let rows = grid.lines.iter().enumerate().filter(|(_, line)| !(has_parts && is_whole(line)));
    rows.map(|(index, _)| index).collect()
}

/// Unless given: whatever is not the same everywhere, the scenario first and the transaction last.
fn row_names(units: &[Unit<'_>], columns: &[String], analysis: &Analysis, options: &PivotOptions) -> Vec<String> {
    if !options.rows.is_empty() {
        return options.rows.clone();
    }
    let mut names: Vec<String> = vec![SCENARIO.into()];
    for unit in units {
        for name in unit.arm.dimensions.keys().filter(|name| !columns.contains(name)) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    // Where every arm has but one, its other dimensions tell it apart already.
    if units.iter().any(|unit| units.iter().filter(|u| u.arm.index == unit.arm.index).count() > 1) {
        names.push(TRANSACTION.into());
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

/// Columns in the order in which a filter names them, else in that of the plan; the value of the scenarios' baseline
/// first then, where they have the same.
fn heads(
    units: &[Unit<'_>],
    columns: &[String],
    analysis: &Analysis,
    options: &PivotOptions,
    place: &dyn Fn(&Unit<'_>, &[String]) -> Vec<String>,
) -> Vec<Vec<String>> {
    let mut heads: Vec<Vec<String>> = Vec::new();
    for unit in units {
        let head = place(unit, columns);
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    let rank = |head: &Vec<String>| -> Vec<usize> {
        let ranked = columns.iter().zip(head).map(|(name, value)| {
            let filter = options.filters.iter().find(|f| f.name == *name);
            filter.and_then(|f| f.values.iter().position(|v| v == value)).unwrap_or(0)
        });
        ranked.collect()
    };
    heads.sort_by_key(rank);
    if !options.filters.iter().any(|f| columns.contains(&f.name) && f.values.len() > 1) {
        let is_baseline =
            |unit: &&Unit<'_>| analysis.scenarios.get(unit.arm.scenario).is_some_and(|s| s.baseline == unit.arm.index);
        let mut baselines = units.iter().filter(is_baseline).map(|unit| place(unit, columns));
        let first = baselines.next().filter(|first| baselines.all(|other| other == *first));
        if let Some(at) = first.and_then(|first| heads.iter().position(|head| *head == first)) {
            let first = heads.remove(at);
            heads.insert(0, first);
        }
    }
    heads
}

/// What to do where two arms share a place: name a dimension that tells them apart.
fn crowded(unit: &Unit<'_>, other: &GridCell, rows: &[String], columns: &[String], analysis: &Analysis) -> String {
    let Some(theirs) = analysis.arms.get(other.arm) else { return "two arms share a cell".into() };
    let named = |name: &&str| !rows.iter().chain(columns).any(|n| n == name);
    let candidates = std::iter::once(SCENARIO).chain(unit.arm.dimensions.keys().map(String::as_str));
    let apart = |name: &&str| select::value(unit.arm, analysis, name) != select::value(theirs, analysis, name);
    // Arms of one run differ in their scenario or in one of its dimensions, units of one arm in their transaction.
    let name = candidates.filter(named).find(apart).unwrap_or(TRANSACTION);
    format!(
        "a cell would hold several arms ({} and {}): add `{name}` to --rows or --columns, or choose with --filter {name}=VALUE",
        theirs.name, unit.arm.name
    )
}

/// Fills in the changes. Returns the least and greatest level of their intervals, and the size of the largest family.
fn compare(lines: &mut [Line], analysis: &Analysis) -> (Option<(f64, f64)>, usize) {
    let tolerance = Tolerance::new(analysis.tolerance).unwrap_or_default();
    let scenario = |cell: &GridCell| analysis.arms.get(cell.arm).map(|arm| arm.scenario);
    let mut families: Vec<((Option<usize>, Metric), usize)> = Vec::new();
    for line in lines.iter() {
        let mut cells = line.cells.iter();
        if cells.next().is_none_or(Option::is_none) {
            continue;
        }
        for cell in cells.flatten() {
            let key = (scenario(cell), cell.metric.clone());
            match families.iter_mut().find(|(of, _)| *of == key) {
                Some((_, count)) => *count += 1,
                None => families.push((key, 1)),
            }
        }
    }
    for line in lines.iter_mut() {
        let Some(base) = line.cells.first().cloned().flatten() else { continue };
        for cell in line.cells.iter_mut().skip(1).flatten() {
            let key = (scenario(cell), cell.metric.clone());
            let family = families.iter().find(|(of, _)| *of == key).map_or(1, |(_, count)| *count);
            let confidence = Confidence::P95.shared_by(family).unwrap_or_default();
            let (Some(ours), Some(theirs)) = (analysis.arms.get(cell.arm), analysis.arms.get(base.arm)) else {
                continue;
            };
            let values = (ours.values(&cell.metric), theirs.values(&base.metric));
            cell.change = Some(pair_values(values.0, values.1, &cell.metric, confidence, tolerance));
        }
    }
    let counts = families.iter().map(|(_, count)| *count);
    let level = |count: usize| Confidence::P95.shared_by(count).unwrap_or_default().level();
    let (least, most) = (counts.clone().min(), counts.max());
    (least.zip(most).map(|(least, most)| (level(least), level(most))), most.unwrap_or(0))
}
