//! Descriptions of charts in words.

use litelab_model::metric::Unit;

use super::Reading;
use crate::number;

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

fn closed(end: f64) -> Option<f64> {
    end.is_finite().then_some(end)
}
