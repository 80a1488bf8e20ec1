//! Document of a scenario: its table, footnotes and checks.

use std::collections::BTreeSet;

use litelab_model::metric::{Measure, Metric, Timing};
use litelab_record::RunInfo;
use litelab_stats::Verdict;

use super::footnote::Footnotes;
use super::table::{Cell, Column, Table};
use super::{Block, Document, Marked, cell, content, drivers, flame, outcome, timeline};
use crate::analysis::{
    Analysis, ArmAnalysis, ArmComparison, FailureCount, HarnessCost, Noise, ScenarioAnalysis, alike,
};
use crate::number;
use crate::style::Tone;

/// Groups of columns, kept together if the width allows.
const VALUES: u8 = 1;
const RATIOS: u8 = 2;
const SETTINGS: u8 = 3;

pub(super) fn add(document: &mut Document, scenario: &ScenarioAnalysis, analysis: &Analysis, info: &RunInfo) {
    document.heading(&scenario.name, &scenario.question);
    document.text(Tone::Dim, caption(scenario, analysis));
    document.blocks.extend(tabled(scenario, analysis, info));
    let everyone = analysis.arms.iter().filter(|a| scenario.arms.contains(&a.index) || is_twin_of(scenario, a));
    document.marked(failures(&everyone.collect::<Vec<_>>()));
    document.blocks.extend(timeline::table(scenario, analysis).map(Block::Table));
    document.blocks.extend(flame::blocks(scenario, analysis, info));
    document.marked(outcome::effects(scenario));
    document.marked(outcome::scalability(scenario));
    document.marked(outcome::alerts(scenario, analysis));
    document.marked(content::lines(scenario));
    document.marked(noise(scenario, analysis));
    document.marked(harness(scenario, analysis));
}

/// The table and its footnotes; empty if all arms were skipped, which the header reports for the whole run.
pub(super) fn tabled(scenario: &ScenarioAnalysis, analysis: &Analysis, info: &RunInfo) -> Vec<Block> {
    let arms = scenario.arms.iter().filter_map(|i| analysis.arms.get(*i));
    let arms: Vec<&ArmAnalysis> = arms.filter(|arm| arm.skipped.is_none()).collect();
    if arms.is_empty() {
        return Vec::new();
    }
    let mut footnotes = Footnotes::default();
    let mut document = Document { blocks: vec![Block::Table(table(scenario, &arms, &mut footnotes, info))] };
    document.marked(footnotes.lines());
    document.blocks
}

fn is_twin_of(scenario: &ScenarioAnalysis, arm: &ArmAnalysis) -> bool {
    scenario.aa.iter().any(|check| check.twin == arm.index)
}

fn caption(scenario: &ScenarioAnalysis, analysis: &Analysis) -> String {
    let mut text = format!("{} of {}", scenario.done, number::counted(scenario.planned, "block"));
    let arms = scenario.arms.iter().filter_map(|i| analysis.arms.get(*i));
    match arms.filter(|arm| arm.skipped.is_some()).count() {
        0 => {}
        n => text.push_str(&format!(" · {n} of {} skipped", number::counted(scenario.arms.len() as u64, "arm"))),
    }
    let baseline = analysis.arms.get(scenario.baseline);
    if scenario.comparisons.is_empty() && scenario.arms.len() > 1 && baseline.is_some_and(|a| a.skipped.is_some()) {
        text.push_str(" · nothing is compared, for the baseline was skipped");
    }
    if scenario.comparisons.is_empty() && scenario.arms.len() > 1 && baseline.is_some_and(ArmAnalysis::is_all_failed) {
        text.push_str(" · nothing is compared, for all trials of the baseline failed");
    }
    if let Some(least) = short_of_blocks(scenario) {
        text.push_str(&format!(
            " · no arm is compared with a baseline: ratios of {} in {} that all hold together at 95 % need {least} blocks at \
             the least",
            number::counted(scenario.comparisons.len() as u64, "arm"),
            number::counted(scenario.judged.len() as u64, "metric")
        ));
    } else if !scenario.comparisons.is_empty() {
        let baseline = baseline.map_or("?", |a| a.label.as_str());
        let together = match scenario.comparisons.len() * scenario.judged.len() {
            1 => String::new(),
            n => format!(" each, so that all {n} hold together at 95 %"),
        };
        text.push_str(&format!(
            " · baseline {baseline} · ratios at {}{together}",
            number::percent(scenario.confidence)
        ));
    }
    text
}

/// Number of blocks that ratios need, if several arms are compared and none has enough. The caption then reports it
/// once, instead of every cell.
fn short_of_blocks(scenario: &ScenarioAnalysis) -> Option<usize> {
    let ratios = || scenario.comparisons.iter().flat_map(|c| &c.metrics).filter_map(|m| m.ratio.as_ref().ok());
    let short = scenario.comparisons.len() > 1 && ratios().all(|r| r.ratio.needs().is_some());
    ratios().filter_map(|r| r.ratio.needs()).max().filter(|_| short)
}

