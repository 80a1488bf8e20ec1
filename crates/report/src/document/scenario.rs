//! Document of a scenario: its table, footnotes and checks.

use std::collections::BTreeSet;

use litelab_model::durability::Durability;
use litelab_model::metric::{Measure, Metric, Timing};
use litelab_record::RunInfo;
use litelab_stats::Verdict;

use super::footnote::Footnotes;
use super::table::{Cell, Column, Table};
use super::{Document, Element, Marked, cell, content, drivers, flame, locks, outcome, timeline};
use crate::analysis::{
    Analysis, FailureCount, HarnessCost, Noise, ScenarioAnalysis, VariantAnalysis, VariantComparison, alike,
};
use crate::number;
use crate::style::Tone;

/// Groups of columns, kept together if the width allows.
pub(crate) const VALUES: u8 = 1;
pub(crate) const RATIOS: u8 = 2;
const SETTINGS: u8 = 3;

/// Adds a scenario with its heading.
pub(crate) fn add(document: &mut Document, scenario: &ScenarioAnalysis, analysis: &Analysis, info: &RunInfo) {
    document.heading(&scenario.name, &scenario.question);
    document.text(Tone::Dim, caption(scenario, analysis));
    document.elements.extend(tabled(scenario, analysis, info));
    let everyone = analysis.variants.iter().filter(|a| scenario.variants.contains(&a.index) || is_twin_of(scenario, a));
    document.marked(failures(&everyone.collect::<Vec<_>>()));
    document.elements.extend(timeline::table(scenario, analysis).map(Element::Table));
    document.elements.extend(locks::table(scenario, analysis).map(Element::Table));
    document.elements.extend(flame::elements(scenario, analysis, info));
    document.marked(outcome::effects(scenario));
    document.marked(outcome::scalability(scenario));
    document.marked(outcome::alerts(scenario, analysis));
    document.marked(content::lines(scenario));
    document.marked(noise(scenario, analysis));
    document.marked(harness(scenario, analysis));
}

/// The table and its footnotes; empty if all variants were skipped, which the header reports for the whole run.
pub(crate) fn tabled(scenario: &ScenarioAnalysis, analysis: &Analysis, info: &RunInfo) -> Vec<Element> {
    let variants: Vec<&VariantAnalysis> = scenario.not_skipped(analysis).collect();
    if variants.is_empty() {
        return Vec::new();
    }
    let mut footnotes = Footnotes::default();
    let mut document = Document { elements: vec![Element::Table(table(scenario, &variants, &mut footnotes, info))] };
    document.marked(footnotes.lines());
    document.elements
}

fn is_twin_of(scenario: &ScenarioAnalysis, variant: &VariantAnalysis) -> bool {
    scenario.aa.iter().any(|check| check.twin == variant.index)
}

