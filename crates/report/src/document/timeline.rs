//! Table of a scenario's time series, with a row for each variant and window.

use super::table::{Cell, Column, Table};
use crate::analysis::timeline::QUANTITIES;
use crate::analysis::{Analysis, ScenarioAnalysis};
use crate::number;

/// The table; `None` if the scenario requests no timeline, or nothing was measured.
pub(super) fn table(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Option<Table> {
    let mut rows = Vec::new();
    for timeline in &scenario.timelines {
        let label = analysis.variants.get(timeline.variant).map_or("?", |variant| variant.label.as_str());
        for window in &timeline.windows {
            let (from, to) = window.seconds;
            // Enough places to tell the windows apart.
            let places = if to - from >= 0.1 { 1 } else { 3 };
            let mut row = vec![Cell::plain(label), Cell::plain(format!("{from:.places$}–{to:.places$} s"))];
            let values = window.values.iter().zip(QUANTITIES).map(|(value, (_, unit))| {
                Cell::plain(value.as_ref().map_or_else(|| number::NONE.into(), |e| number::estimate(e, unit)))
            });
            row.extend(values);
            rows.push(row);
        }
    }
    let mut columns = vec![Column::left("variant", 0), Column::left("time", 0)];
    columns.extend(QUANTITIES.map(|(name, _)| Column::right(name, 1)));
    (!rows.is_empty()).then_some(Table { keys: 2, columns, rows })
}
