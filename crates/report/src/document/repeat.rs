//! Document of a repetition: the counts of changes, and the verdicts of both runs.

use super::table::{Cell, Column, Table};
use super::{Document, Marked, cell};
use crate::analysis::Measured;
use crate::compare::repeat::{Change, Judged, Judgement, Repeated, Repetition};
use crate::number;
use crate::style::Tone;

/// Renders a repetition.
#[must_use]
pub fn of_repetition(repetition: &Repetition) -> Document {
    let facts = [("before", repetition.before.clone()), ("after", repetition.after.clone())];
    let mut document = Document::titled("Repetition", facts);
    let unlike = repetition.unlike.iter().map(|difference| format!("unlike: {difference}"));
    let seeds = repetition.seeds.map(|(before, after)| format!("the seed was {before} and is {after}"));
    document.marked(unlike.chain(seeds).map(|text| Marked::new("!", Tone::Warn, text)).collect());
    document.text(
        Tone::Dim,
        "each verdict is that of its own run, from its own rounds: ratio or value [its interval] and what it shows",
    );
    let reversed = repetition.verdicts.iter().filter(|verdict| verdict.change == Change::Reversed);
    document.marked(reversed.map(opposite).collect());
    let (claims, comparisons): (Vec<&Repeated>, Vec<&Repeated>) =
        repetition.verdicts.iter().partition(|verdict| is_claim(verdict));
    for (title, first, verdicts) in [("Claims", "claim", claims), ("Comparisons", "variant", comparisons)] {
        if !verdicts.is_empty() {
            document.heading(title, &counted(&verdicts));
            document.table(table(first, &verdicts));
            document.marked(verdicts.iter().filter_map(|verdict| why(verdict)).collect());
        }
    }
    let all = counted(&repetition.verdicts.iter().collect::<Vec<_>>());
    // The first verdict has the most important change.
    let worst = repetition.verdicts.first().map_or(Change::Unchanged, |verdict| verdict.change);
    let (glyph, _, tone) = look(worst);
    document.marked(vec![Marked::new(glyph, tone, all)]);
    document
}

/// Formats as `✘ REVERSED: p50 of sync/profile=wal-full: 4.00× [3.99, 4.02] ▼ before, 0.500× [0.498, 0.503] ▲ after`.
fn opposite(verdict: &Repeated) -> Marked {
    let (glyph, words, tone) = look(verdict.change);
    let name = &verdict.name;
    let of = if is_claim(verdict) { format!("claim {name}") } else { format!("{} of {name}", verdict.metric) };
    let (before, after) = (judged(&verdict.before, verdict).text, judged(&verdict.after, verdict).text);
    Marked::new(glyph, tone, format!("{words}: {of}: {before} before, {after} after"))
}

fn is_claim(verdict: &Repeated) -> bool {
    matches!(verdict.before.verdict, Judgement::Claim(_))
}

/// Formats as `of 12 verdicts: 0 REVERSED, 1 no longer decided, …`. Reversed verdicts are printed even if there are
/// none.
fn counted(verdicts: &[&Repeated]) -> String {
    let parts = Change::ALL.into_iter().filter_map(|change| {
        let n = verdicts.iter().filter(|verdict| verdict.change == change).count();
        (n > 0 || change == Change::Reversed).then(|| format!("{n} {}", look(change).1))
    });
    format!("of {}: {}", number::counted(verdicts.len() as u64, "verdict"), parts.collect::<Vec<_>>().join(", "))
}

fn look(change: Change) -> (&'static str, &'static str, Tone) {
    match change {
        Change::Reversed => ("✘", "REVERSED", Tone::Bad),
        Change::Lost => ("?", "no longer decided", Tone::Warn),
        Change::Moved => ("≠", "decided otherwise", Tone::Warn),
        Change::Gained => ("+", "newly decided", Tone::Good),
        Change::Undecided => ("~", "undecided in both", Tone::Warn),
        Change::Unchanged => ("=", "unchanged", Tone::Dim),
    }
}

fn table(first: &str, verdicts: &[&Repeated]) -> Table {
    let columns = vec![
        Column::left(first, 0),
        Column::left("durability", 0),
        Column::left("metric", 0),
        Column::left("change", 1),
        Column::right("before", 1),
        Column::right("after", 1),
    ];
    let row = |verdict: &&Repeated| {
        let (glyph, words, tone) = look(verdict.change);
        vec![
            Cell::plain(verdict.name.as_str()),
            Cell::plain(verdict.durability_pair.to_string()),
            Cell::plain(verdict.metric.to_string()),
            Cell::new(tone, format!("{glyph} {words}")),
            judged(&verdict.before, verdict),
            judged(&verdict.after, verdict),
        ]
    };
    Table { keys: 3, columns, rows: verdicts.iter().map(row).collect() }
}

/// The ratio or value, its interval, and the symbol of the verdict.
fn judged(judged: &Judged, of: &Repeated) -> Cell {
    let measured = match &judged.measured {
        Measured::Ratio(paired) => number::ratio(&paired.ratio).unwrap_or_else(|| number::needs(&paired.ratio)),
        Measured::Value(value) => number::estimate(value, of.metric.unit()),
        Measured::Nothing => number::NONE.into(),
    };
    let (glyph, tone) = match judged.verdict {
        Judgement::Comparison(verdict) => (cell::glyph(verdict), cell::tone(verdict, of.durability_pair)),
        Judgement::Claim(verdict) => {
            let (glyph, _, tone) = cell::claim(verdict);
            (glyph, tone)
        }
    };
    let tone = if of.change == Change::Unchanged { Tone::Plain } else { tone };
    Cell::new(tone, format!("{measured} {glyph}"))
}

/// Reason for which the second run does not decide any more.
fn why(verdict: &Repeated) -> Option<Marked> {
    let reason = verdict.after.reason.as_ref().filter(|_| verdict.change == Change::Lost)?;
    Some(Marked::new("?", Tone::Warn, format!("{}: {reason}", verdict.name)))
}
