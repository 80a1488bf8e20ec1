//! Heat map of the first metric over two dimensions.

use super::{Figure, Source};
use crate::analysis::{ArmAnalysis, better};
use crate::chart::{Cell, Dimension, Heatmap};
use crate::document::max_of;
use crate::number;

/// Largest number of levels of a dimension in a heat map.
const MOST: usize = 24;

pub(super) fn figure(source: Source<'_>) -> Option<Figure> {
    let scenario = source.scenario;
    let metric = scenario.metrics.first()?;
    let [rows, columns] = scenario.dimensions.as_slice() else { return None };
    let arms: Vec<&ArmAnalysis> = scenario.arms.iter().filter_map(|i| source.arm(*i)).collect();
    let levels = |dimension: &String| {
        let mut levels: Vec<String> = Vec::new();
        for level in arms.iter().filter_map(|arm| arm.dimensions.get(dimension)).map(ToString::to_string) {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        levels
    };
    let (down, across) = (levels(rows), levels(columns));
    let size = 2..=MOST;
    // With more than half of the combinations missing, a list is clearer than a map.
    if !size.contains(&down.len()) || !size.contains(&across.len()) || arms.len() * 2 < down.len() * across.len() {
        return None;
    }
    let at = |arm: &ArmAnalysis, dimension: &String, level: &String| {
        arm.dimensions.get(dimension).is_some_and(|value| value.to_string() == *level)
    };
    let cell = |row: &String, column: &String| {
        let arm = arms.iter().find(|arm| at(arm, rows, row) && at(arm, columns, column));
        let missing = |word: &str, reason: &str| Cell::Missing { word: word.into(), reason: reason.into() };
        match arm {
            None => missing("–", "not part of the study"),
            Some(arm) => match (arm.estimate(metric), &arm.skipped, arm.failures.first()) {
                (Some(estimate), ..) => {
                    let note = max_of(arm, metric) + &number::sentence(estimate, metric.unit());
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
        "Medians over blocks, the best outlined; it describes and decides nothing: verdicts are in the table.".into();
    Some(Figure { chart: Box::new(chart), note, arms: arms.iter().map(|arm| arm.index).collect(), course: None })
}
