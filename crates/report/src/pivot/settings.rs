//! Settings that were read back and are not the same in all cells of a table: what else than its dimensions its columns
//! and rows differ in.

use std::collections::BTreeSet;

use litelab_record::RunInfo;

use super::Line;
use crate::analysis::{Analysis, ArmAnalysis};
use crate::document;
use crate::number;

/// What its arms' settings buy; stands first, and is said even where it is the same everywhere.
const DURABILITY: &str = "durability";

/// Settings of a table's arms, as they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The same in all arms: durability only, for all else is of no use then.
    pub common: Option<String>,
    /// Not the same in all columns: the name, and what each column's arms have.
    pub by_column: Vec<(String, Vec<String>)>,
    /// Not the same in all rows of one column: the name, and what each row's arms have.
    pub by_row: Vec<(String, Vec<String>)>,
}

type Values = BTreeSet<String>;

/// Of the arms in the cells. `dimensions` are named already.
pub(super) fn settings(
    lines: &[Line],
    columns: usize,
    dimensions: &[String],
    analysis: &Analysis,
    info: &RunInfo,
) -> Settings {
    let arm = |line: &Line, column: usize| {
        let cell = line.cells.get(column)?.as_ref()?;
        analysis.arms.get(cell.arm).filter(|arm| arm.measured > 0)
    };
    let arms: Vec<&ArmAnalysis> = lines.iter().flat_map(|l| (0..columns).filter_map(|c| arm(l, c))).collect();
    let read: BTreeSet<&str> = arms.iter().flat_map(|a| a.settings.keys().map(String::as_str)).collect();
    let mut found = Settings::default();
    for name in [DURABILITY, "language", "SQLite"].into_iter().chain(read) {
        if dimensions.iter().any(|d| d == name) {
            continue;
        }
        // That SQLite and a server have different settings goes without saying.
        let told = arms.iter().any(|arm| {
            let first = arms.iter().find(|first| first.dialect == arm.dialect);
            first.is_some_and(|first| values(first, name, info) != values(arm, name, info))
        });
        if name != DURABILITY && !told {
            continue;
        }
        let of = |line: &Line, column: usize| arm(line, column).map(|arm| values(arm, name, info));
        let union = |sets: &mut dyn Iterator<Item = Values>| -> Values { sets.flatten().collect() };
        let by_column: Vec<Values> =
            (0..columns).map(|c| union(&mut lines.iter().filter_map(|line| of(line, c)))).collect();
        let by_row: Vec<Values> = lines.iter().map(|l| union(&mut (0..columns).filter_map(|c| of(l, c)))).collect();
        let within_column = (0..columns).any(|c| differ(lines.iter().filter_map(|line| of(line, c))));
        let within_row = lines.iter().any(|line| differ((0..columns).filter_map(|c| of(line, c))));
        let text = |sets: Vec<Values>| sets.into_iter().map(shown).collect::<Vec<_>>();
        if name == DURABILITY && !within_column && !within_row {
            found.common = by_row.into_iter().find(|set| !set.is_empty()).map(shown);
            continue;
        }
        if within_row {
            found.by_column.push((name.to_owned(), text(by_column)));
        }
        if within_column {
            found.by_row.push((name.to_owned(), text(by_row)));
        }
    }
    found
}

fn values(arm: &ArmAnalysis, name: &str, info: &RunInfo) -> Values {
    match name {
        DURABILITY => [arm.durability.map_or_else(|| "?".to_owned(), |rung| rung.to_string())].into(),
        "language" => document::language_of(info, &arm.driver).into_iter().collect(),
        "SQLite" => document::sqlite_of(info, &arm.driver).into_iter().collect(),
        // A driver that does not report it.
        _ => arm.settings.get(name).cloned().unwrap_or_else(|| [number::NONE.to_owned()].into()),
    }
}

fn differ(mut sets: impl Iterator<Item = Values>) -> bool {
    let first = sets.next();
    sets.any(|set| Some(&set) != first.as_ref())
}

fn shown(set: Values) -> String {
    if set.is_empty() { number::NONE.into() } else { set.into_iter().collect::<Vec<_>>().join(" / ") }
}
