//! A study run twice: how many verdicts stand, and each of them before and after.

use super::table::{Cell, Column, Table};
use super::{Block, Document, Marked, cell};
use crate::number;
use crate::repeat::{About, Change, Judged, Judgement, Quantity, Repeated, Repetition};
use crate::style::Tone;

/// A repetition.
#[must_use]
pub fn of_repetition(repetition: &Repetition) -> Document {
    let mut document = Document::default();
    document.blocks.push(Block::Title("Repetition".into()));
    let facts = [("before", &repetition.before), ("after", &repetition.after)];
    document.blocks.push(Block::Facts(facts.map(|(name, value)| (name.to_owned(), value.clone())).to_vec()));
    let unlike = repetition.unlike.iter().map(|difference| format!("unlike: {difference}"));
    let seeds = repetition.seeds.map(|(before, after)| format!("the seed was {before} and is {after}"));
    document.marked(unlike.chain(seeds).map(|text| Marked::new("!", Tone::Warn, text)).collect());
    document.text(
        Tone::Dim,
        "each verdict is that of its own run, from its own blocks: ratio or value [its interval] and what it shows",
    );
    let reversed = repetition.verdicts.iter().filter(|verdict| verdict.change == Change::Reversed);
    document.marked(reversed.map(opposite).collect());
    let (claims, comparisons): (Vec<&Repeated>, Vec<&Repeated>) =
        repetition.verdicts.iter().partition(|verdict| matches!(verdict.about, About::Claim(_)));
    for (title, first, verdicts) in [("Claims", "claim", claims), ("Comparisons", "arm", comparisons)] {
        if !verdicts.is_empty() {
            document.heading(title, &counted(verdicts.len(), |change| count(&verdicts, change)));
            document.blocks.push(Block::Table(table(first, &verdicts)));
            document.marked(verdicts.iter().filter_map(|verdict| why(verdict)).collect());
        }
    }
    let all = counted(repetition.verdicts.len(), |change| repetition.count(change));
    let (glyph, _, tone) = look(worst(repetition));
    document.marked(vec![Marked::new(glyph, tone, all)]);
    document
}

/// `✘ REVERSED: p50 of sync/profile=wal-full: 4.00× [3.99, 4.02] ▼ before, 0.500× [0.498, 0.503] ▲ after`.
fn opposite(verdict: &Repeated) -> Marked {
    let (glyph, words, tone) = look(verdict.change);
    let of = match &verdict.about {
        About::Comparison(arm) => format!("{} of {arm}", verdict.metric),
        About::Claim(claim) => format!("claim {claim}"),
    };
    let (before, after) = (judged(&verdict.before, verdict).text, judged(&verdict.after, verdict).text);
    Marked::new(glyph, tone, format!("{words}: {of}: {before} before, {after} after"))
}

fn count(verdicts: &[&Repeated], change: Change) -> usize {
    verdicts.iter().filter(|verdict| verdict.change == change).count()
}

/// `of 12 verdicts: 0 REVERSED, 1 no longer decided, …`; what must not be is said even where there is none.
fn counted(all: usize, count: impl Fn(Change) -> usize) -> String {
    let parts = Change::ALL.into_iter().filter_map(|change| {
        let n = count(change);
        (n > 0 || change == Change::Reversed).then(|| format!("{n} {}", change.words()))
    });
    format!("of {}: {}", number::counted(all as u64, "verdict"), parts.collect::<Vec<_>>().join(", "))
}

/// The most telling change there is.
fn worst(repetition: &Repetition) -> Change {
    repetition.verdicts.iter().map(|verdict| verdict.change).min().unwrap_or(Change::Unchanged)
}

fn look(change: Change) -> (&'static str, &'static str, Tone) {
    match change {
        Change::Reversed => ("✘", change.words(), Tone::Bad),
        Change::Lost => ("?", change.words(), Tone::Warn),
        Change::Moved => ("≠", change.words(), Tone::Warn),
        Change::Gained => ("+", change.words(), Tone::Good),
        Change::Unchanged => ("=", change.words(), Tone::Dim),
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
        let (About::Comparison(name) | About::Claim(name)) = &verdict.about;
        let (glyph, words, tone) = look(verdict.change);
        vec![
            Cell::plain(name),
            Cell::plain(verdict.footing.to_string()),
            Cell::plain(verdict.metric.to_string()),
            Cell::new(tone, format!("{glyph} {words}")),
            judged(&verdict.before, verdict),
            judged(&verdict.after, verdict),
        ]
    };
    Table { keys: 3, columns, rows: verdicts.iter().map(row).collect() }
}

/// The quantity, its interval, and the verdict's glyph.
fn judged(judged: &Judged, of: &Repeated) -> Cell {
    let measured = match &judged.measured {
        Quantity::Ratio(ratio) => number::ratio(ratio).unwrap_or_else(|| number::needs(ratio)),
        Quantity::Value(value) => number::estimate(value, of.metric.measure.unit()),
        Quantity::Nothing => number::NONE.into(),
    };
    let (glyph, tone) = match judged.verdict {
        Judgement::Comparison(verdict) => (cell::glyph(verdict), cell::tone(verdict, of.footing)),
        Judgement::Claim(verdict) => {
            let (glyph, _, tone) = cell::claim(verdict);
            (glyph, tone)
        }
    };
    let tone = if of.change == Change::Unchanged { Tone::Plain } else { tone };
    Cell::new(tone, format!("{measured} {glyph}"))
}

/// Why a verdict is not there any more.
fn why(verdict: &Repeated) -> Option<Marked> {
    let (About::Comparison(name) | About::Claim(name)) = &verdict.about;
    let reason = verdict.after.reason.as_ref().filter(|_| verdict.change == Change::Lost)?;
    Some(Marked::new("?", Tone::Warn, format!("{name}: {reason}")))
}
