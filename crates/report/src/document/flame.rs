//! Table of the functions in which a variant spends its CPU time.

use litelab_record::RunInfo;

use super::table::{Cell, Column, Table};
use super::{Element, Tone};
use crate::analysis::{Analysis, ScenarioAnalysis};
use crate::{number, symbol};

/// Largest number of variants in the table.
pub(crate) const MOST_VARIANTS: usize = 4;
/// Largest number of functions of each variant.
const MOST: usize = 5;
/// Largest number of letters of a name; the chart has the rest.
const LETTERS: usize = 48;

/// Source and limits of the samples, for table and chart.
const CAVEAT: &str = "From one further trial under `perf`, which is in no other figure here. A thread that waits (for a lock, the disk, a retry) uses no CPU, so that waiting is in none of it.";

/// A sentence and a table; empty if no call stacks were sampled.
pub(super) fn elements(scenario: &ScenarioAnalysis, analysis: &Analysis, info: &RunInfo) -> Vec<Element> {
    let variants = scenario.leading(analysis, usize::MAX);
    let all = variants.iter().filter_map(|variant| Some((variant, info.stacks.get(&variant.index)?)));
    let all: Vec<_> = all.filter(|(_, stacks)| stacks.samples() > 0).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for (variant, stacks) in all.iter().take(MOST_VARIANTS) {
        let share =
            |samples: u64| number::percent((1000.0 * samples as f64 / stacks.samples() as f64).round() / 1000.0);
        for function in stacks.functions().into_iter().take(MOST).filter(|function| function.own > 0) {
            let name = [variant.label.as_str(), &symbol::of_frame(&function.name, LETTERS)].map(Cell::plain);
            rows.push([&name[..], &[share(function.own), share(function.samples)].map(Cell::plain)].concat());
        }
    }
    let columns = vec![
        Column::left("variant", 0),
        Column::left("function", 0),
        Column::right("CPU time in itself", 1),
        Column::right("with what it calls", 1),
    ];
    let shown = all.len().min(MOST_VARIANTS);
    let of = if shown < all.len() {
        format!(" Of {} variants the baseline and the best by the first metric.", all.len())
    } else {
        String::new()
    };
    let seconds: f64 = all.iter().take(MOST_VARIANTS).map(|(_, stacks)| stacks.seconds()).sum();
    let least = all.iter().take(MOST_VARIANTS).map(|(_, stacks)| stacks.samples()).min().unwrap_or_default();
    let text = format!(
        "Where CPU time goes, by function: {seconds:.1} s of it, {} at the least of each variant. {CAVEAT}{of}",
        number::counted(least, "sample"),
    );
    vec![Element::Text(Tone::Dim, text), Element::Table(Table { keys: 2, columns, rows })]
}