fn table(scenario: &ScenarioAnalysis, arms: &[&ArmAnalysis], footnotes: &mut Footnotes, info: &RunInfo) -> Table {
    let names = dimensions(scenario, arms);
    let settings = differing(arms);
    let mut columns: Vec<Column> = names.iter().map(|name| Column::left(name, 0)).collect();
    // A key column: every part of a table that is too wide repeats it.
    columns.push(Column::left("durability", 0));
    let keys = columns.len();
    let of_drivers = names.iter().any(|name| name == "driver");
    if of_drivers {
        columns.extend(drivers::COLUMNS.map(|title| Column::left(title, VALUES)));
    }
    let values = shown(scenario, arms);
    columns.extend(values.iter().map(|metric| Column::right(metric.to_string(), VALUES)));
    let mut ratios = scenario.comparisons.iter().flat_map(|c| &c.metrics);
    let compared = ratios.any(|m| m.ratio.is_ok()) && short_of_blocks(scenario).is_none();
    if compared {
        columns.push(Column::left("verdict", RATIOS));
        columns.extend(scenario.judged.iter().map(|metric| Column::right(format!("{metric} ratio"), RATIOS)));
    }
    columns.extend(settings.iter().map(|name| Column::left(name, SETTINGS)));
    let baseline = arms.iter().find(|arm| arm.index == scenario.baseline).copied();
    let rows = arms.iter().map(|arm| {
        let comparison = scenario.comparisons.iter().find(|c| c.arm == arm.index);
        let mut remarks = remarks(arm);
        // A failed trial has a line of its own, which explains the missing comparison. Trials that are too short have a
        // footnote.
        let short = |arm: &ArmAnalysis, metric: &Metric| arm.metrics.get(metric).is_some_and(|values| values.short);
        let against = |metric: &Metric| baseline.is_some_and(|baseline| short(baseline, metric));
        let metrics = comparison.into_iter().flat_map(|c| &c.metrics).filter(|m| !short(arm, &m.metric));
        let (unlike, like): (Vec<_>, Vec<_>) = metrics.partition(|m| against(&m.metric));
        let why = like.into_iter().filter_map(|m| m.ratio.as_ref().err());
        remarks.extend(why.filter(|_| arm.measured > 0).cloned());
        if !unlike.is_empty() {
            remarks.push("not compared: the trials of the baseline are too short".into());
        }
        remarks.extend(content::remark(scenario, arm));
        remarks.extend(unreported(scenario, arm));
        let mut row = key_cells(arm, &names, remarks, footnotes);
        row.push(Cell::plain(arm.durability.map_or_else(|| "?".into(), |rung| rung.to_string())));
        if of_drivers {
            row.extend(drivers::cells(info, &arm.driver));
        }
        row.extend(values.iter().map(|metric| cell::of_arm(arm, metric)));
        if compared {
            row.extend(ratio_cells(scenario, arm, comparison, footnotes));
        }
        row.extend(settings.iter().map(|name| Cell::plain(setting(arm, name))));
        row
    });
    Table { keys, columns, rows: rows.collect() }
}

/// Metrics of the scenario, and the shares of failed and empty transactions if there are any.
fn shown(scenario: &ScenarioAnalysis, arms: &[&ArmAnalysis]) -> Vec<Metric> {
    let mut metrics = scenario.metrics.clone();
    for measure in [Measure::FailedShare, Measure::EmptyShare] {
        let metric = Metric::from(measure);
        let any = |arm: &&ArmAnalysis| {
            arm.metrics.get(&metric).and_then(|values| values.sum()).is_some_and(|events| events.count > 0)
        };
        if !metrics.contains(&metric) && arms.iter().any(any) {
            metrics.push(metric);
        }
    }
    metrics
}

/// Title of the column of labels, which replaces one column for each dimension.
const ARM: &str = "arm";

/// Dimensions that get a column. A single column [`ARM`] replaces them if there are none, or if at least half of their
/// values are absent, as in a scenario with one change at a time.
fn dimensions(scenario: &ScenarioAnalysis, arms: &[&ArmAnalysis]) -> Vec<String> {
    let names = &scenario.dimensions;
    let given: usize =
        arms.iter().map(|arm| names.iter().filter(|name| arm.dimensions.contains_key(*name)).count()).sum();
    if given * 2 <= names.len() * arms.len() { vec![ARM.into()] } else { names.clone() }
}

