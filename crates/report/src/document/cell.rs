//! Estimates, ratios and verdicts as cells and words.

use litelab_model::metric::{Measure, Metric, Unit};
use litelab_stats::{ClaimVerdict, Estimate, Verdict};

use super::table::Cell;
use crate::analysis::Footing;
use crate::number;
use crate::style::Tone;

/// A median and its interval, `[?]` where there are too few blocks.
pub(super) fn estimate(estimate: Option<&Estimate>, metric: &Metric) -> Cell {
    match estimate {
        Some(estimate) => Cell::plain(number::estimate(estimate, metric.measure.unit())),
        None => Cell::new(Tone::Dim, number::NONE),
    }
}

/// A ratio with its interval and the verdict's glyph; never without an interval.
pub(super) fn ratio(ratio: Option<&Estimate>, verdict: Verdict, footing: Footing) -> Cell {
    let Some(ratio) = ratio else { return Cell::new(Tone::Dim, number::NONE) };
    match number::ratio(ratio) {
        Some(text) => Cell::new(tone(verdict, footing), format!("{text} {}", glyph(verdict))),
        None => Cell::new(Tone::Warn, number::needs(ratio)),
    }
}

pub(super) fn glyph(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "▲",
        Verdict::Slower => "▼",
        Verdict::Equivalent => "≈",
        Verdict::Inconclusive { .. } => "~",
    }
}

/// Safety comes first: what keeps less than the other is not good, however fast, and what keeps more is not bad.
pub(crate) fn tone(verdict: Verdict, footing: Footing) -> Tone {
    match verdict {
        Verdict::Faster | Verdict::Equivalent if footing.is_loss() => Tone::Warn,
        Verdict::Faster => Tone::Good,
        Verdict::Slower if footing.is_gain() => Tone::Plain,
        Verdict::Slower => Tone::Bad,
        Verdict::Equivalent if footing.is_gain() => Tone::Good,
        Verdict::Equivalent => Tone::Plain,
        Verdict::Inconclusive { .. } => Tone::Warn,
    }
}

/// `▲ faster`, `▼ more CPU`, `≈ equivalent`, `~ 12 more blocks`.
pub(crate) fn verdict(verdict: Verdict, metric: &Metric) -> String {
    let (better, worse) = match (metric.measure, metric.measure.unit()) {
        (Measure::Cpu, _) => ("less CPU", "more CPU"),
        (_, Unit::PerSecond | Unit::Nanos) => ("faster", "slower"),
        (_, Unit::Bytes) => ("smaller", "larger"),
        (_, Unit::Share) => ("better", "worse"),
        (_, Unit::Count) => ("fewer", "more"),
    };
    let word = match verdict {
        Verdict::Faster => better.to_owned(),
        Verdict::Slower => worse.to_owned(),
        Verdict::Equivalent => "equivalent".to_owned(),
        Verdict::Inconclusive { blocks_needed } => more(blocks_needed),
    };
    format!("{} {word}", glyph(verdict))
}

/// `12 more blocks`.
pub(super) fn more(blocks: Option<u32>) -> String {
    match blocks {
        Some(n) if n < 100_000 => number::counted(n, "more block"),
        Some(_) => "over 100000 more blocks".into(),
        None => "inconclusive".into(),
    }
}

pub(super) fn claim(verdict: ClaimVerdict) -> (&'static str, &'static str, Tone) {
    match verdict {
        ClaimVerdict::Holds => ("✔", "HOLDS", Tone::Good),
        ClaimVerdict::Contradicted => ("✘", "CONTRADICTED", Tone::Bad),
        ClaimVerdict::Inconclusive { .. } => ("?", "INCONCLUSIVE", Tone::Warn),
    }
}

/// Raised digits: the mark of a footnote.
pub(super) fn raised(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().chars().filter_map(|c| DIGITS.get(c.to_digit(10)? as usize)).collect()
}
