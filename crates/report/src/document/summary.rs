//! Short document of a run: for each scenario one table and its answer in sentences, and at the end the answer of the
//! study.

use litelab_model::metric::{Measure, Metric};
use litelab_record::RunInfo;
use litelab_stats::Estimate;

use super::answer::{self, level_tone, level_words};
use super::table::{Cell, Column, Table};
use super::{Document, Element, Marked, content, crossover, flame, header, outcome, scenario as full};
use crate::analysis::{Analysis, ScenarioAnalysis, Starvation, VariantAnalysis, words};
use crate::number::{self, Shared};
use crate::style::Tone;

/// Renders a run for a terminal of `width` columns.
#[must_use]
pub fn of_run_in_short(analysis: &Analysis, info: &RunInfo, width: usize) -> Document {
    let mut document = Document::default();
    header::brief(&mut document, info);
    for scenario in &analysis.scenarios {
        document.marked(problems(scenario, analysis));
    }
    document.text(
        Tone::Dim,
        "► best variant of its durability level · ≈ not told apart from it · ±: 95 % interval, [?]: too few rounds · \
         slowest: longest wait, median over rounds · all numbers: --all",
    );
    for scenario in &analysis.scenarios {
        add(&mut document, scenario, analysis, (info, width));
    }
    let crossovers = crossover::tabled(analysis).into_iter().filter(|of| matches!(of, Element::Table(_)));
    let crossovers: Vec<Element> = crossovers.collect();
    if !crossovers.is_empty() {
        document.heading("Crossovers", "from where on the other is ahead of the base");
        document.elements.extend(crossovers);
    }
    claims(&mut document, analysis);
    conclusion(&mut document, analysis);
    document
}

