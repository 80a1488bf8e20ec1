//! Tables of a run's variants: values, ratios, settings and footnotes in rows and columns.

use indexmap::IndexMap;
use litelab_record::RunInfo;

use super::footnote::Footnotes;
use super::table::{Cell, Column, Table};
use super::{Document, Marked, cell, content, header, scenario};
use crate::analysis::{Analysis, DurabilityPair, MetricComparison};
use crate::number::{self, Shared};
use crate::pivot::{Grid, GridCell, GridRow, Pivot};
use crate::style::Tone;

/// Renders the tables of a run.
#[must_use]
pub fn of_pivot(pivot: &Pivot, analysis: &Analysis, info: &RunInfo) -> Document {
    let mut document = Document::titled(header::title(info), []);
    let done = number::counted(info.rounds(), "round");
    document.text(Tone::Dim, format!("{} · {done} · seed {}", info.file_name(), info.plan.seed));
    for grid in &pivot.grids {
        add(&mut document, grid, analysis);
    }
    document.marked(header::skipped(info));
    document.marked(pivot.left_out.iter().map(|line| Marked::new("–", Tone::Dim, line.as_str())).collect());
    if !pivot.grids.is_empty() {
        let delta = number::percent(pivot.tolerance);
        let legend = "median ± the farther end of its 95 % interval, [?] with too few rounds for one";
        let glyphs = format!("▲ better  ▼ worse  ≈ equivalent within {delta}  ~ no difference shown");
        document.text(Tone::Dim, format!("{legend} · {glyphs}"));
    }
    document
}

fn add(document: &mut Document, grid: &Grid, analysis: &Analysis) {
    let values = grid.lines.iter().flat_map(|line| line.cells.iter().flatten()).filter_map(|cell| cell.estimate);
    let unit = Shared::of(values.map(|estimate| estimate.value), grid.metric.unit());
    let names: Vec<&str> =
        grid.scenarios.iter().filter_map(|i| Some(analysis.scenarios.get(*i)?.name.as_str())).collect();
    let beside = match grid.columns.is_empty() {
        true => names.join(", "),
        false => format!("{} by {}", names.join(", "), grid.columns.join(", ")),
    };
    let title = match unit.unit() {
        "" => grid.metric.to_string(),
        unit => format!("{} in {unit}", grid.metric),
    };
    document.heading(&title, &beside);
    let same = same_count(grid, analysis);
    document.text(Tone::Dim, caption(grid, same));
    let mut footnotes = Footnotes::default();
    document.table(table(grid, unit, same.is_none(), analysis, &mut footnotes));
    document.marked(footnotes.lines());
    document.marked(missing_means(grid));
}

/// One line for each reason for which columns have no mean.
fn missing_means(grid: &Grid) -> Vec<Marked> {
    let mut reasons: IndexMap<&str, Vec<String>> = IndexMap::new();
    for (mean, head) in grid.means.iter().zip(grid.heads.iter().skip(1)) {
        if let Err(why) = mean {
            reasons.entry(why).or_default().push(head_name(head));
        }
    }
    let line = |(why, heads): (&str, Vec<String>)| {
        Marked::new("–", Tone::Dim, format!("no geometric mean of {}: {why}", heads.join(", ")))
    };
    reasons.into_iter().map(line).collect()
}

/// Number of trials behind the cells, if it is the same for all of them; otherwise each has a column of its own.
fn same_count(grid: &Grid, analysis: &Analysis) -> Option<u64> {
    let cells = grid.lines.iter().flat_map(|line| line.cells.iter().flatten());
    let mut counts = cells.map(|cell| count(cell, analysis));
    let first = counts.next().unwrap_or(0);
    counts.all(|n| n == first).then_some(first)
}

fn count(cell: &GridCell, analysis: &Analysis) -> u64 {
    analysis.variants.get(cell.variant).map_or(0, |variant| variant.values(&cell.metric).len() as u64)
}

fn caption(grid: &Grid, same_count: Option<u64>) -> String {
    let mut parts = Vec::new();
    if let (Some((least, most)), Some(first)) = (grid.confidence, grid.heads.first()) {
        let level = match number::percent(least) == number::percent(most) {
            true => number::percent(most),
            false => format!("{} to {}", number::percent(least), number::percent(most)),
        };
        let together = match grid.family {
            0 | 1 => String::new(),
            n => format!(", so that those of one scenario and metric (at most {n}) hold together at 95 %"),
        };
        let first: Vec<String> =
            grid.columns.iter().zip(first).map(|(name, value)| format!("{name}={value}")).collect();
        parts.push(format!("ratio to {} in the same round, at {level}{together}", first.join(" ")));
    }
    parts.extend(same_count.map(|n| format!("each cell of {}", number::counted(n, "trial"))));
    parts.extend(grid.settings.common.iter().map(|level| format!("durability {level}")));
    parts.join(" · ")
}

fn head_name(head: &[String]) -> String {
    if head.is_empty() { "value".into() } else { head.join(" ") }
}

