//! Charts in words.

use litelab_model::metric::Unit;

use super::Reading;
use crate::number;
use crate::style::Tone;

/// Marks that a description names; a table beside the picture has them all.
const NAMED: usize = 10;

/// The main sentence, what is drawn, and the first marks in words.
pub(super) fn description(summary: &str, drawn: &str, marks: impl ExactSizeIterator<Item = String>) -> String {
    let more = marks.len().saturating_sub(NAMED);
    let marks: Vec<String> = marks.take(NAMED).filter(|mark| !mark.is_empty()).collect();
    let marks = match (marks.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!("{}.", marks.join("; ")),
        (false, more) => format!("{}; and {more} more.", marks.join("; ")),
    };
    let drawn = capital(drawn.trim());
    let parts = [summary.trim(), &drawn, &marks];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn capital(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}

/// Class of a tone.
pub(super) fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Plain | Tone::Strong | Tone::Dim => "plain",
    }
}

/// A value in its unit; a ratio without one.
pub(super) fn value(value: f64, unit: Option<Unit>) -> String {
    match unit {
        Some(unit) => number::value(value, unit),
        None if value.is_finite() => format!("{}×", number::bound(value, None)),
        None => number::NONE.into(),
    }
}

/// A value with its interval.
pub(super) fn reading(reading: &Reading, unit: Option<Unit>) -> String {
    let middle = value(reading.value, unit);
    match reading.range.map(|(low, high)| (closed(low), closed(high))) {
        Some((Some(low), Some(high))) => format!("{middle} [{}, {}]", value(low, unit), value(high, unit)),
        Some((Some(low), None)) => format!("{middle} [at least {}]", value(low, unit)),
        Some((None, Some(high))) => format!("{middle} [at most {}]", value(high, unit)),
        Some((None, None)) => format!("{middle} [open]"),
        None => middle,
    }
}

/// As [`reading`], for a ratio, whose low end is open at 0.
pub(super) fn ratio(of: &Reading) -> String {
    let range = of.range.map(|(low, high)| (if low > 0.0 { low } else { f64::NEG_INFINITY }, high));
    match range.map(|(low, high)| (closed(low), closed(high))) {
        Some((Some(low), Some(high))) => {
            let places = usize::from(of.value < 100.0) + usize::from(of.value < 10.0);
            let places = if (high - low).abs() < 0.01 { 4 } else { places };
            let near =
                |x: f64| if (0.01..1000.0).contains(&x) { format!("{x:.places$}") } else { number::bound(x, None) };
            format!("{}× [{}, {}]", near(of.value), near(low), near(high))
        }
        _ => reading(&Reading { value: of.value, range }, None),
    }
}

fn closed(end: f64) -> Option<f64> {
    end.is_finite().then_some(end)
}
