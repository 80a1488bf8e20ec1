//! Document of claims with their verdicts.

use litelab_model::claim::Origin;
use litelab_model::metric::Unit;
use litelab_stats::ClaimVerdict;

use super::{Document, Element, cell};
use crate::analysis::{Analysis, ClaimResult, Measured, Tally};
use crate::number;
use crate::style::Tone;

/// A claim as printed.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimElement {
    /// Symbol of the verdict: `✔`, `✘` or `?`.
    pub glyph: &'static str,
    /// Word of the verdict: `HOLDS`, `CONTRADICTED` or `INCONCLUSIVE`.
    pub word: &'static str,
    /// Tone of symbol and word.
    pub tone: Tone,
    /// Whose statement it is.
    pub origin: Origin,
    /// The statement as it is judged.
    pub text: String,
    /// Words of the source with their place; empty for a statement of the study's own.
    pub quote: String,
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

/// Adds the claims with their heading, if there are any.
pub(crate) fn add(document: &mut Document, analysis: &Analysis) {
    if analysis.claims.is_empty() {
        return;
    }
    document.heading("Claims", &counts(analysis));
    document.elements.extend(tables(analysis));
}

/// Numbers of claims by their verdicts, apart for each origin.
pub(crate) fn counts(analysis: &Analysis) -> String {
    let of = |(origin, tally): (Origin, Tally)| {
        let Tally { holds, contradicted, inconclusive } = tally;
        format!("{}: holds {holds} · contradicted {contradicted} · inconclusive {inconclusive}", origin.name())
    };
    let mut parts: Vec<String> = analysis.tally().into_iter().map(of).collect();
    if !analysis.left_out.is_empty() {
        parts.push(format!("left out by --quick: {}", analysis.left_out.len()));
    }
    parts.join("; ")
}

/// The claims of each origin, below a line that says whose they are.
pub(crate) fn tables(analysis: &Analysis) -> Vec<Element> {
    let claims = listed(analysis);
    let of = |origin: Origin| claims.iter().filter(|claim| claim.origin == origin).cloned().collect::<Vec<_>>();
    let groups = Origin::ALL.into_iter().map(|origin| (origin, of(origin))).filter(|(_, claims)| !claims.is_empty());
    groups.flat_map(|(origin, claims)| [Element::Text(Tone::Strong, whose(origin)), Element::Claims(claims)]).collect()
}

fn whose(origin: Origin) -> String {
    match origin {
        Origin::Source => "source: results that the source states",
        Origin::Advice => "advice: what the source recommends or expects, and did not measure",
        Origin::Own => "own: claims of this study",
    }
    .into()
}

/// All claims, by origin and then in the order of the plan.
pub(super) fn listed(analysis: &Analysis) -> Vec<ClaimElement> {
    let mut claims: Vec<ClaimElement> = analysis.claims.iter().map(|claim| element(claim, analysis)).collect();
    claims.sort_by_key(|claim| claim.origin);
    claims
}

fn element(claim: &ClaimResult, analysis: &Analysis) -> ClaimElement {
    let plan = &claim.plan;
    let (glyph, word, tone) = cell::claim(claim.verdict);
    let unit = plan.metric.unit();
    let mut measured = measured(&claim.measured, unit);
    if let (Measured::Value(_), Some(events)) = (&claim.measured, claim.events) {
        measured += &format!(", {} in {} transactions", events.count, events.of);
    }
    if let Some(metric) = plan.beside.as_ref().filter(|_| claim.shown_beside != Measured::Nothing) {
        measured += &format!("; {metric}: {}", self::measured(&claim.shown_beside, metric.unit()));
    }
    let bound = |b: f64| number::bound(b, plan.against.is_none().then_some(unit));
    let what = if plan.against.is_some() { "ratio " } else { "" };
    let asked = match (plan.at_least, plan.at_most) {
        (Some(low), Some(high)) => format!("{what}{} to {}", bound(low), bound(high)),
        (Some(low), None) => format!("{what}≥ {}", bound(low)),
        (None, Some(high)) => format!("{what}≤ {}", bound(high)),
        (None, None) => String::new(),
    };
    let (variant, against) = &claim.variants;
    let against = match (&plan.against_metric, against) {
        (Some(other), Some(against)) if against == variant => format!(" over its {other}"),
        (Some(other), Some(against)) => format!(" over {other} of {against}"),
        (None, Some(against)) => format!(" over {against}"),
        (_, None) => String::new(),
    };
    let quote = match plan.quote.as_str() {
        "" => String::new(),
        quote => format!("“{quote}” ({})", plan.place),
    };
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
        glyph,
        word,
        tone,
        origin: plan.origin,
        text: plan.text.clone(),
        quote,
        measured: if measured.is_empty() { number::NONE.into() } else { measured },
        asked,
        about: format!("{} of {variant}{against} · {durability_pair}", plan.metric),
        reason,
        note: plan.note.clone(),
    }
}

fn measured(measured: &Measured, unit: Unit) -> String {
    match measured {
        Measured::Ratio(paired) => number::ratio(&paired.ratio).unwrap_or_default(),
        Measured::Value(estimate) => number::sentence(estimate, unit),
        Measured::Nothing => String::new(),
    }
}
