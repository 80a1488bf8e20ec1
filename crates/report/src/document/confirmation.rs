//! Document of regressions that ran again.

use litelab_stats::Verdict;

use super::table::{Cell, Column, Table};
use super::{Document, Marked, cell};
use crate::compare::confirm::ConfirmRow;
use crate::compare::{Confirmation, Pairing};
use crate::number;
use crate::style::Tone;

/// Renders a confirmation.
#[must_use]
pub fn of_confirmation(confirmation: &Confirmation) -> Document {
    let mut document = Document::default();
    document.heading("Confirmation", "what was slower is run again before it counts");
    if let Some(run) = &confirmation.run {
        let rounds = number::counted(confirmation.rounds, "round");
        document.text(Tone::Dim, format!("{run} · {rounds} · each ratio at 95 % by itself"));
    }
    if !confirmation.rows.is_empty() {
        document.table(table(confirmation));
    }
    let impossible = confirmation.impossible.iter();
    document.marked(
        impossible
            .map(|(name, why)| Marked::new("?", Tone::Warn, format!("{name} could not be confirmed: {why}")))
            .collect(),
    );
    document.marked(confirmation.notes.iter().map(|note| Marked::new("!", Tone::Warn, note.as_str())).collect());
    let (tone, text) = summary(confirmation);
    document.text(tone, text);
    document
}

fn table(confirmation: &Confirmation) -> Table {
    let columns = vec![
        Column::left("variant", 0),
        Column::left("durability", 0),
        Column::left("metric", 0),
        Column::right("first", 1),
        Column::right("again", 1),
        Column::left("run again", 2),
        Column::left("verdict", 2),
    ];
    let row = |ConfirmRow { first, again, pairing }: &ConfirmRow| {
        let word = match again.verdict {
            Verdict::Slower => "▼ confirmed",
            Verdict::Faster => "▲ the opposite",
            Verdict::Equivalent => "≈ not shown again: equivalent",
            Verdict::Inconclusive { .. } => "~ not shown again",
        };
        vec![
            Cell::plain(again.name.as_str()),
            Cell::plain(again.durability_pair.to_string()),
            Cell::plain(again.metric.to_string()),
            cell::ratio(first.as_ref(), Verdict::Slower, again.durability_pair),
            cell::ratio(again.ratio.as_ref().ok(), again.verdict, again.durability_pair),
            Cell::plain(match pairing {
                Pairing::Rounds => "base and head",
                Pairing::None => "head alone",
            }),
            Cell::new(cell::tone(again.verdict, again.durability_pair), word),
        ]
    };
    Table { keys: 3, columns, rows: confirmation.rows.iter().map(row).collect() }
}

fn summary(confirmation: &Confirmation) -> (Tone, String) {
    let (confirmed, all) = (confirmation.confirmed(), confirmation.rows.len());
    let variants = number::counted(confirmation.impossible.len() as u64, "variant");
    let unknown = match confirmation.impossible.len() {
        0 => String::new(),
        _ => format!("; {variants} could not be looked at again"),
    };
    match (confirmed, all) {
        (0, 0) => (Tone::Warn, "no regression could be confirmed or refuted".into()),
        (0, _) => (
            if unknown.is_empty() { Tone::Good } else { Tone::Warn },
            format!(
                "none of {} showed itself again: it was noise or drift, or is too small for these rounds{unknown}",
                number::counted(all as u64, "regression")
            ),
        ),
        (n, _) => (Tone::Bad, format!("{n} of {} confirmed{unknown}", number::counted(all as u64, "regression"))),
    }
}
