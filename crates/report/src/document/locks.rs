//! Table of the locks of a scenario's trials, and of how the processes shared them.

use super::table::{Cell, Column, Table};
use crate::analysis::{Analysis, ScenarioAnalysis};
use crate::number;

/// Share of the samples below which a lock is left out.
const LEAST: f64 = 0.01;

/// The table; `None` if no lock was held in a hundredth of the samples.
pub(super) fn table(scenario: &ScenarioAnalysis, analysis: &Analysis) -> Option<Table> {
    let mut rows = Vec::new();
    for variant in scenario.among(analysis) {
        for one in variant.locks.iter().filter(|one| one.share >= LEAST) {
            let lock = match one.lock.as_str() {
                "read 1" => "snapshot behind the log",
                "read 0" => "snapshot without the log",
                lock => lock,
            };
            let most = if one.processes > 1 { number::percent(one.most) } else { number::NONE.into() };
            let cells = [number::percent(one.share), one.processes.to_string(), most].map(Cell::plain);
            rows.push([Cell::plain(&*variant.label), Cell::plain(lock)].into_iter().chain(cells).collect());
        }
    }
    let columns = vec![
        Column::left("variant", 0),
        Column::left("lock", 0),
        Column::right("held in samples", 1),
        Column::right("by processes", 1),
        Column::right("most by one", 1),
    ];
    (!rows.is_empty()).then_some(Table { keys: 2, columns, rows })
}