/// What went wrong in a scenario.
fn problems(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Vec<Marked> {
    let checked = scenario.among(analysis).filter_map(|variant| {
        Some(Marked::new("✘", Tone::Bad, format!("{}: {}", variant.words, content::remark(scenario, variant)?)))
    });
    let problems = scenario.answer.problems.iter().map(|problem| answer::problem(problem, analysis));
    let mut lines: Vec<Marked> = problems.chain(checked).collect();
    lines.iter_mut().for_each(|line| line.text.insert_str(0, &format!("{}: ", scenario.name)));
    lines
}

fn add(document: &mut Document, scenario: &ScenarioAnalysis, analysis: &Analysis, (info, width): (&RunInfo, usize)) {
    document.heading(&scenario.name, &scenario.question);
    let rounds = number::counted(scenario.done, "round");
    document.text(Tone::Dim, answer::constant(scenario).chain([rounds]).collect::<Vec<_>>().join(" · "));
    let mut measured: Vec<&VariantAnalysis> = scenario.measured(analysis).collect();
    if !measured.is_empty() {
        order(&mut measured, scenario);
        document.table(table(scenario, &measured, width));
    }
    let beside = scenario.answer.undecided.iter().map(answer::undecided);
    document.marked(answer::levels(scenario, analysis).into_iter().chain(beside).collect());
    document.marked(outcome::effects(scenario));
    document.marked(outcome::scalability(scenario));
    document.elements.extend(flame::elements(scenario, analysis, info));
    // Of the checks only what makes numbers doubtful.
    document.marked(full::noise(scenario, analysis).into_iter().filter(|line| line.mark == "!").collect());
}

/// The safest first and then by the deciding metric, unless a dimension is a number, which has an order of its own.
fn order(variants: &mut [&VariantAnalysis], scenario: &ScenarioAnalysis) {
    let is_number = |value: &litelab_model::Scalar| value.to_string().parse::<f64>().is_ok();
    if variants.iter().any(|variant| variant.dimensions.values().any(is_number)) {
        return;
    }
    let Some(metric) = scenario.metrics.first() else { return };
    variants.sort_by(|a, b| b.durability.cmp(&a.durability).then(a.rank(metric).total_cmp(&b.rank(metric))));
}

/// One table that fits the width: what varies, the deciding metric, as many others as there is room for, the longest
/// wait and who starves.
fn table(scenario: &ScenarioAnalysis, variants: &[&VariantAnalysis], width: usize) -> Table {
    let longest = scenario.longest();
    let fairness = Metric::from(Measure::Fairness);
    let is_plain = |metric: &&Metric| {
        let longest_of_few =
            variants.iter().filter_map(|v| v.metrics.get(*metric)).any(|values| values.max_of.is_some());
        **metric != longest && **metric != fairness && !longest_of_few
    };
    let others: Vec<&Metric> = scenario.metrics.iter().skip(1).filter(is_plain).collect();
    let build = |count: usize| {
        let first = scenario.metrics.iter().take(1);
        let metrics: Vec<&Metric> = first.chain(others.iter().take(count).copied()).collect();
        columns(scenario, variants, &metrics, &longest)
    };
    let fits = |table: &Table| table.width() <= width;
    (0..=others.len()).rev().map(build).find(fits).unwrap_or_else(|| build(0))
}

fn columns(scenario: &ScenarioAnalysis, variants: &[&VariantAnalysis], metrics: &[&Metric], longest: &Metric) -> Table {
    let names = full::dimensions(scenario, variants);
    let varies =
        |of: &dyn Fn(&VariantAnalysis) -> String| variants.iter().any(|variant| of(variant) != of(variants[0]));
    let mut columns = Vec::new();
    let mut rows: Vec<Vec<Cell>> = vec![Vec::new(); variants.len()];
    let mut add = |column: Column, cells: Vec<Cell>| {
        columns.push(column);
        rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    };
    let marks: Vec<Cell> = variants.iter().map(|variant| mark(scenario, variant)).collect();
    if marks.iter().any(|mark| !mark.text.is_empty()) {
        add(Column::left("", 0), marks);
    }
    let value = |variant: &VariantAnalysis, name: &str| match variant.dimensions.get(name) {
        Some(value) => words::value(name, value),
        None if name == full::VARIANT => variant.words.clone(),
        None => number::NONE.into(),
    };
    for name in names.iter().filter(|name| varies(&|variant| value(variant, name))) {
        let cells = variants.iter().map(|variant| Cell::plain(value(variant, name)));
        add(Column::left(words::dimension(name), 0), cells.collect());
    }
    if varies(&|variant| level_words(variant.durability).to_owned()) {
        let cells = variants.iter().map(|v| Cell::new(level_tone(v.durability), level_words(v.durability)));
        add(Column::left("after power loss", 0), cells.collect());
    }
    let mut numbers = |title: &str, metric: &Metric, brief: bool| {
        let estimates: Vec<Option<&Estimate>> = variants.iter().map(|variant| variant.estimate(metric)).collect();
        if estimates.iter().all(Option::is_none) {
            return;
        }
        let shared = Shared::of(estimates.iter().flatten().map(|estimate| estimate.value), metric.unit());
        let cells = variants.iter().zip(&estimates).map(|(variant, estimate)| match estimate {
            Some(estimate) if brief => Cell::plain(shared.value(estimate.value)),
            Some(estimate) => Cell::plain(super::cell::max_of(variant, metric) + &shared.brief(estimate)),
            None => Cell::new(Tone::Dim, number::NONE),
        });
        let unit = if shared.unit().is_empty() { String::new() } else { format!(" {}", shared.unit()) };
        add(Column::right(format!("{title}{unit}"), 1), cells.collect());
    };
    for metric in metrics {
        numbers(&title(metric), metric, false);
    }
    if !metrics.contains(&longest) {
        numbers("slowest", longest, true);
    }
    if variants.iter().any(|variant| Starvation::of(variant) != Starvation::No) {
        let cell = |variant: &&VariantAnalysis| match Starvation::of(variant) {
            of @ Starvation::No => Cell::plain(of.words()),
            of @ Starvation::Some => Cell::new(Tone::Warn, of.words()),
            of @ Starvation::Severe => Cell::new(Tone::Bad, of.words()),
        };
        add(Column::left("starved", 1), variants.iter().map(cell).collect());
    }
    let keys = columns.iter().filter(|column| column.group == 0).count();
    Table { keys, columns, rows }
}

/// Title of a metric's column: what is counted, for a rate.
fn title(metric: &Metric) -> String {
    match (metric.measure, &metric.transaction) {
        (Measure::Throughput, None) => "commits".into(),
        (Measure::Throughput, Some(transaction)) => transaction.clone(),
        (Measure::RowsPerSecond, None) => "rows".into(),
        _ => metric.to_string(),
    }
}

/// `►` for the best variant of its durability level, `≈` for one that is not distinguished from it.
fn mark(scenario: &ScenarioAnalysis, variant: &VariantAnalysis) -> Cell {
    match scenario.answer.level(variant.durability) {
        Some(level) if level.best == variant.index && level.of > 1 => Cell::new(Tone::Strong, "►"),
        Some(level) if level.ties.contains(&variant.index) => Cell::plain("≈"),
        _ => Cell::default(),
    }
}

/// One line for each decided claim: the verdict, what was measured and asked, the sentence.
fn claims(document: &mut Document, analysis: &Analysis) {
    let claims = super::claims::listed(analysis);
    if claims.is_empty() {
        return;
    }
    document.heading("Claims", &super::claims::counts(analysis));
    let (open, decided): (Vec<_>, Vec<_>) = claims.into_iter().partition(|of| of.tone == Tone::Warn);
    let line = |of: super::ClaimElement| {
        let mark = format!("{} {} ({})", of.glyph, of.word, of.origin.name());
        Marked::new(mark, of.tone, format!("{} ({}): {}", of.measured, of.asked, of.text))
    };
    document.marked(decided.into_iter().map(line).collect());
    if !open.is_empty() {
        document.marked(vec![Marked::new("?", Tone::Warn, format!("{} open, with the reason in --all", open.len()))]);
    }
}

/// The findings of the study, else the safest choice of each scenario if there are several, or why there is none.
fn conclusion(document: &mut Document, analysis: &Analysis) {
    let text = |text: &str| Marked::new("►", Tone::Strong, text);
    let lines: Vec<Marked> = if !analysis.findings.is_empty() {
        analysis.findings.iter().map(|finding| text(finding)).collect()
    } else if analysis.scenarios.len() > 1 {
        let best = |scenario: &ScenarioAnalysis| {
            let all_tied =
                scenario.answer.levels.first().is_none_or(|first| first.of > 1 && first.ties.len() + 1 == first.of);
            let open = scenario.answer.undecided.as_ref().filter(|_| all_tied).map(answer::undecided);
            let first = open.or_else(|| answer::levels(scenario, analysis).into_iter().next())?;
            Some(Marked::new(first.mark, first.tone, format!("{}: {}", scenario.name, first.text)))
        };
        analysis.scenarios.iter().filter_map(best).collect()
    } else {
        Vec::new()
    };
    if !lines.is_empty() {
        document.heading("Answer", "");
        document.marked(lines);
    }
}
