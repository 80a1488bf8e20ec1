//! First screen of a page: the answer, the claims, the environment, and what would contradict the answer.

use litelab_record::RunInfo;
use litelab_stats::{ClaimVerdict, Verdict};
use maud::{Markup, html};

use super::element::{self, IdScope};
use super::{baseline, falsify, line, name};
use crate::analysis::{Analysis, MetricComparison, ScenarioAnalysis, VariantComparison};
use crate::document::{self, Element, Part, clean, verdict_words};
use crate::number;

/// Number of variants that a sentence names.
const NAMED: usize = 3;

pub(super) fn screen(analysis: &Analysis, info: &RunInfo) -> Markup {
    let header = document::of_part(&Part::Header, analysis, info);
    // The page has the title at its top already.
    let elements = header.elements.split_first().map_or(&[][..], |(_, rest)| rest);
    let document::Document { elements: claims } = document::of_claims(analysis);
    html! {
        div.first {
            div.main {
                section #answer aria-labelledby="answer-h" {
                    h2 #answer-h { "Answer" }
                    (answer(analysis))
                }
                @if let ([Element::Claims(claims)], false) = (claims.as_slice(), analysis.claims.is_empty()) {
                    section #claims aria-labelledby="claims-h" {
                        h2 #claims-h { "Claims examined" }
                        p.question { (counts(analysis)) }
                        (element::claims(claims))
                    }
                }
            }
            div.side {
                section #environment aria-labelledby="environment-h" {
                    h2 #environment-h { "Environment" }
                    (element::all(elements, IdScope { id: "environment", name: "the environment" }))
                }
                section #falsify aria-labelledby="falsify-h" {
                    h2 #falsify-h { "What would falsify this" }
                    (falsify::list(analysis, info))
                }
            }
        }
    }
}

/// The findings of the study, then one sentence for the verdicts of each scenario.
fn answer(analysis: &Analysis) -> Markup {
    html! {
        @if !analysis.findings.is_empty() {
            ul.findings { @for finding in &analysis.findings { li { (line(finding)) } } }
        }
        ul.verdicts {
            @for (at, scenario) in analysis.scenarios.iter().enumerate() {
                li { a href={ "#s" (at + 1) } { (clean(&scenario.name)) } ": " (verdicts(scenario, analysis)) }
            }
        }
    }
}

fn counts(analysis: &Analysis) -> String {
    let count = |which: fn(&ClaimVerdict) -> bool| analysis.claims.iter().filter(|c| which(&c.verdict)).count();
    let mut text = format!(
        "hold here: {} · contradicted: {} · open: {}",
        count(|v| *v == ClaimVerdict::Holds),
        count(|v| *v == ClaimVerdict::Contradicted),
        count(|v| matches!(v, ClaimVerdict::Inconclusive { .. }))
    );
    if !analysis.left_out.is_empty() {
        text.push_str(&format!(" · left out by --quick: {}", analysis.left_out.len()));
    }
    text
}

/// The comparison that decides, else the first one, which is inconclusive.
fn deciding(comparison: &VariantComparison) -> Option<&MetricComparison> {
    comparison.decided().or_else(|| comparison.metrics.first())
}

/// Test for a kind of verdict.
type Kind = fn(&Verdict) -> bool;

/// The verdicts of a scenario in one sentence.
fn verdicts(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Markup {
    let measured = scenario
        .variants
        .iter()
        .filter_map(|i| analysis.variants.get(*i))
        .filter(|variant| variant.measured > 0)
        .count();
    if measured == 0 {
        return html! { "nothing was measured." };
    }
    if scenario.comparisons.is_empty() {
        return html! { (alone(scenario, analysis)) };
    }
    let kinds: [Kind; 3] = [|v| *v == Verdict::Faster, |v| *v == Verdict::Slower, |v| *v == Verdict::Equivalent];
    let all: Vec<(&VariantComparison, &MetricComparison)> =
        scenario.comparisons.iter().filter_map(|c| Some((c, deciding(c)?))).collect();
    let open = all.iter().filter(|(_, cell)| matches!(cell.verdict, Verdict::Inconclusive { .. })).count();
    html! {
        "against " b { (baseline(scenario, analysis)) } ": "
        @let groups: Vec<Vec<_>> = kinds.iter().map(|kind| all.iter().filter(|(_, cell)| kind(&cell.verdict)).collect()).collect();
        @let mut first = true;
        @for mut group in groups {
            @if !group.is_empty() {
                @if !std::mem::take(&mut first) { "; " }
                ({ farthest(&mut group); of_kind(&group, scenario, analysis) })
            }
        }
        @if open > 0 {
            @if !first { "; " }
            span.warn { "~ " (open) } " of " (all.len()) " not told apart yet"
        }
        "."
    }
}

/// Sorts by distance from the baseline, the farthest first.
fn farthest(group: &mut [&(&VariantComparison, &MetricComparison)]) {
    let distance = |cell: &MetricComparison| cell.ratio.as_ref().map_or(0.0, |r| r.ratio.value.ln().abs());
    group.sort_by(|(_, a), (_, b)| distance(b).total_cmp(&distance(a)));
}

/// Formats as `▲ faster: wal-off (p50 0.96× [0.95, 0.97], D4), …`. Different metrics may decide variants of one kind.
fn of_kind(
    group: &[&(&VariantComparison, &MetricComparison)],
    scenario: &ScenarioAnalysis,
    analysis: &Analysis,
) -> Markup {
    let label = |variant: usize| {
        analysis.variants.get(variant).map_or_else(String::new, |variant| name(scenario, variant, analysis))
    };
    let Some((_, cell)) = group.first() else { return html! {} };
    let mut footings = group.iter().map(|(comparison, _)| comparison.durability_pair);
    let worst = footings
        .clone()
        .find(|durability_pair| durability_pair.is_loss())
        .or_else(|| footings.next())
        .unwrap_or_default();
    let tone = element::class(document::verdict_tone(cell.verdict, worst));
    html! {
        span class=(tone) { (verdict_words(cell.verdict, &cell.metric).replacen(' ', "\u{a0}", 1)) } ": "
        @for (at, (comparison, cell)) in group.iter().take(NAMED).enumerate() {
            @if at > 0 { ", " }
            (label(comparison.variant))
            @let kept = comparison.durability_pair;
            @let kept = kept.difference().map_or_else(|| kept.to_string(), |difference| format!("and {difference}"));
            " " (line(&format!("({} {}, {kept})", cell.metric, ratio(cell))))
        }
        @if group.len() > NAMED { " and " (group.len() - NAMED) " more" }
    }
}

fn ratio(cell: &MetricComparison) -> String {
    cell.ratio.as_ref().ok().and_then(|paired| number::ratio(&paired.ratio)).unwrap_or_default()
}

/// The first metric of a scenario without comparisons.
fn alone(scenario: &ScenarioAnalysis, analysis: &Analysis) -> String {
    let Some(metric) = scenario.metrics.first() else { return "nothing is compared.".into() };
    let variants: Vec<_> = scenario.variants.iter().filter_map(|i| analysis.variants.get(*i)).collect();
    match variants.as_slice() {
        [only] => match only.estimate(metric) {
            Some(estimate) => {
                let longest = document::max_of(only, metric);
                format!("{metric} {longest}{}; nothing is compared.", number::sentence(estimate, metric.unit()))
            }
            None => format!("no {metric} was measured."),
        },
        _ => "nothing is compared, for the baseline was not measured.".into(),
    }
}