fn table(grid: &Grid, unit: Shared, each: bool, analysis: &Analysis, footnotes: &mut Footnotes) -> Table {
    // If all dimensions are columns, rows still have a cell for their name.
    let keys = grid.rows.len().max(1);
    let mut columns: Vec<Column> = grid.rows.iter().map(|name| Column::left(name, 0)).collect();
    columns.resize(keys, Column::left("", 0));
    for (index, head) in grid.heads.iter().enumerate() {
        let group = u8::try_from(index + 1).unwrap_or(u8::MAX);
        columns.push(Column::right(head_name(head), group));
        columns.extend(each.then(|| Column::right("n", group)));
        columns.extend((index > 0).then(|| Column::right("ratio", group)));
    }
    let right = u8::try_from(grid.heads.len() + 1).unwrap_or(u8::MAX);
    columns.extend(grid.settings.by_row.iter().map(|(name, _)| Column::left(name, right)));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (index, line) in grid.lines.iter().enumerate() {
        let mut row: Vec<Cell> = line.keys.iter().map(Cell::plain).collect();
        row.resize(keys, Cell::default());
        for (column, cell) in line.cells.iter().enumerate() {
            let durability_pair = durability_pair(line, column, analysis);
            let value =
                cell.as_ref().map_or_else(none, |cell| value(cell, unit, analysis, (durability_pair, footnotes)));
            let n = || cell.as_ref().map_or_else(none, |cell| Cell::plain(count(cell, analysis).to_string()));
            row.push(value);
            row.extend(each.then(n));
            let change = || cell.as_ref().and_then(|c| c.change.as_ref());
            row.extend((column > 0).then(|| change().map_or_else(none, |change| ratio(change, durability_pair))));
        }
        let settings = grid.settings.by_row.iter();
        row.extend(settings.map(|(_, values)| values.get(index).map_or_else(none, Cell::plain)));
        rows.push(row);
    }
    rows.extend(below(grid, columns.len(), (keys, each), analysis));
    Table { keys, columns, rows }
}

fn none() -> Cell {
    Cell::new(Tone::Dim, number::NONE)
}

fn ratio(change: &MetricComparison, durability_pair: DurabilityPair) -> Cell {
    cell::ratio(change.ratio.as_ref().ok().map(|r| &r.ratio), change.verdict, durability_pair)
}

/// Durability levels of a column's variant and of the first column's variant, in the same row.
fn durability_pair(line: &GridRow, column: usize, analysis: &Analysis) -> DurabilityPair {
    let variant = |column: usize| line.cells.get(column).and_then(|cell| Some(cell.as_ref()?.variant));
    variant(column)
        .zip(variant(0))
        .map_or_else(DurabilityPair::default, |(variant, against)| analysis.durability_pair(variant, against))
}

/// Rows below the table: the mean, and the settings that were read back and differ between columns.
fn below(grid: &Grid, width: usize, (keys, each): (usize, bool), analysis: &Analysis) -> Vec<Vec<Cell>> {
    // Number of columns from a value to its ratio, and the position of a value. The first value has no ratio.
    let first = 1 + usize::from(each);
    let at = |column: usize| keys + if column == 0 { 0 } else { first + (column - 1) * (first + 1) };
    let line = |name: &str| {
        let mut row = vec![Cell::default(); width];
        if let Some(cell) = row.first_mut() {
            *cell = Cell::new(Tone::Dim, name);
        }
        row
    };
    let mut rows = Vec::new();
    if grid.means.iter().any(Result::is_ok) {
        let mut row = line("geometric mean");
        for (column, mean) in grid.means.iter().enumerate() {
            if let Some(cell) = row.get_mut(at(column + 1) + first) {
                let footings = || grid.lines.iter().map(|line| durability_pair(line, column + 1, analysis));
                // A single row with a lower durability level prevents the mean from being good.
                let of_rows =
                    footings().find(|durability_pair| durability_pair.is_loss()).or_else(|| footings().next());
                let of_rows = of_rows.unwrap_or_default();
                *cell = mean.as_ref().map_or_else(|_| none(), |mean| ratio(mean, of_rows));
            }
        }
        rows.push(row);
    }
    for (name, values) in &grid.settings.by_column {
        let mut row = line(name);
        for (column, value) in values.iter().enumerate() {
            if let Some(cell) = row.get_mut(at(column)) {
                *cell = Cell::new(Tone::Dim, value);
            }
        }
        rows.push(row);
    }
    rows
}

/// The median, with the marks of its footnotes.
fn value(
    of: &GridCell,
    unit: Shared,
    analysis: &Analysis,
    (durability_pair, footnotes): (DurabilityPair, &mut Footnotes),
) -> Cell {
    let Some(variant) = analysis.variants.get(of.variant) else { return none() };
    let mut remarks = scenario::remarks(variant);
    remarks.extend(analysis.scenarios.get(variant.scenario).and_then(|s| content::remark(s, variant)));
    remarks.extend(variant.failures.iter().map(|failure| scenario::failure(variant, failure)));
    let weak = of.estimate.filter(|estimate| estimate.interval().is_none());
    remarks.extend(weak.map(|estimate| {
        format!("{}: an interval {}", number::counted(estimate.n as u64, "round"), number::needs(&estimate))
    }));
    remarks.extend(of.change.as_ref().and_then(|_| durability_pair.difference()));
    let reason = of.change.as_ref().and_then(|change| change.ratio.as_ref().err());
    // Failed trials have a footnote already.
    remarks.extend(reason.filter(|_| variant.measured > 0 && variant.failed() == 0).cloned());
    let (tone, text) = match &of.estimate {
        Some(estimate) => (Tone::Plain, cell::max_of(variant, &of.metric) + &unit.brief(estimate)),
        None if variant.measured == 0 => (Tone::Bad, number::NONE.to_owned()),
        None => (Tone::Dim, number::NONE.to_owned()),
    };
    let marks: String = remarks.into_iter().map(|text| format!(" {}", footnotes.mark(text))).collect();
    Cell::new(tone, format!("{text}{marks}"))
}
