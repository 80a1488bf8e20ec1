//! Results that would contradict the page: for a decision its interval, for an open comparison the number of rounds
//! that it needs, and the command that tests it.

use litelab_record::RunInfo;
use litelab_stats::{ClaimVerdict, Interval, Tolerance, Verdict};
use maud::{Markup, html};

use super::{baseline, command, line, name};
use crate::analysis::{Analysis, ClaimResult, Noise, ScenarioAnalysis};
use crate::document::{clean, verdict_words};
use crate::number;

/// Number of claims and of verdicts to name, those with the smallest margin.
const NAMED: usize = 3;

pub(super) fn list(analysis: &Analysis, info: &RunInfo) -> Markup {
    let mut claims: Vec<Weak> = analysis.claims.iter().filter_map(claim).collect();
    let mut verdicts: Vec<Weak> = analysis.scenarios.iter().flat_map(|s| of_scenario(s, analysis)).collect();
    claims.sort_by(|a, b| a.margin.total_cmp(&b.margin));
    verdicts.sort_by(|a, b| a.margin.total_cmp(&b.margin));
    let decided = claims.len() + verdicts.len();
    let shown = claims.len().min(NAMED) + verdicts.len().min(NAMED);
    let nearest = verdicts.first().map(|weak| weak.scenario);
    html! {
        @if decided == 0 {
            p { "Nothing is decided here, so nothing can fall: every comparison is open." }
        } @else {
            p.dim { @if shown < decided { "Of " (decided) " decisions those nearest to falling:" } @else { "Every decision, and what takes it back:" } }
        }
        ul {
            @for weak in claims.iter().take(NAMED).chain(verdicts.iter().take(NAMED)) { li { (weak.text) } }
            @if let Some(line) = open(analysis, info) { li { (line) } }
            @for line in noise(analysis) { li { (line) } }
            @if let Some(scenario) = nearest.and_then(|at| analysis.scenarios.get(at)) {
                li { "To try it, with other values: " code { (command::refute(scenario, info, scenario.planned)) } }
            }
        }
    }
}

/// A decision with its margin.
struct Weak {
    /// Distance of the interval's nearer end from the value at which the decision changes, as a logarithm; 0 at that
    /// value.
    margin: f64,
    scenario: usize,
    text: Markup,
}

/// |ln(a / b)|; infinite if it is not a number.
fn apart(a: f64, b: f64) -> f64 {
    let distance = (a / b).ln().abs();
    if distance.is_nan() { f64::INFINITY } else { distance }
}

fn claim(claim: &ClaimResult) -> Option<Weak> {
    let estimate = claim.measured.estimate()?;
    let interval = estimate.interval()?;
    let plan = &claim.plan;
    let unit = plan.against.is_none().then(|| plan.metric.unit());
    let bound = |bound: f64| number::bound(bound, unit);
    let bounds = || plan.at_least.iter().chain(plan.at_most.iter()).copied();
    let margin = |end: f64| bounds().map(|bound| apart(end, bound)).fold(f64::INFINITY, f64::min);
    let margin = margin(interval.low()).min(margin(interval.high()));
    let measured = match unit {
        Some(unit) => number::estimate(estimate, unit),
        None => number::ratio(estimate)?,
    };
    let text = match claim.verdict {
        ClaimVerdict::Holds => {
            let falls = match (plan.at_least, plan.at_most) {
                (Some(low), Some(high)) => format!("below {} or above {}", bound(low), bound(high)),
                (Some(low), None) => format!("below {}", bound(low)),
                (None, Some(high)) => format!("above {}", bound(high)),
                (None, None) => return None,
            };
            format!(
                "holds with {measured} over {}; a re-run whose interval lies wholly {falls} contradicts it, and one that reaches there leaves it open.",
                rounds(estimate.n)
            )
        }
        ClaimVerdict::Contradicted => {
            let holds = match (plan.at_least, plan.at_most) {
                (Some(low), Some(high)) => format!("between {} and {}", bound(low), bound(high)),
                (Some(low), None) => format!("above {}", bound(low)),
                (None, Some(high)) => format!("below {}", bound(high)),
                (None, None) => return None,
            };
            format!(
                "is contradicted by {measured} over {}; a re-run whose interval lies wholly {holds} restores it.",
                rounds(estimate.n)
            )
        }
        ClaimVerdict::Inconclusive { .. } => return None,
    };
    Some(Weak {
        margin, scenario: usize::MAX, text: html! { "The claim “" (clean(&plan.text)) "” " (line(&text)) }
    })
}

