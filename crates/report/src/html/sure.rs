//! How sure the answers are: what is decided, what identical variants differ by, and the command that tries again.

use litelab_record::RunInfo;
use litelab_stats::Verdict;
use maud::{Markup, html};

use super::line;
use crate::analysis::{Analysis, Noise};
use crate::command;
use crate::document::clean;
use crate::number;

pub(super) fn section(analysis: &Analysis, info: &RunInfo) -> Markup {
    let cells = || analysis.scenarios.iter().flat_map(|s| &s.comparisons);
    let open =
        cells().filter(|of| of.metrics.iter().all(|m| matches!(m.verdict, Verdict::Inconclusive { .. }))).count();
    let undecided = || analysis.scenarios.iter().filter_map(|s| Some((s, s.answer.undecided.as_ref()?)));
    let rounds = undecided().filter_map(|(_, undecided)| undecided.rounds).max();
    html! {
        details #sure {
            summary { h2 { "How sure is this?" } }
            p {
                "Variants are compared inside each round, and all ratios of a scenario hold together at 95 %. "
                @if cells().next().is_some() {
                    (open) " of " (number::counted(cells().count() as u64, "comparison")) " with a baseline " (if open == 1 { "is" } else { "are" })
                    " undecided, which does not make those variants alike. "
                }
                (noise(analysis))
            }
            @if undecided().next().is_some() {
                ul { @for (scenario, undecided) in undecided() { li { b { (clean(&scenario.name)) } ": " (line(&undecided.text)) "." } } }
            }
            p {
                "Try to refute it, with other random values: "
                code { "litelab repeat " (command::file(info)) @if let Some(rounds) = rounds { " --rounds " (rounds) } }
                ", which lists every verdict that changes."
            }
        }
    }
}

/// Result of the A/A checks in a sentence.
fn noise(analysis: &Analysis) -> Markup {
    let checks: Vec<_> = analysis.scenarios.iter().flat_map(|s| s.aa.iter().map(move |check| (s, check))).collect();
    let found = checks.iter().filter(|(_, check)| check.noise == Noise::False);
    let names: Vec<String> =
        found.map(|(s, check)| format!("{} ({})", clean(&s.name), check.comparison.metric)).collect();
    html! {
        @if checks.is_empty() {
            "No variant was run twice: with " code { "--aa" } " two identical variants show what this machine takes for a difference."
        } @else if checks.iter().all(|(_, check)| check.noise == Noise::Unknown) {
            "What two identical variants differ by is not known: too few rounds."
        } @else if names.is_empty() {
            "Two identical variants, run side by side, were not told apart."
        } @else {
            b { "Two identical variants already differ in " (names.join(", ")) ": its verdicts are in doubt." }
        }
    }
}
