//! Document of claims with their verdicts.

use litelab_stats::ClaimVerdict;

use super::{Document, Element, cell};
use crate::analysis::{Analysis, ClaimResult, Measured};
use crate::number;
use crate::style::Tone;

/// A claim as printed.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimElement {
    /// Symbol of the verdict: `✔`, `✘` or `?`.
    pub glyph: String,
    /// Word of the verdict: `HOLDS`, `CONTRADICTED` or `INCONCLUSIVE`.
    pub word: String,
    /// Tone of symbol and word.
    pub tone: Tone,
    /// Published sentence.
    pub text: String,
    /// Figures of the source; may be empty.
    pub published: String,
    /// Measured value with its interval.
    pub measured: String,
    /// Bounds of the claim.
    pub asked: String,
    /// Metric, variants and durability levels of the comparison.
    pub about: String,
    /// Reason for which the claim is open; may be empty.
    pub reason: String,
    /// Note for the reader; may be empty.
    pub note: String,
}

pub(super) fn add(document: &mut Document, analysis: &Analysis) {
    if analysis.claims.is_empty() {
        return;
    }
    document.heading("Claims", &counts(analysis));
    document.elements.push(listed(analysis));
}

/// Numbers of claims by their verdicts.
pub(super) fn counts(analysis: &Analysis) -> String {
    let count = |which: fn(&ClaimVerdict) -> bool| analysis.claims.iter().filter(|c| which(&c.verdict)).count();
    let mut beside = format!(
        "holds {} · contradicted {} · inconclusive {}",
        count(|v| *v == ClaimVerdict::Holds),
        count(|v| *v == ClaimVerdict::Contradicted),
        count(|v| matches!(v, ClaimVerdict::Inconclusive { .. }))
    );
    if !analysis.left_out.is_empty() {
        beside += &format!(" · left out by --quick {}", analysis.left_out.len());
    }
    beside
}

pub(super) fn listed(analysis: &Analysis) -> Element {
    Element::Claims(analysis.claims.iter().map(|claim| element(claim, analysis)).collect())
}

fn element(claim: &ClaimResult, analysis: &Analysis) -> ClaimElement {
    let plan = &claim.plan;
    let (glyph, word, tone) = cell::claim(claim.verdict);
    let unit = plan.metric.unit();
    let measured = match &claim.measured {
        Measured::Ratio(paired) => number::ratio(&paired.ratio).unwrap_or_default(),
        Measured::Value(estimate) => {
            let counts = claim.events.map_or_else(String::new, |e| format!(", {} in {} transactions", e.count, e.of));
            format!("{}{counts}", number::sentence(estimate, unit))
        }
        Measured::Nothing => String::new(),
    };
    let bound = |b: f64| number::bound(b, plan.against.is_none().then_some(unit));
    let what = if plan.against.is_some() { "ratio " } else { "" };
    let asked = match (plan.at_least, plan.at_most) {
        (Some(low), Some(high)) => format!("{what}{} to {}", bound(low), bound(high)),
        (Some(low), None) => format!("{what}≥ {}", bound(low)),
        (None, Some(high)) => format!("{what}≤ {}", bound(high)),
        (None, None) => String::new(),
    };
    let (variant, against) = &claim.variants;
    let against = against.as_ref().map(|a| format!(" over {a}")).unwrap_or_default();
    let durability_pair = analysis.durability_pair(plan.variant, plan.against.unwrap_or(plan.variant));
    let durability_pair = durability_pair.difference().unwrap_or_else(|| format!("durability {durability_pair}"));
    let mut reason = claim.reason.clone().unwrap_or_default();
    match claim.verdict {
        ClaimVerdict::Inconclusive { rounds_needed: Some(rounds) } => {
            let more = format!("likely to take {}", number::counted(rounds, "more round"));
            reason = if reason.is_empty() { more } else { format!("{reason}; {more}") };
        }
        ClaimVerdict::Inconclusive { rounds_needed: None } if reason.is_empty() => {
            reason = "no number of rounds worth running would decide this".into();
        }
        _ => {}
    }
    ClaimElement {
        glyph: glyph.into(),
        word: word.into(),
        tone,
        text: plan.text.clone(),
        published: plan.published.clone(),
        measured: if measured.is_empty() { number::NONE.into() } else { measured },
        asked,
        about: format!("{} of {variant}{against} · {durability_pair}", plan.metric),
        reason,
        note: plan.note.clone(),
    }
}
