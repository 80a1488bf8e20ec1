//! Table of scenarios that vary the same single dimension, with a row for each of its values.

use litelab_model::Scalar;
use litelab_record::RunInfo;

use super::table::{Cell, Column, Table};
use super::{Document, Element, cell, drivers};
use crate::analysis::{Analysis, ScenarioAnalysis, VariantAnalysis};
use crate::number;
use crate::style::Tone;

/// Smallest number of scenarios; fewer are as easy to read one by one.
const LEAST: usize = 3;

/// Adds the table if there are enough scenarios with the same single dimension.
pub(super) fn add(document: &mut Document, analysis: &Analysis, info: &RunInfo) {
    let Some(dimension) = shared(analysis) else { return };
    let scenarios: Vec<&ScenarioAnalysis> = analysis.scenarios.iter().filter(|s| s.dimensions == [dimension]).collect();
    let values = values(&scenarios, analysis, dimension);
    if values.len() < 2 {
        return;
    }
    let of_drivers = dimension == "driver";
    let mut columns = vec![Column::left(dimension, 0)];
    if of_drivers {
        columns.extend(drivers::COLUMNS.map(|title| Column::left(title, 1)));
    }
    let levels: Vec<Option<String>> = scenarios.iter().map(|s| common_level(s, analysis)).collect();
    for (scenario, level) in scenarios.iter().zip(&levels) {
        let level = level.as_ref().map_or_else(String::new, |level| format!(" {level}"));
        columns.push(Column::right(format!("{}{level}", scenario.name), 1));
    }
    let row = |value: &Scalar| {
        let mut row = vec![Cell::plain(value.to_string())];
        if of_drivers {
            row.extend(drivers::cells(info, &value.to_string()));
        }
        row.extend(
            scenarios.iter().zip(&levels).map(|(s, level)| value_of(s, analysis, (dimension, value), level.is_none())),
        );
        row
    };
    document
        .heading("Overview", &format!("the first metric of {}", number::counted(scenarios.len() as u64, "scenario")));
    document.elements.push(Element::Table(Table { keys: 1, columns, rows: values.iter().map(row).collect() }));
    let text = "median ± the farther end of its 95 % interval ([?]: too few rounds for one), and the durability it has; \
                what is told apart is said in each scenario";
    document.text(Tone::Dim, text);
    let metrics: Vec<String> =
        scenarios.iter().filter_map(|s| Some(format!("{} {}", s.name, s.metrics.first()?))).collect();
    document.text(Tone::Dim, format!("shown is of {}", metrics.join(" · ")));
}

/// The dimension that is most often the only one of a scenario.
fn shared(analysis: &Analysis) -> Option<&str> {
    let only = |s: &&ScenarioAnalysis| s.dimensions.len() == 1;
    let names: Vec<&str> = analysis.scenarios.iter().filter(only).map(|s| s.dimensions[0].as_str()).collect();
    let count = |name: &&str| names.iter().filter(|n| *n == name).count();
    let most = names.iter().max_by_key(|name| count(name))?;
    (count(most) >= LEAST).then_some(*most)
}

/// Values of the dimension in variants that were run, in order of first appearance.
fn values(scenarios: &[&ScenarioAnalysis], analysis: &Analysis, dimension: &str) -> Vec<Scalar> {
    let mut values: Vec<Scalar> = Vec::new();
    for variant in scenarios.iter().flat_map(|s| variants(s, analysis)).filter(|variant| variant.skipped.is_none()) {
        match variant.dimensions.get(dimension) {
            Some(value) if !values.contains(value) => values.push(value.clone()),
            _ => {}
        }
    }
    values
}

fn variants<'a>(scenario: &ScenarioAnalysis, analysis: &'a Analysis) -> Vec<&'a VariantAnalysis> {
    scenario.variants.iter().filter_map(|index| analysis.variants.get(*index)).collect()
}

/// The durability level of all measured variants of a scenario, if they share it.
fn common_level(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Option<String> {
    let measured = variants(scenario, analysis).into_iter().filter(|variant| variant.measured > 0);
    let mut levels = measured.map(|variant| variant.durability);
    let first = levels.next()??;
    levels.all(|level| level == Some(first)).then(|| first.to_string())
}

fn value_of(
    scenario: &ScenarioAnalysis,
    analysis: &Analysis,
    (dimension, value): (&str, &Scalar),
    with_level: bool,
) -> Cell {
    let none = || Cell::new(Tone::Dim, number::NONE);
    let Some(metric) = scenario.metrics.first() else { return none() };
    let variant =
        variants(scenario, analysis).into_iter().find(|variant| variant.dimensions.get(dimension) == Some(value));
    let Some((variant, estimate)) = variant.and_then(|variant| Some((variant, variant.estimate(metric)?))) else {
        return none();
    };
    let mut text = cell::max_of(variant, metric) + &number::brief(estimate, metric.unit());
    if with_level {
        let level = variant.durability.map_or_else(|| "?".to_owned(), |level| level.to_string());
        text.push_str(&format!(" {level}"));
    }
    Cell::plain(text)
}