fn caption(scenario: &ScenarioAnalysis, analysis: &Analysis) -> String {
    let mut text = format!("{} of {}", scenario.done, number::counted(scenario.planned, "round"));
    match scenario.among(analysis).filter(|variant| variant.skipped.is_some()).count() {
        0 => {}
        n => {
            text.push_str(&format!(" · {n} of {} skipped", number::counted(scenario.variants.len() as u64, "variant")))
        }
    }
    let baseline = analysis.variants.get(scenario.baseline);
    match baseline.filter(|_| scenario.comparisons.is_empty() && scenario.variants.len() > 1) {
        Some(a) if a.skipped.is_some() => text.push_str(" · nothing is compared, for the baseline was skipped"),
        Some(a) if a.is_all_failed() => {
            text.push_str(" · nothing is compared, for all trials of the baseline failed");
        }
        _ => {}
    }
    if let Some(least) = short_of_rounds(scenario) {
        text.push_str(&format!(
            " · no variant is compared with a baseline: ratios of {} in {} that all hold together at 95 % need {least} rounds at \
             the least",
            number::counted(scenario.comparisons.len() as u64, "variant"),
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

/// Number of rounds that ratios need, if several variants are compared and none has enough. The caption then reports it
/// once, instead of every cell.
fn short_of_rounds(scenario: &ScenarioAnalysis) -> Option<usize> {
    let ratios = || scenario.comparisons.iter().flat_map(|c| &c.metrics).filter_map(|m| m.ratio.as_ref().ok());
    let short = scenario.comparisons.len() > 1 && ratios().all(|r| r.ratio.needs().is_some());
    ratios().filter_map(|r| r.ratio.needs()).max().filter(|_| short)
}

fn table(
    scenario: &ScenarioAnalysis,
    variants: &[&VariantAnalysis],
    footnotes: &mut Footnotes,
    info: &RunInfo,
) -> Table {
    let names = dimensions(scenario, variants);
    let settings = differing(variants);
    let mut columns: Vec<Column> = names.iter().map(|name| Column::left(name, 0)).collect();
    // A key column: every part of a table that is too wide repeats it.
    columns.push(Column::left("durability", 0));
    let keys = columns.len();
    let of_drivers = names.iter().any(|name| name == "driver");
    if of_drivers {
        columns.extend(drivers::COLUMNS.map(|title| Column::left(title, VALUES)));
    }
    let values = shown(scenario, variants);
    columns.extend(values.iter().map(|metric| Column::right(metric.to_string(), VALUES)));
    let mut ratios = scenario.comparisons.iter().flat_map(|c| &c.metrics);
    let compared = ratios.any(|m| m.ratio.is_ok()) && short_of_rounds(scenario).is_none();
    if compared {
        columns.push(Column::left("verdict", RATIOS));
        columns.extend(scenario.judged.iter().map(|metric| Column::right(format!("{metric} ratio"), RATIOS)));
    }
    columns.extend(settings.iter().map(|name| Column::left(name, SETTINGS)));
    let baseline = variants.iter().find(|variant| variant.index == scenario.baseline).copied();
    let rows = variants.iter().map(|variant| {
        let comparison = scenario.comparisons.iter().find(|c| c.variant == variant.index);
        let mut remarks = remarks(variant);
        // A failed trial has a line of its own, which explains the missing comparison. Trials that are too short have a
        // footnote.
        let short =
            |variant: &VariantAnalysis, metric: &Metric| variant.metrics.get(metric).is_some_and(|values| values.short);
        let against = |metric: &Metric| baseline.is_some_and(|baseline| short(baseline, metric));
        let metrics = comparison.into_iter().flat_map(|c| &c.metrics).filter(|m| !short(variant, &m.metric));
        let (unlike, like): (Vec<_>, Vec<_>) = metrics.partition(|m| against(&m.metric));
        let is_told = variant.failed() > 0 || baseline.is_some_and(|baseline| baseline.failed() > 0);
        let why = like.into_iter().filter_map(|m| m.ratio.as_ref().err());
        remarks.extend(why.filter(|_| !is_told).cloned());
        if !unlike.is_empty() {
            remarks.push("not compared: the trials of the baseline are too short".into());
        }
        remarks.extend(content::remark(scenario, variant));
        remarks.extend(unreported(scenario, variant));
        let mut row = key_cells(variant, &names, remarks, footnotes);
        row.push(Cell::plain(variant.durability.map_or("?", Durability::words)));
        if of_drivers {
            row.extend(drivers::cells(info, &variant.driver));
        }
        row.extend(values.iter().map(|metric| cell::of_variant(variant, metric)));
        if compared {
            row.extend(ratio_cells(scenario, variant, comparison, footnotes));
        }
        row.extend(settings.iter().map(|name| Cell::plain(setting(variant, name))));
        row
    });
    Table { keys, columns, rows: rows.collect() }
}

/// Metrics of the scenario, and the shares of failed and empty transactions if there are any.
fn shown(scenario: &ScenarioAnalysis, variants: &[&VariantAnalysis]) -> Vec<Metric> {
    let mut metrics = scenario.metrics.clone();
    for measure in [Measure::FailedShare, Measure::EmptyShare] {
        let metric = Metric::from(measure);
        let any = variants.iter().any(|variant| variant.events(&metric).is_some_and(|events| events.count > 0));
        if !metrics.contains(&metric) && any {
            metrics.push(metric);
        }
    }
    metrics
}

/// Title of the column of labels, which replaces one column for each dimension.
pub(super) const VARIANT: &str = "variant";

/// Dimensions that get a column. A single column [`VARIANT`] replaces them if there are none, or if at least half of
/// their values are absent, as in a scenario with one change at a time.
pub(super) fn dimensions(scenario: &ScenarioAnalysis, variants: &[&VariantAnalysis]) -> Vec<String> {
    let names = &scenario.dimensions;
    let given: usize =
        variants.iter().map(|variant| names.iter().filter(|name| variant.dimensions.contains_key(*name)).count()).sum();
    if given * 2 <= names.len() * variants.len() { vec![VARIANT.into()] } else { names.clone() }
}

fn key_cells(
    variant: &VariantAnalysis,
    names: &[String],
    remarks: Vec<String>,
    footnotes: &mut Footnotes,
) -> Vec<Cell> {
    let marks: String = remarks.into_iter().map(|text| format!(" {}", footnotes.mark(text))).collect();
    let tone = if variant.measured == 0 { Tone::Bad } else { Tone::Plain };
    let mut cells: Vec<Cell> = names
        .iter()
        .map(|name| match variant.dimensions.get(name) {
            Some(value) => Cell::new(tone, value.to_string()),
            None if variant.dimensions.is_empty() || name == VARIANT => Cell::new(tone, variant.label.as_str()),
            None => Cell::new(Tone::Dim, number::NONE),
        })
        .collect();
    if let Some(last) = cells.last_mut() {
        last.text.push_str(&marks);
    }
    cells
}

/// Note on metrics that only some runners report of their runtime, and this variant's runner does not.
fn unreported(scenario: &ScenarioAnalysis, variant: &VariantAnalysis) -> Option<String> {
    let of_runtime = |metric: &&Metric| {
        matches!(metric.measure, Measure::Utilization | Measure::Latency(Timing::Timer | Timing::PoolWait, _))
    };
    let absent = scenario.metrics.iter().filter(of_runtime).filter(|metric| variant.estimate(metric).is_none());
    let names: Vec<String> = absent.map(ToString::to_string).collect();
    (variant.measured > 0 && !names.is_empty()).then(|| format!("its runner does not report {}", names.join(", ")))
}

/// Notes on a variant's numbers.
pub(super) fn remarks(variant: &VariantAnalysis) -> Vec<String> {
    let mut remarks = variant.notes.clone();
    if let (Some(caveat), Some(level)) = (variant.caveat, variant.durability) {
        remarks.push(format!("{}: {caveat}", level.words()));
    }
    if variant.measured > 0 && variant.durability.is_none() {
        remarks.push("its durability is not known: the driver did not report journal_mode and synchronous".into());
    }
    remarks
}

fn ratio_cells(
    scenario: &ScenarioAnalysis,
    variant: &VariantAnalysis,
    comparison: Option<&VariantComparison>,
    footnotes: &mut Footnotes,
) -> Vec<Cell> {
    let Some(comparison) = comparison else {
        let word = if variant.index == scenario.baseline { "baseline" } else { number::NONE };
        let mut cells = vec![Cell::new(Tone::Dim, word)];
        cells.resize(scenario.judged.len() + 1, Cell::default());
        return cells;
    };
    let ratio = |m: &crate::analysis::MetricComparison| {
        cell::ratio(m.ratio.as_ref().ok().map(|r| &r.ratio), m.verdict, comparison.durability_pair)
    };
    let mut cells = vec![decision(comparison, footnotes)];
    cells.extend(comparison.metrics.iter().map(ratio));
    cells
}

/// The verdict, with its metric unless that is the first one. If a later metric decides and another shows the opposite,
/// both are printed. If the durability levels differ, a footnote has the difference.
fn decision(comparison: &VariantComparison, footnotes: &mut Footnotes) -> Cell {
    let durability_pair = comparison.durability_pair;
    let Some(first) = comparison.metrics.first() else { return Cell::default() };
    let Some(decided) = comparison.decided() else {
        return Cell::new(cell::tone(first.verdict, durability_pair), cell::verdict(first.verdict, &first.metric));
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
    if let Some(difference) = durability_pair.difference() {
        text.push_str(&format!(" {}", footnotes.mark(difference)));
    }
    Cell::new(cell::tone(decided.verdict, durability_pair), text)
}

/// Names of the settings whose values differ between variants of the same kind of database. SQLite and a server have
/// different settings anyway.
fn differing(variants: &[&VariantAnalysis]) -> Vec<String> {
    let read: Vec<&&VariantAnalysis> = variants.iter().filter(|a| !a.settings.is_empty()).collect();
    let names: BTreeSet<&String> = read.iter().flat_map(|a| a.settings.keys()).collect();
    let differs = |name: &&&String| {
        read.iter().any(|variant| {
            let mut alike = read.iter().filter(|other| other.dialect == variant.dialect);
            alike.any(|other| other.settings.get(**name) != variant.settings.get(**name))
        })
    };
    names.iter().filter(differs).map(|name| (*name).clone()).collect()
}

fn setting(variant: &VariantAnalysis, name: &str) -> String {
    match variant.settings.get(name) {
        Some(values) => values.iter().cloned().collect::<Vec<_>>().join(" / "),
        None => number::NONE.into(),
    }
}

/// Reasons for failed trials: one line for each, whatever its digits and the number of its variants.
fn failures(variants: &[&VariantAnalysis]) -> Vec<Marked> {
    let mut groups: Vec<(&FailureCount, Vec<&VariantAnalysis>, usize, bool)> = Vec::new();
    for &variant in variants {
        for of in &variant.failures {
            let same = |first: &FailureCount| first.kind == of.kind && alike(&first.reason) == alike(&of.reason);
            match groups.iter_mut().find(|(first, ..)| same(first)) {
                Some((first, variants, count, varies)) => {
                    variants.push(variant);
                    *count += of.rounds.len();
                    *varies |= of.varies || first.reason != of.reason;
                }
                None => groups.push((of, vec![variant], of.rounds.len(), of.varies)),
            }
        }
    }
    let line = |(first, variants, count, varies): (&FailureCount, Vec<&VariantAnalysis>, usize, bool)| {
        let label = match variants.len() {
            1 => variants[0].label.clone(),
            n => format!("{} and {}", variants[0].label, number::counted(n as u64 - 1, "other variant")),
        };
        let of = variants.iter().map(|variant| variant.measured + variant.failed()).sum();
        Marked::new("✘", Tone::Bad, failed(&label, (count, of), first, varies))
    };
    groups.into_iter().map(line).collect()
}

/// Formats as `batch=10: 1 of 4 trials failed (invariant): …`.
pub(super) fn failure(variant: &VariantAnalysis, failure: &FailureCount) -> String {
    failed(&variant.label, (failure.rounds.len(), variant.measured + variant.failed()), failure, failure.varies)
}

fn failed(label: &str, (count, of): (usize, u64), failure: &FailureCount, varies: bool) -> String {
    let word = serde_json::to_value(failure.kind).ok();
    let kind = word.as_ref().and_then(|w| w.as_str()).unwrap_or("?");
    let others = if varies { " (the first; others differ in figures)" } else { "" };
    format!("{label}: {count} of {} failed ({kind}): {}{others}", number::counted(of, "trial"), failure.reason)
}

pub(super) fn noise(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Vec<Marked> {
    let delta = number::percent(analysis.tolerance);
    let line = |check: &crate::analysis::AaCheck| {
        let metric = &check.comparison.metric;
        let ratio = check.comparison.ratio.as_ref();
        let shown = ratio.ok().and_then(|r| number::ratio(&r.ratio)).unwrap_or_default();
        let pair = format!("A/A in {metric}: two identical variants differ by {shown}");
        match check.noise {
            Noise::Quiet => Marked::new("=", Tone::Good, format!("{pair}: differences beyond {delta} can be told")),
            Noise::False => Marked::new(
                "!",
                Tone::Warn,
                format!(
                    "{pair}, which excludes 1: environment too noisy for {delta}; its verdicts in {metric} are not to be trusted: use a quieter machine and more rounds"
                ),
            ),
            Noise::Wide => Marked::new(
                "!",
                Tone::Warn,
                format!(
                    "{pair}, wider than {delta}: environment too noisy for {delta} in {metric}; use more rounds, longer trials or a quieter machine"
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
            let share = only.share.zip(only.fastest).map(|(share, variant)| {
                let variant = analysis.variants.get(variant).map_or("?", |a| a.label.as_str());
                format!(", {} of the mean transaction of its fastest variant ({variant})", number::percent(share))
            });
            format!("{} per transaction in runner {}{}", nanos(only), only.runner, share.unwrap_or_default())
        }
        several => {
            let share =
                |cost: &HarnessCost| cost.share.map_or_else(String::new, |s| format!(" ({})", number::percent(s)));
            let each: Vec<String> =
                several.iter().map(|cost| format!("{} {}{}", cost.runner, nanos(cost), share(cost))).collect();
            format!("per transaction, and its share of that of the runner's fastest variant: {}", each.join(", "))
        }
    };
    vec![Marked::new("·", Tone::Dim, format!("harness: {text}; not subtracted"))]
}