/// The decided comparisons of a scenario.
fn of_scenario(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Vec<Weak> {
    let at = analysis.scenarios.iter().position(|s| std::ptr::eq(s, scenario)).unwrap_or(usize::MAX);
    let tolerance = Tolerance::new(analysis.tolerance).unwrap_or_default();
    let mut all = Vec::new();
    for comparison in &scenario.comparisons {
        let Some(cell) = comparison.decided() else { continue };
        let Some((paired, interval)) = cell.ratio.as_ref().ok().and_then(|r| Some((r, r.ratio.interval()?))) else {
            continue;
        };
        let Some(ratio) = number::ratio(&paired.ratio) else { continue };
        let delta = number::percent(analysis.tolerance);
        let (margin, falls) = match cell.verdict {
            Verdict::Faster | Verdict::Slower => (
                beside_one(interval),
                format!(
                    "a re-run whose interval holds 1 takes it back, and one wholly {} 1 contradicts it",
                    if paired.ratio.value > 1.0 { "below" } else { "above" }
                ),
            ),
            Verdict::Equivalent => (
                (tolerance.log() - interval.low().ln().abs().max(interval.high().ln().abs())).max(0.0),
                format!(
                    "a re-run whose interval reaches beyond ±{delta} takes it back, and one that leaves 1 out contradicts it"
                ),
            ),
            Verdict::Inconclusive { .. } => continue,
        };
        let label = |variant: usize| {
            analysis.variants.get(variant).map_or_else(String::new, |variant| name(scenario, variant, analysis))
        };
        let durability_pair = comparison.durability_pair;
        let durability_pair = durability_pair.difference().unwrap_or_else(|| format!("durability {durability_pair}"));
        let text = html! {
            a href={ "#s" (at + 1) } { (clean(&scenario.name)) } ": " (label(comparison.variant)) " is "
            (verdict_words(cell.verdict, &cell.metric)) " in " (cell.metric) ", " (line(&ratio)) " of " (baseline(scenario, analysis)) ", "
            (durability_pair) " over " (rounds(paired.ratio.n)) "; " (line(&falls)) "."
        };
        all.push(Weak { margin, scenario: at, text });
    }
    all
}

/// Distance of the interval's nearer end from 1, as a logarithm.
fn beside_one(interval: Interval) -> f64 {
    apart(interval.low(), 1.0).min(apart(interval.high(), 1.0))
}

fn rounds(n: usize) -> String {
    number::counted(n as u64, "round")
}

/// Number of open comparisons, and the rounds that the nearest of them needs.
fn open(analysis: &Analysis, info: &RunInfo) -> Option<Markup> {
    let all = analysis.scenarios.iter().flat_map(|s| s.comparisons.iter().map(move |c| (s, c)));
    let all: Vec<_> = all.filter_map(|(s, c)| Some((s, c.decided().or_else(|| c.metrics.first())?))).collect();
    let open: Vec<_> = all
        .iter()
        .filter_map(|(s, cell)| match cell.verdict {
            Verdict::Inconclusive { rounds_needed } => Some((*s, rounds_needed)),
            _ => None,
        })
        .collect();
    if open.is_empty() {
        return None;
    }
    let cheapest = open.iter().filter_map(|(s, needed)| Some((*s, (*needed)?))).min_by_key(|(_, needed)| *needed);
    Some(html! {
        "Open: " (open.len()) " of " (number::counted(all.len() as u64, "comparison")) ". Nothing here says that those variants are alike."
        @if let Some((scenario, needed)) = cheapest {
            " The nearest, in " (clean(&scenario.name)) ", is likely to take " (number::counted(needed, "more round")) ": "
            code { (command::refute(scenario, info, scenario.planned.saturating_add(needed))) }
        }
    })
}

/// Results of A/A checks.
fn noise(analysis: &Analysis) -> Vec<Markup> {
    let checks: Vec<_> = analysis.scenarios.iter().flat_map(|s| s.aa.iter().map(move |check| (s, check))).collect();
    if checks.is_empty() {
        return vec![html! {
            "No variant was run twice, so what this machine takes for a difference was not seen: with " code { "--aa" }
            " two identical variants run side by side, and a difference between them beyond "
            (number::percent(analysis.tolerance)) " puts every verdict of that size in doubt."
        }];
    }
    let found = checks.iter().filter(|(_, check)| check.noise == Noise::False);
    let lines: Vec<Markup> = found
        .map(|(scenario, check)| {
            let ratio = check.comparison.ratio.as_ref().ok().and_then(|r| number::ratio(&r.ratio)).unwrap_or_default();
            html! {
                "In " (clean(&scenario.name)) " two identical variants already differ, by " (line(&ratio)) " in " (check.comparison.metric)
                ": its verdicts in that metric are in doubt."
            }
        })
        .collect();
    if lines.is_empty() {
        vec![
            html! { "Two identical variants, run side by side, were not told apart: were they to differ in a re-run, verdicts of that size would fall." },
        ]
    } else {
        lines
    }
}
