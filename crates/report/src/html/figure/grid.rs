//! Heat map of the first metric over two dimensions.

use super::{Figure, Source};
use crate::analysis::{VariantAnalysis, better};
use crate::chart::{Cell, Dimension, Heatmap};
use crate::document::max_of;
use crate::number;

/// Largest number of levels of a dimension in a heat map.
const MOST: usize = 24;

pub(super) fn figure(source: Source<'_>) -> Option<Figure> {
    let scenario = source.scenario;
    let metric = scenario.metrics.first()?;
    let [rows, columns] = scenario.dimensions.as_slice() else { return None };
    let variants: Vec<&VariantAnalysis> = scenario.variants.iter().filter_map(|i| source.variant(*i)).collect();
    let levels = |dimension: &String| {
        let mut levels: Vec<String> = Vec::new();
        for level in variants.iter().filter_map(|variant| variant.dimensions.get(dimension)).map(ToString::to_string) {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        levels
    };
    let (down, across) = (levels(rows), levels(columns));
    let size = 2..=MOST;
    // With more than half of the combinations missing, a list is clearer than a map.
    if !size.contains(&down.len()) || !size.contains(&across.len()) || variants.len() * 2 < down.len() * across.len() {
        return None;
    }
    let at = |variant: &VariantAnalysis, dimension: &String, level: &String| {
        variant.dimensions.get(dimension).is_some_and(|value| value.to_string() == *level)
    };
    let cell = |row: &String, column: &String| {
        let variant = variants.iter().find(|variant| at(variant, rows, row) && at(variant, columns, column));
        let missing = |word: &str, reason: &str| Cell::Missing { word: word.into(), reason: reason.into() };
        match variant {
            None => missing("–", "not part of the study"),
            Some(variant) => match (variant.estimate(metric), &variant.skipped, variant.failures.first()) {
                (Some(estimate), ..) => {
                    let note = max_of(variant, metric) + &number::sentence(estimate, metric.unit());
                    Cell::Value { value: estimate.value, note }
                }
                (None, Some(why), _) => missing("skipped", why),
                (None, None, Some(failure)) => missing("failed", &failure.reason),
                (None, None, None) => missing("–", "nothing was measured"),
            },
        }
    };
    let cells: Vec<Vec<Cell>> =
        down.iter().map(|row| across.iter().map(|column| cell(row, column)).collect()).collect();
    if !cells.iter().flatten().any(|cell| matches!(cell, Cell::Value { .. })) {
        return None;
    }
    let chart = Heatmap {
        title: format!("{}: {metric} by {rows} and {columns}", scenario.name),
        summary: String::new(),
        metric: metric.to_string(),
        unit: Some(metric.unit()),
        better: Some(better(metric)),
        rows: Dimension { name: rows.clone(), levels: down },
        columns: Dimension { name: columns.clone(), levels: across },
        cells,
    };
    let note =
        "Medians over rounds, the best outlined; it describes and decides nothing: verdicts are in the table.".into();
    Some(Figure {
        chart: Box::new(chart),
        note,
        variants: variants.iter().map(|variant| variant.index).collect(),
        course: None,
    })
}
