//! Tables of crossovers: a row for each pair of variants, a table for each dimension.

use indexmap::IndexMap;
use litelab_model::Metric;
use litelab_stats::{Crossover, CrossoverPosition, Reach};

use super::table::{Cell, Column, Table};
use super::{Document, Element, Marked};
use crate::analysis::{Analysis, CrossoverResult, DurabilityPair, MetricCrossover};
use crate::number;
use crate::style::Tone;

/// Adds the crossovers with their heading, if the study requests them.
pub(crate) fn add(document: &mut Document, analysis: &Analysis) {
    if analysis.crossovers.is_empty() {
        return;
    }
    document.heading("Crossovers", "from where on the other is ahead of the base, up to the last value measured");
    document.elements.extend(tabled(analysis));
}

/// The tables and the explanations below them; empty without crossovers.
pub(crate) fn tabled(analysis: &Analysis) -> Vec<Element> {
    let mut document = Document::default();
    // Those that share a table: same dimension, same last level, same metrics.
    let mut groups: IndexMap<_, Vec<&CrossoverResult>> = IndexMap::new();
    for of in &analysis.crossovers {
        let metrics: Vec<&Metric> = of.metrics.iter().map(|m| &m.metric).collect();
        groups.entry((&of.over, of.levels.last(), metrics)).or_default().push(of);
    }
    document.elements.extend(groups.values().map(|group| Element::Table(table(group, analysis))));
    document.marked(reasons(analysis));
    if !analysis.crossovers.is_empty() {
        let text = "from: where the lead begins that lasts to the last value [its 95 % interval, each by itself; ?: fewer \
                    than 6 rounds]; between two values that were measured, interpolated over their logarithms · none up to \
                    N: at N, the last value, the other is not ahead · ≤ N: at N, the first value, it is ahead already · \
                    ratio: other over base";
        document.text(Tone::Dim, text);
    }
    document.elements
}

fn table(group: &[&CrossoverResult], analysis: &Analysis) -> Table {
    let Some(first) = group.first() else { return Table::default() };
    let last = first.levels.last().copied().unwrap_or_default();
    let mut columns: Vec<Column> =
        ["scenario", "base", "other", "durability"].into_iter().map(|title| Column::left(title, 0)).collect();
    for (group, of) in (1..).zip(&first.metrics) {
        columns.push(Column::left(format!("{} from ({})", of.metric, first.over), group));
        columns.push(Column::right(format!("ratio at {last}"), group));
    }
    let row = |of: &&CrossoverResult| {
        let mut row = [&of.scenario, &of.base, &of.other].map(|name| Cell::plain(name.as_str())).to_vec();
        row.push(Cell::plain(durability_pair(of, analysis)));
        for metric in &of.metrics {
            row.push(place(of, metric));
            let ratio = metric.last.as_ref().filter(|_| metric.found.is_ok());
            row.push(Cell::plain(ratio.and_then(|r| number::ratio(&r.ratio)).unwrap_or_else(|| number::NONE.into())));
        }
        row
    };
    Table { keys: 4, columns, rows: group.iter().map(row).collect() }
}

/// Durability levels of both variants, each the lowest of its variants: `D4`, or `D4 → D2`.
fn durability_pair(of: &CrossoverResult, analysis: &Analysis) -> String {
    let worst =
        |variants: &[usize]| variants.iter().map(|index| analysis.variants.get(*index)?.durability).min().flatten();
    DurabilityPair { against: worst(&of.variants.0), variant: worst(&of.variants.1) }.to_string()
}

fn place(of: &CrossoverResult, metric: &MetricCrossover) -> Cell {
    match &metric.found {
        Ok(found) => {
            let (text, shown) = words(found, &of.levels);
            Cell::new(if shown { Tone::Plain } else { Tone::Warn }, text)
        }
        Err(_) => Cell::new(Tone::Dim, number::NONE),
    }
}

/// Formats as `5.2 [4.1, 7.7]`; returns also whether the crossover, or that there is none, is shown.
pub(crate) fn words(found: &Crossover, levels: &[u32]) -> (String, bool) {
    let (first, last) = (levels.first().copied().unwrap_or_default(), levels.last().copied().unwrap_or_default());
    let name = |place: CrossoverPosition| match place {
        CrossoverPosition::UpToFirst => format!("≤ {first}"),
        CrossoverPosition::At(at) if at < 9.95 => format!("{at:.1}"),
        CrossoverPosition::At(at) => format!("{at:.0}"),
        CrossoverPosition::BeyondLast => format!("> {last}"),
    };
    let at = if found.at == CrossoverPosition::BeyondLast { format!("none up to {last}") } else { name(found.at) };
    match found.reach {
        Reach::NeedsAtLeast(_) => (format!("{at} [?]"), false),
        // The interval is a single point.
        Reach::Between { from, to, .. } if from == to && to == found.at => (at, true),
        Reach::Between { from, to, .. } => {
            (format!("{at} [{}, {}]", name(from), name(to)), to != CrossoverPosition::BeyondLast)
        }
    }
}

/// Reasons for which crossovers are not known: each once, with their number.
fn reasons(analysis: &Analysis) -> Vec<Marked> {
    let mut reasons: IndexMap<&str, u64> = IndexMap::new();
    for why in analysis.crossovers.iter().flat_map(|of| &of.metrics).filter_map(|m| m.found.as_ref().err()) {
        *reasons.entry(why).or_default() += 1;
    }
    let line = |(why, count): (&str, u64)| {
        Marked::new("?", Tone::Warn, format!("{} not known: {why}", number::counted(count, "crossover")))
    };
    reasons.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [u32; 3] = [1, 4, 32];

    fn found(at: CrossoverPosition, from: CrossoverPosition, to: CrossoverPosition) -> (String, bool) {
        words(&Crossover { at, reach: Reach::Between { from, to, confidence: 0.96 }, n: 6 }, &LEVELS)
    }

    #[test]
    fn a_place_is_said_with_what_is_left_open() {
        use CrossoverPosition::{At, BeyondLast, UpToFirst};
        let cases = [
            (found(At(5.23), At(4.06), At(12.7)), "5.2 [4.1, 13]", true),
            (found(At(5.23), UpToFirst, BeyondLast), "5.2 [≤ 1, > 32]", false),
            (found(UpToFirst, UpToFirst, UpToFirst), "≤ 1", true),
            (found(UpToFirst, UpToFirst, At(2.0)), "≤ 1 [≤ 1, 2.0]", true),
            (found(BeyondLast, BeyondLast, BeyondLast), "none up to 32", true),
            (found(BeyondLast, At(9.96), BeyondLast), "none up to 32 [10, > 32]", false),
        ];
        for ((text, shown), expected, expected_shown) in cases {
            assert_eq!((text.as_str(), shown), (expected, expected_shown));
        }
        let few = Crossover { at: At(5.0), reach: Reach::NeedsAtLeast(6), n: 3 };
        assert_eq!(words(&few, &LEVELS), ("5.0 [?]".into(), false));
    }
}
