//! Settings that were read back and differ between the cells of a table: differences of its columns and rows besides
//! the dimensions.

use std::collections::BTreeSet;

use litelab_record::RunInfo;

use super::GridRow;
use crate::analysis::{Analysis, VariantAnalysis};
use crate::driver;
use crate::number;

/// Name of the durability level, which comes first and is given even if it is the same everywhere.
const DURABILITY: &str = "durability";

/// Settings of a table's variants, as printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Durability level shared by all variants; other settings are not given if they are the same everywhere.
    pub common: Option<String>,
    /// Settings that differ between columns: the name, and the values of each column's variants.
    pub by_column: Vec<(String, Vec<String>)>,
    /// Settings that differ between the rows of a column: the name, and the values of each row's variants.
    pub by_row: Vec<(String, Vec<String>)>,
}

type Values = BTreeSet<String>;

/// Collects the settings of the variants in the cells, without the `dimensions` that the table has already.
pub(super) fn settings(
    lines: &[GridRow],
    columns: usize,
    dimensions: &[String],
    analysis: &Analysis,
    info: &RunInfo,
) -> Settings {
    let variant = |line: &GridRow, column: usize| {
        let cell = line.cells.get(column)?.as_ref()?;
        analysis.variants.get(cell.variant).filter(|variant| variant.measured > 0)
    };
    let variants: Vec<&VariantAnalysis> =
        lines.iter().flat_map(|l| (0..columns).filter_map(|c| variant(l, c))).collect();
    let read: BTreeSet<&str> = variants.iter().flat_map(|a| a.settings.keys().map(String::as_str)).collect();
    let mut found = Settings::default();
    for name in [DURABILITY, "language", "SQLite"].into_iter().chain(read) {
        if dimensions.iter().any(|d| d == name) {
            continue;
        }
        // SQLite and a server have different settings anyway.
        let told = variants.iter().any(|variant| {
            let first = variants.iter().find(|first| first.dialect == variant.dialect);
            first.is_some_and(|first| values(first, name, info) != values(variant, name, info))
        });
        if name != DURABILITY && !told {
            continue;
        }
        let of = |line: &GridRow, column: usize| variant(line, column).map(|variant| values(variant, name, info));
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

fn values(variant: &VariantAnalysis, name: &str, info: &RunInfo) -> Values {
    match name {
        DURABILITY => [variant.durability.map_or_else(|| "?".to_owned(), |level| level.words().to_owned())].into(),
        "language" => driver::language(info, &variant.driver).into_iter().collect(),
        "SQLite" => driver::sqlite(info, &variant.driver).into_iter().collect(),
        // A driver that does not report the setting.
        _ => variant.settings.get(name).cloned().unwrap_or_else(|| [number::NONE.to_owned()].into()),
    }
}

fn differ(mut sets: impl Iterator<Item = Values>) -> bool {
    let first = sets.next();
    sets.any(|set| Some(&set) != first.as_ref())
}

fn shown(set: Values) -> String {
    if set.is_empty() { number::NONE.into() } else { set.into_iter().collect::<Vec<_>>().join(" / ") }
}