fn key_cells(arm: &ArmAnalysis, names: &[String], remarks: Vec<String>, footnotes: &mut Footnotes) -> Vec<Cell> {
    let marks: String = remarks.into_iter().map(|text| format!(" {}", footnotes.mark(text))).collect();
    let tone = if arm.measured == 0 { Tone::Bad } else { Tone::Plain };
    let mut cells: Vec<Cell> = names
        .iter()
        .map(|name| match arm.dimensions.get(name) {
            Some(value) => Cell::new(tone, value.to_string()),
            None if arm.dimensions.is_empty() || name == ARM => Cell::new(tone, arm.label.as_str()),
            None => Cell::new(Tone::Dim, number::NONE),
        })
        .collect();
    if let Some(last) = cells.last_mut() {
        last.text.push_str(&marks);
    }
    cells
}

/// Note on metrics that only some runners report of their runtime, and this arm's runner does not.
fn unreported(scenario: &ScenarioAnalysis, arm: &ArmAnalysis) -> Option<String> {
    let of_runtime = |metric: &&Metric| {
        matches!(metric.measure, Measure::Utilization | Measure::Latency(Timing::Timer | Timing::PoolWait, _))
    };
    let absent = scenario.metrics.iter().filter(of_runtime).filter(|metric| arm.estimate(metric).is_none());
    let names: Vec<String> = absent.map(ToString::to_string).collect();
    (arm.measured > 0 && !names.is_empty()).then(|| format!("its runner does not report {}", names.join(", ")))
}

/// Notes on an arm's numbers.
pub(super) fn remarks(arm: &ArmAnalysis) -> Vec<String> {
    let mut remarks = arm.notes.clone();
    if let (Some(caveat), Some(rung)) = (arm.caveat, arm.durability) {
        remarks.push(format!("{rung}: {caveat}"));
    }
    if arm.measured > 0 && arm.durability.is_none() {
        remarks.push("its durability is not known: the driver did not report journal_mode and synchronous".into());
    }
    remarks
}

fn ratio_cells(
    scenario: &ScenarioAnalysis,
    arm: &ArmAnalysis,
    comparison: Option<&ArmComparison>,
    footnotes: &mut Footnotes,
) -> Vec<Cell> {
    let Some(comparison) = comparison else {
        let word = if arm.index == scenario.baseline { "baseline" } else { number::NONE };
        let mut cells = vec![Cell::new(Tone::Dim, word)];
        cells.resize(scenario.judged.len() + 1, Cell::default());
        return cells;
    };
    let ratio = |m: &crate::analysis::MetricComparison| {
        cell::ratio(m.ratio.as_ref().ok().map(|r| &r.ratio), m.verdict, comparison.footing)
    };
    let mut cells = vec![decision(comparison, footnotes)];
    cells.extend(comparison.metrics.iter().map(ratio));
    cells
}

/// The verdict, with its metric unless that is the first one. If a later metric decides and another shows the opposite,
/// both are printed. If the durability levels differ, a footnote has the difference.
fn decision(comparison: &ArmComparison, footnotes: &mut Footnotes) -> Cell {
    let footing = comparison.footing;
    let Some(first) = comparison.metrics.first() else { return Cell::default() };
    let Some(decided) = comparison.decided() else {
        return Cell::new(cell::tone(first.verdict, footing), cell::verdict(first.verdict, &first.metric));
    };
    let mut text = cell::verdict(decided.verdict, &decided.metric);
    if decided.metric != first.metric {
        text.push_str(&format!(" by {}", decided.metric));
    }
    let opposite = match decided.verdict {
        Verdict::Faster => Some(Verdict::Slower),
        Verdict::Slower => Some(Verdict::Faster),
        _ => None,
    };
    let other = comparison.metrics.iter().find(|m| Some(m.verdict) == opposite);
    if let Some(other) = other.filter(|_| decided.metric != first.metric) {
        text.push_str(&format!(", but {}", cell::verdict(other.verdict, &other.metric)));
    }
    if let Some(difference) = footing.difference() {
        text.push_str(&format!(", {footing} {}", footnotes.mark(difference)));
    }
    Cell::new(cell::tone(decided.verdict, footing), text)
}

/// Names of the settings whose values differ between arms of the same kind of database. SQLite and a server have
/// different settings anyway.
fn differing(arms: &[&ArmAnalysis]) -> Vec<String> {
    let read: Vec<&&ArmAnalysis> = arms.iter().filter(|a| !a.settings.is_empty()).collect();
    let names: BTreeSet<&String> = read.iter().flat_map(|a| a.settings.keys()).collect();
    let differs = |name: &&&String| {
        read.iter().any(|arm| {
            let mut alike = read.iter().filter(|other| other.dialect == arm.dialect);
            alike.any(|other| other.settings.get(**name) != arm.settings.get(**name))
        })
    };
    names.iter().filter(differs).map(|name| (*name).clone()).collect()
}

