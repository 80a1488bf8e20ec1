//! Cells and words of estimates, ratios and verdicts.

use litelab_model::metric::{Measure, Metric, Unit};
use litelab_stats::{ClaimVerdict, Estimate, Verdict};

use super::table::Cell;
use crate::analysis::{DurabilityPair, VariantAnalysis};
use crate::number;
use crate::style::Tone;

/// A median with its interval, or with `[?]` if there are too few rounds.
pub(super) fn estimate(estimate: Option<&Estimate>, metric: &Metric) -> Cell {
    match estimate {
        Some(estimate) => Cell::plain(number::estimate(estimate, metric.unit())),
        None => Cell::new(Tone::Dim, number::NONE),
    }
}

/// The [`estimate`] of a variant; `max of 34: 157 ms [150, 171]` if there are too few observations for a quantile.
pub(super) fn of_variant(variant: &VariantAnalysis, metric: &Metric) -> Cell {
    let Cell { text, tone } = estimate(variant.estimate(metric), metric);
    Cell::new(tone, max_of(variant, metric) + &text)
}

/// Prefix `max of 34: ` of a value that is the longest instead of a quantile; otherwise empty.
pub(crate) fn max_of(variant: &VariantAnalysis, metric: &Metric) -> String {
    variant.metrics.get(metric).and_then(|values| values.max_of).map_or_else(String::new, |n| format!("max of {n}: "))
}

/// A ratio with its interval and the symbol of its verdict; without an interval, the number of rounds that it needs.
pub(super) fn ratio(ratio: Option<&Estimate>, verdict: Verdict, durability_pair: DurabilityPair) -> Cell {
    let Some(ratio) = ratio else { return Cell::new(Tone::Dim, number::NONE) };
    match number::ratio(ratio) {
        Some(text) => Cell::new(tone(verdict, durability_pair), format!("{text} {}", glyph(verdict))),
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

/// Tone of a verdict, where safety comes first: a variant with a lower or unknown durability level is not good, however
/// fast, and one with a higher level is not bad.
pub(crate) fn tone(verdict: Verdict, durability_pair: DurabilityPair) -> Tone {
    match verdict {
        Verdict::Faster | Verdict::Equivalent if durability_pair.is_loss() => Tone::Warn,
        Verdict::Faster if durability_pair.variant.is_none() => Tone::Warn,
        Verdict::Faster => Tone::Good,
        Verdict::Slower if durability_pair.is_gain() => Tone::Plain,
        Verdict::Slower => Tone::Bad,
        Verdict::Equivalent if durability_pair.is_gain() => Tone::Good,
        Verdict::Equivalent => Tone::Plain,
        Verdict::Inconclusive { .. } => Tone::Warn,
    }
}

/// Formats a verdict as `▲ faster`, `▼ more CPU`, `≈ equivalent`, `~ 12 more rounds`.
pub(crate) fn verdict(verdict: Verdict, metric: &Metric) -> String {
    let (better, worse) = match (metric.measure, metric.unit()) {
        (Measure::Cpu, _) => ("less CPU", "more CPU"),
        (_, Unit::PerSecond | Unit::Nanos) => ("faster", "slower"),
        (_, Unit::Bytes) => ("smaller", "larger"),
        (_, Unit::Share) => ("better", "worse"),
        (_, Unit::Count | Unit::PerTransaction) => ("fewer", "more"),
    };
    let word = match verdict {
        Verdict::Faster => better.to_owned(),
        Verdict::Slower => worse.to_owned(),
        Verdict::Equivalent => "equivalent".to_owned(),
        Verdict::Inconclusive { rounds_needed } => more(rounds_needed),
    };
    format!("{} {word}", glyph(verdict))
}

/// Formats as `12 more rounds`.
fn more(rounds: Option<u32>) -> String {
    rounds.map_or_else(|| "inconclusive".into(), |n| number::counted(n, "more round"))
}

pub(super) fn claim(verdict: ClaimVerdict) -> (&'static str, &'static str, Tone) {
    match verdict {
        ClaimVerdict::Holds => ("✔", "HOLDS", Tone::Good),
        ClaimVerdict::Contradicted => ("✘", "CONTRADICTED", Tone::Bad),
        ClaimVerdict::Inconclusive { .. } => ("?", "INCONCLUSIVE", Tone::Warn),
    }
}

/// Superscript digits, the mark of a footnote.
pub(super) fn raised(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().chars().filter_map(|c| DIGITS.get(c.to_digit(10)? as usize)).collect()
}

#[cfg(test)]
mod tests {
    use litelab_model::durability::Durability::{self, D2, D3, D4};

    use super::*;

    fn durability_pair(
        against: impl Into<Option<Durability>>,
        variant: impl Into<Option<Durability>>,
    ) -> DurabilityPair {
        DurabilityPair { against: against.into(), variant: variant.into() }
    }

    #[test]
    fn colour_follows_safety_first() {
        let open = Verdict::Inconclusive { rounds_needed: None };
        for (durability_pair, expected) in [
            (durability_pair(D4, D4), [Tone::Good, Tone::Bad, Tone::Plain, Tone::Warn]),
            (durability_pair(D4, D2), [Tone::Warn, Tone::Bad, Tone::Warn, Tone::Warn]),
            (durability_pair(D2, D4), [Tone::Good, Tone::Plain, Tone::Good, Tone::Warn]),
            (durability_pair(D4, None), [Tone::Warn, Tone::Bad, Tone::Plain, Tone::Warn]),
        ] {
            let tones = [Verdict::Faster, Verdict::Slower, Verdict::Equivalent, open].map(|v| tone(v, durability_pair));
            assert_eq!(tones, expected, "{durability_pair}");
        }
    }

    #[test]
    fn what_is_given_up_is_said() {
        let said = |against: Durability, variant: Durability| durability_pair(against, variant).difference();
        assert_eq!(said(D3, D2).as_deref(), Some("gives up the last commits at a power loss"));
        assert_eq!(said(D2, D4).as_deref(), Some("keeps the last commits at a power loss"));
        assert_eq!(said(D4, Durability::D1).as_deref(), Some("gives up a sound database at a power loss"));
        assert_eq!(said(D4, D4), None);
        assert_eq!(durability_pair(D4, D4).to_string(), "safe");
        assert!(durability_pair(D4, None).difference().is_some_and(|said| said.contains("not known (safe → ?)")));
    }
}
