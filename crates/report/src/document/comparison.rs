//! Document of a comparison of two runs, or of two variants.

use super::table::{Cell, Column, Table};
use super::{Document, Marked, cell};
use crate::compare::{CompareRow, Comparison, Pairing};
use crate::number;
use crate::style::Tone;

/// Renders a comparison.
#[must_use]
pub fn of_comparison(comparison: &Comparison) -> Document {
    let facts = [("base", comparison.base.clone()), ("head", comparison.head.clone())];
    let mut document = Document::titled("Comparison", facts);
    document.marked(warnings(comparison));
    let level = number::percent(comparison.confidence);
    let delta = number::percent(comparison.tolerance);
    let how = match comparison.pairing {
        Pairing::Rounds => "head / base within rounds",
        Pairing::None => "head / base of separate runs",
    };
    document.text(
        Tone::Dim,
        format!("{how} · ratios at {level} · equivalent within {delta} · values: median [95 % interval], [?] with too few trials"),
    );
    let (short, shown): (Vec<&CompareRow>, Vec<&CompareRow>) =
        comparison.rows.iter().partition(|row| needs(row).is_some());
    // A few rows are as easy to read in the table; many that have no ratio hide the others.
    let few = short.len() <= FEW;
    let shown = if few { comparison.rows.iter().collect() } else { shown };
    if !shown.is_empty() {
        document.table(table(&shown));
    }
    if let Some(needs) = short.iter().filter_map(|row| needs(row)).max().filter(|_| !few) {
        let text = format!("{} not compared: {needs} rounds needed", number::counted(short.len() as u64, "row"));
        document.marked(vec![Marked::new("~", Tone::Warn, text)]);
    }
    document.marked(comparison.rows.iter().filter_map(why).collect());
    document.marked(unequal(comparison));
    document.marked(comparison.unmatched.iter().map(|name| Marked::new("–", Tone::Dim, name.as_str())).collect());
    document.text(summary_tone(comparison), summary(comparison));
    document
}

fn warnings(comparison: &Comparison) -> Vec<Marked> {
    let mut lines = Vec::new();
    if comparison.pairing == Pairing::None {
        let text = "drift between the two runs is not controlled: whatever changed on the machine between them is part of \
                    every ratio; to compare two configurations, run both as variants of one study";
        lines.push(Marked::new("!", Tone::Warn, text));
    }
    lines.extend(
        comparison.unlike.iter().map(|difference| Marked::new("!", Tone::Warn, format!("unlike: {difference}"))),
    );
    lines
}

/// Largest number of rows without a ratio that the table lists one by one.
const FEW: usize = 3;

/// Number of rounds that a ratio needs, if it has too few.
fn needs(row: &CompareRow) -> Option<usize> {
    row.ratio.as_ref().ok()?.needs()
}

fn table(rows: &[&CompareRow]) -> Table {
    let columns = vec![
        Column::left("variant", 0),
        Column::left("durability", 0),
        Column::left("metric", 0),
        Column::right("base", 1),
        Column::right("head", 1),
        Column::right("ratio", 2),
        Column::left("verdict", 2),
    ];
    let row = |row: &&CompareRow| {
        vec![
            Cell::plain(row.name.as_str()),
            Cell::plain(row.durability_pair.to_string()),
            Cell::plain(row.metric.to_string()),
            cell::estimate(row.base.as_ref(), &row.metric),
            cell::estimate(row.head.as_ref(), &row.metric),
            cell::ratio(row.ratio.as_ref().ok(), row.verdict, row.durability_pair),
            Cell::new(cell::tone(row.verdict, row.durability_pair), cell::verdict(row.verdict, &row.metric)),
        ]
    };
    Table { keys: 3, columns, rows: rows.iter().map(row).collect() }
}

/// One line for each variant whose durability levels differ between base and head.
fn unequal(comparison: &Comparison) -> Vec<Marked> {
    let mut rows: Vec<&CompareRow> = comparison.rows.iter().collect();
    rows.dedup_by_key(|row| row.variants);
    let line = |row: &CompareRow| {
        Some(Marked::new("!", Tone::Warn, format!("{}: head {}", row.name, row.durability_pair.difference()?)))
    };
    rows.into_iter().filter_map(line).collect()
}

fn why(row: &CompareRow) -> Option<Marked> {
    let why = row.ratio.as_ref().err()?;
    Some(Marked::new("?", Tone::Warn, format!("{}: {why}", row.name)))
}

fn summary(comparison: &Comparison) -> String {
    let (worse, open) = (comparison.regressions().len(), comparison.inconclusive().len());
    let all = number::counted(comparison.rows.len() as u64, "row");
    match worse {
        0 => format!("no regression is shown in {all}; {open} inconclusive"),
        n => format!("{} in {all}; {open} inconclusive", number::counted(n as u64, "regression")),
    }
}

fn summary_tone(comparison: &Comparison) -> Tone {
    if comparison.regressions().is_empty() { Tone::Plain } else { Tone::Bad }
}
