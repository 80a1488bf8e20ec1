//! Sentences of an answer: what went wrong, one line for each durability level, what is not decided.

use litelab_model::Metric;
use litelab_model::durability::Durability;
use litelab_model::metric::{Measure, Unit};
use litelab_stats::Estimate;

use super::Marked;
use crate::analysis::{Analysis, LevelAnswer, Problem, ProblemKind, ScenarioAnalysis, Starvation, Undecided};
use crate::number;
use crate::style::Tone;

/// Number of characters of the names in a sentence, from which their number replaces them.
const LONG: usize = 60;

/// What all variants share, each in a few words.
pub fn constant(scenario: &ScenarioAnalysis) -> impl Iterator<Item = String> {
    scenario.answer.constant.iter().map(|(name, value)| match name.as_str() {
        "SQLite" => format!("SQLite {value}"),
        _ => value.clone(),
    })
}

/// Durability level in words; `durability not known` without one.
#[must_use]
pub fn level_words(level: Option<Durability>) -> &'static str {
    level.map_or("durability not known", Durability::words)
}

/// Tone of a durability level: good if nothing is lost, bad if the file may be corrupt.
#[must_use]
pub fn level_tone(level: Option<Durability>) -> Tone {
    match level {
        Some(Durability::D4) => Tone::Good,
        Some(Durability::D3 | Durability::D2) | None => Tone::Warn,
        Some(Durability::D1 | Durability::D0) => Tone::Bad,
        Some(Durability::Volatile) => Tone::Dim,
    }
}

/// Value of a metric with its noun: `5.97k commits/s ±21 %`, `p50 1.34 ms ±4.5 %`.
#[must_use]
pub fn amount(estimate: &Estimate, metric: &Metric) -> String {
    let text = number::brief(estimate, metric.unit());
    match metric.measure {
        Measure::Throughput => {
            text.replacen("/s", &format!(" {}/s", metric.transaction.as_deref().unwrap_or("commits")), 1)
        }
        Measure::RowsPerSecond => text.replacen("/s", " rows/s", 1),
        _ => format!("{metric} {text}"),
    }
}

/// The line of what is not decided.
#[must_use]
pub fn undecided(of: &Undecided) -> Marked {
    Marked::new("~", Tone::Warn, of.text.as_str())
}

/// Formats as `WAL FULL and 2 others: 3 of 9 trials failed: disk I/O error`.
#[must_use]
pub fn problem(problem: &Problem, analysis: &Analysis) -> Marked {
    let (mark, tone) = match problem.kind {
        ProblemKind::Failed | ProblemKind::Empty => ("✘", Tone::Bad),
        ProblemKind::Missed | ProblemKind::Short => ("!", Tone::Warn),
        ProblemKind::Skipped => ("–", Tone::Warn),
    };
    let first = problem.variants.first().map_or("?", |index| name(*index, analysis));
    let others = match problem.variants.len() {
        0 | 1 => String::new(),
        n => {
            let others = number::counted(n as u64 - 1, "other");
            if problem.varies { format!(" (and {others}, with other figures)") } else { format!(" and {others}") }
        }
    };
    Marked::new(mark, tone, format!("{first}{others}: {}", problem.text))
}

