//! Document of claims with their verdicts.

use litelab_stats::ClaimVerdict;

use super::{Block, Document, cell};
use crate::analysis::{Analysis, ClaimResult, Measured};
use crate::number;
use crate::style::Tone;

/// A claim as printed.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimBlock {
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
    /// Metric, arms and durability levels of the comparison.
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
    document.heading("Claims", &beside);
    document.blocks.push(listed(analysis));
}

pub(super) fn listed(analysis: &Analysis) -> Block {
    Block::Claims(analysis.claims.iter().map(|claim| block(claim, analysis)).collect())
}

fn block(claim: &ClaimResult, analysis: &Analysis) -> ClaimBlock {
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
    let (arm, against) = &claim.arms;
    let against = against.as_ref().map(|a| format!(" over {a}")).unwrap_or_default();
    let footing = analysis.footing(plan.arm, plan.against.unwrap_or(plan.arm));
    let footing = footing.difference().unwrap_or_else(|| format!("durability {footing}"));
    let mut reason = claim.reason.clone().unwrap_or_default();
    match claim.verdict {
        ClaimVerdict::Inconclusive { blocks_needed: Some(blocks) } => {
            let more = format!("likely to take {}", number::counted(blocks, "more block"));
            reason = if reason.is_empty() { more } else { format!("{reason}; {more}") };
        }
        ClaimVerdict::Inconclusive { blocks_needed: None } if reason.is_empty() => {
            reason = "no number of blocks worth running would decide this".into();
        }
        _ => {}
    }
    ClaimBlock {
        glyph: glyph.into(),
        word: word.into(),
        tone,
        text: plan.text.clone(),
        published: plan.published.clone(),
        measured: if measured.is_empty() { number::NONE.into() } else { measured },
        asked,
        about: format!("{} of {arm}{against} · {footing}", plan.metric),
        reason,
        note: plan.note.clone(),
    }
}