fn setting(arm: &ArmAnalysis, name: &str) -> String {
    match arm.settings.get(name) {
        Some(values) => values.iter().cloned().collect::<Vec<_>>().join(" / "),
        None => number::NONE.into(),
    }
}

/// Reasons for failed trials: one line for each, whatever its digits and the number of its arms.
fn failures(arms: &[&ArmAnalysis]) -> Vec<Marked> {
    let mut groups: Vec<(&FailureCount, Vec<&ArmAnalysis>, usize, bool)> = Vec::new();
    for &arm in arms {
        for of in &arm.failures {
            let same = |first: &FailureCount| first.kind == of.kind && alike(&first.reason) == alike(&of.reason);
            match groups.iter_mut().find(|(first, ..)| same(first)) {
                Some((first, arms, count, varies)) => {
                    arms.push(arm);
                    *count += of.blocks.len();
                    *varies |= of.varies || first.reason != of.reason;
                }
                None => groups.push((of, vec![arm], of.blocks.len(), of.varies)),
            }
        }
    }
    let line = |(first, arms, count, varies): (&FailureCount, Vec<&ArmAnalysis>, usize, bool)| {
        let label = match arms.len() {
            1 => arms[0].label.clone(),
            n => format!("{} and {}", arms[0].label, number::counted(n as u64 - 1, "other arm")),
        };
        let of = arms.iter().map(|arm| arm.measured + arm.failed()).sum();
        Marked::new("✘", Tone::Bad, failed(&label, (count, of), first, varies))
    };
    groups.into_iter().map(line).collect()
}

/// Formats as `batch=10: 1 of 4 trials failed (invariant): …`.
pub(super) fn failure(arm: &ArmAnalysis, failure: &FailureCount) -> String {
    failed(&arm.label, (failure.blocks.len(), arm.measured + arm.failed()), failure, failure.varies)
}

fn failed(label: &str, (count, of): (usize, u64), failure: &FailureCount, varies: bool) -> String {
    let word = serde_json::to_value(failure.kind).ok();
    let kind = word.as_ref().and_then(|w| w.as_str()).unwrap_or("?");
    let others = if varies { " (the first; others differ in figures)" } else { "" };
    format!("{label}: {count} of {} failed ({kind}): {}{others}", number::counted(of, "trial"), failure.reason)
}

fn noise(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Vec<Marked> {
    let delta = number::percent(analysis.tolerance);
    let line = |check: &crate::analysis::AaCheck| {
        let metric = &check.comparison.metric;
        let ratio = check.comparison.ratio.as_ref();
        let shown = ratio.ok().and_then(|r| number::ratio(&r.ratio)).unwrap_or_default();
        let pair = format!("A/A in {metric}: two identical arms differ by {shown}");
        match check.noise {
            Noise::Quiet => Marked::new("=", Tone::Good, format!("{pair}: differences beyond {delta} can be told")),
            Noise::False => Marked::new(
                "!",
                Tone::Warn,
                format!(
                    "{pair}, which excludes 1: environment too noisy for {delta}; its verdicts in {metric} are not to be trusted: use a quieter machine and more blocks"
                ),
            ),
            Noise::Wide => Marked::new(
                "!",
                Tone::Warn,
                format!(
                    "{pair}, wider than {delta}: environment too noisy for {delta} in {metric}; use more blocks, longer trials or a quieter machine"
                ),
            ),
            Noise::Unknown => {
                let why = match ratio {
                    Ok(paired) => number::needs(&paired.ratio),
                    Err(why) => why.clone(),
                };
                Marked::new("?", Tone::Warn, format!("A/A in {metric}: noise is not known: {why}"))
            }
        }
    };
    scenario.aa.iter().map(line).collect()
}

fn harness(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Vec<Marked> {
    let nanos = |cost: &HarnessCost| number::value(cost.nanos, litelab_model::metric::Unit::Nanos);
    let text = match scenario.harness.as_slice() {
        [] => return Vec::new(),
        [only] => {
            let share = only.share.zip(only.fastest).map(|(share, arm)| {
                let arm = analysis.arms.get(arm).map_or("?", |a| a.label.as_str());
                format!(", {} of the mean transaction of its fastest arm ({arm})", number::percent(share))
            });
            format!("{} per transaction in runner {}{}", nanos(only), only.runner, share.unwrap_or_default())
        }
        several => {
            let share =
                |cost: &HarnessCost| cost.share.map_or_else(String::new, |s| format!(" ({})", number::percent(s)));
            let each: Vec<String> =
                several.iter().map(|cost| format!("{} {}{}", cost.runner, nanos(cost), share(cost))).collect();
            format!("per transaction, and its share of that of the runner's fastest arm: {}", each.join(", "))
        }
    };
    vec![Marked::new("·", Tone::Dim, format!("harness: {text}; not subtracted"))]
}