/// One line for each durability level of which the best variant is worth a choice.
#[must_use]
pub fn levels(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Vec<Marked> {
    let levels = &scenario.answer.levels;
    let Some((metric, safest)) = scenario.answer.metric.as_ref().zip(levels.first()) else { return Vec::new() };
    let choices = levels.iter().filter(|level| !level.dominated);
    let mut lines: Vec<Marked> = choices.map(|level| line(level, safest, scenario, metric, analysis)).collect();
    let dominated: Vec<&LevelAnswer> = levels.iter().filter(|level| level.dominated).collect();
    if !dominated.is_empty() {
        let known = dominated.iter().all(|level| level.durability.is_some());
        let safe = if known { "less safe" } else { "less safe or not known to be safe" };
        let names: Vec<&str> = dominated.iter().map(|level| name(level.best, analysis)).collect();
        let text = format!("{safe} and not shown to be better: {}", names.join(" · "));
        lines.push(Marked::new("▼", Tone::Warn, text));
    }
    lines
}

fn line(
    level: &LevelAnswer,
    safest: &LevelAnswer,
    scenario: &ScenarioAnalysis,
    metric: &Metric,
    analysis: &Analysis,
) -> Marked {
    let price = level.durability.map(Durability::price);
    let ratio = level.over_safest.as_ref().and_then(|paired| number::ratio(&paired.ratio));
    let begin = match price.zip(ratio).filter(|_| level.durability != safest.durability) {
        Some((price, ratio)) if metric.measure.more_is_better() => format!("giving up {price} buys {ratio}"),
        Some((price, ratio)) => format!("giving up {price}: {ratio} the {metric}"),
        None => level_words(level.durability).to_owned(),
    };
    let amount = amount(&level.estimate, metric);
    let mut text = match name(level.best, analysis) {
        "only" => format!("{begin}: {amount}"),
        name => format!("{begin}: {name}, {amount}"),
    };
    if let Some(longest) = &level.longest {
        text.push_str(&format!(", longest wait {}", number::value(longest.value, Unit::Nanos)));
    }
    if metric.measure.more_is_better() && more_workers_lose(level, scenario, metric, analysis) {
        text.push_str("; more workers do not help");
    }
    if let Some(ties) = ties(level, analysis) {
        text.push_str(&format!("; {ties}"));
    }
    if level.unjudged > 0 {
        text.push_str(&format!("; {} not judged", number::counted(level.unjudged as u64, "other")));
    }
    if let (true, Some(share)) = (level.starvation != Starvation::No, &level.fairness) {
        let share = number::percent((share.value * 100.0).round() / 100.0);
        text.push_str(&format!("; but its slowest worker gets {share} of the mean"));
    }
    if let Some(calmer) = &level.calmer {
        let wait = number::value(calmer.longest.value, Unit::Nanos);
        let (name, amount) = (name(calmer.variant, analysis), number::value(calmer.estimate.value, metric.unit()));
        text.push_str(&format!("; {name}: longest wait {wait}, at {amount}"));
    }
    Marked::new("►", level_tone(level.durability), text)
}

/// Whether other variants of the level have more workers than its best one, and all of them are shown to be worse.
fn more_workers_lose(level: &LevelAnswer, scenario: &ScenarioAnalysis, metric: &Metric, analysis: &Analysis) -> bool {
    let of = |index: usize| analysis.variants.get(index).filter(|variant| variant.durability == level.durability);
    let workers = |index: usize| of(index)?.dimensions.get("workers")?.to_string().parse::<u32>().ok();
    let best = workers(level.best);
    let mut more = scenario.variants.iter().filter(|index| workers(**index) > best).peekable();
    let is_worse = |index: &usize| {
        let is_judged = of(*index).is_some_and(|variant| variant.is_judged(metric));
        is_judged && !level.ties.contains(index)
    };
    best.is_some() && more.peek().is_some() && more.all(is_worse)
}

/// Formats as `not told apart from app lock or one connection`, or `not told apart from 5 others (≈)`.
fn ties(level: &LevelAnswer, analysis: &Analysis) -> Option<String> {
    if level.ties.is_empty() {
        return None;
    }
    let names: Vec<&str> = level.ties.iter().map(|index| name(*index, analysis)).collect();
    let names = names.join(" or ");
    Some(match names.chars().count() < LONG {
        true => format!("not told apart from {names}"),
        false => format!("not told apart from {} (≈)", number::counted(level.ties.len() as u64, "other")),
    })
}

fn name(index: usize, analysis: &Analysis) -> &str {
    analysis.variants.get(index).map_or("?", |variant| variant.words.as_str())
}
