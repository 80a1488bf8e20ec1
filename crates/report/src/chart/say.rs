//! Descriptions of charts in words.

use litelab_model::metric::Unit;
use litelab_stats::{Bounds, Estimate, Interval};

use super::Reading;
use crate::number;
use crate::style::Tone;

/// Number of marks that a description names; the table next to the chart has all of them.
const NAMED: usize = 10;

/// Joins the main sentence, the sentence on what is drawn, and the first marks in words.
pub(crate) fn description(summary: &str, drawn: &str, marks: impl ExactSizeIterator<Item = String>) -> String {
    let more = marks.len().saturating_sub(NAMED);
    let marks: Vec<String> = marks.take(NAMED).filter(|mark| !mark.is_empty()).collect();
    let marks = match (marks.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!("{}.", marks.join("; ")),
        (false, more) => format!("{}; and {more} more.", marks.join("; ")),
    };
    let drawn = format!("Shown: {}", drawn.trim());
    let parts = [summary.trim(), &drawn, &marks];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// CSS class of a tone.
pub(crate) fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Plain | Tone::Strong | Tone::Dim => "plain",
    }
}

/// Formats a value in its unit, and a ratio with `×`.
pub(crate) fn value(value: f64, unit: Option<Unit>) -> String {
    match unit {
        Some(unit) => number::value(value, unit),
        None if value.is_finite() => format!("{}×", number::bound(value, None)),
        None => number::NONE.into(),
    }
}

/// Formats a value with its interval.
pub(crate) fn reading(reading: &Reading, unit: Option<Unit>) -> String {
    let middle = value(reading.value, unit);
    match reading.range.map(|(low, high)| (closed(low), closed(high))) {
        Some((Some(low), Some(high))) => format!("{middle} [{}, {}]", value(low, unit), value(high, unit)),
        Some((Some(low), None)) => format!("{middle} [at least {}]", value(low, unit)),
        Some((None, Some(high))) => format!("{middle} [at most {}]", value(high, unit)),
        Some((None, None)) => format!("{middle} [open]"),
        None => middle,
    }
}

/// Formats a ratio, whose low end is open at 0, in the form of all other ratios; else as [`reading`].
pub(crate) fn ratio(of: &Reading) -> String {
    let range = of.range.map(|(low, high)| (if low > 0.0 { low } else { f64::NEG_INFINITY }, high));
    let interval = range.and_then(|(low, high)| Interval::new(low, high, 1.0).ok());
    let known = interval.map(|interval| Estimate { value: of.value, n: 0, bounds: Bounds::Interval(interval) });
    known.and_then(|known| number::ratio(&known)).unwrap_or_else(|| reading(&Reading { value: of.value, range }, None))
}

fn closed(end: f64) -> Option<f64> {
    end.is_finite().then_some(end)
}
