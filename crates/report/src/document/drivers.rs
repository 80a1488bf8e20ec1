//! Table of a run's drivers: their languages, and the SQLite inside each.

use std::collections::BTreeSet;

use indexmap::IndexSet;
use litelab_protocol::SqliteBuild;
use litelab_record::RunInfo;

use super::Document;
use super::table::{Cell, Column, Table};
use crate::style::Tone;
use crate::{driver, number};

/// Beginnings of the compile options that affect the speed of every statement: those that
/// <https://sqlite.org/compile.html> recommends for it, and features that are active during every statement. Defaults
/// of PRAGMAs are not among them, because the values in effect are read back.
const TELLING: [&str; 15] = [
    "DEFAULT_MEMSTATUS",
    "DIRECT_OVERFLOW_READ",
    "DISABLE_INTRINSIC",
    "ENABLE_API_ARMOR",
    "ENABLE_MEMORY_MANAGEMENT",
    "ENABLE_PREUPDATE_HOOK",
    "ENABLE_STAT4",
    "ENABLE_UNLOCK_NOTIFY",
    "OMIT_DECLTYPE",
    "OMIT_LOOKASIDE",
    "OMIT_PROGRESS_CALLBACK",
    "SECURE_DELETE",
    "TEMP_STORE",
    "THREADSAFE",
    "USE_ALLOCA",
];

/// Names of the drivers that ran, as in the study and in its order.
pub(super) fn used(info: &RunInfo) -> Vec<&str> {
    let ran = info.plan.variants.iter().filter(|variant| variant.skipped.is_none());
    ran.map(|variant| variant.driver.as_str()).collect::<IndexSet<_>>().into_iter().collect()
}

/// Cells for tables of drivers: the language, and the version of SQLite.
pub(super) fn cells(info: &RunInfo, name: &str) -> [Cell; 2] {
    [driver::language(info, name), driver::sqlite(info, name)].map(text)
}

/// Titles of the columns of [`cells`].
pub(super) const COLUMNS: [&str; 2] = ["language", "SQLite"];

fn text(of: Option<String>) -> Cell {
    of.map_or_else(|| Cell::new(Tone::Dim, number::NONE), Cell::plain)
}

/// Adds the table if there are several drivers.
pub(crate) fn add(document: &mut Document, info: &RunInfo) {
    let names = used(info);
    if names.len() < 2 {
        return;
    }
    let builds: Vec<&SqliteBuild> = names.iter().filter_map(|name| info.driver(name)?.1.sqlite.as_ref()).collect();
    let telling = telling(&builds);
    let columns = ["driver", "language", "runtime", "library", "SQLite", "compiled unlike most"];
    let row = |name: &&str| {
        let found = info.driver(name);
        let runtime = found.map(|(runner, _)| runner.runtime.split(" (").next().unwrap_or_default().to_owned());
        let [language, sqlite] = cells(info, name);
        let options = found.and_then(|(_, d)| d.sqlite.as_ref()).map(|build| unlike(build, &telling));
        let library = text(found.map(|(_, d)| d.version.clone()));
        vec![Cell::plain(*name), language, text(runtime), library, sqlite, text(options)]
    };
    let columns = columns.iter().enumerate().map(|(i, title)| Column::left(*title, u8::from(i > 0)));
    document.heading("Drivers", "and the SQLite inside each");
    document.table(Table { keys: 1, columns: columns.collect(), rows: names.iter().map(row).collect() });
    let full =
        "compile options that bear on speed; all of each driver: `litelab export --format json`, under `runners`";
    document.text(Tone::Dim, full);
}

/// Options of [`TELLING`]: those that more than half of the builds have, and the others.
fn telling<'a>(builds: &[&'a SqliteBuild]) -> (BTreeSet<&'a str>, BTreeSet<&'a str>) {
    let all = builds.iter().flat_map(|b| &b.compile_options).map(String::as_str);
    let bears = all.filter(|option| TELLING.iter().any(|start| option.starts_with(start)));
    let have = |option: &&str| builds.iter().filter(|b| b.compile_options.iter().any(|o| o == option)).count();
    bears.partition(|option| 2 * have(option) > builds.len())
}

/// Options that a build has unlike most, and options that it lacks unlike most. Of an option with a value, only its own
/// value.
fn unlike(build: &SqliteBuild, (most, few): &(BTreeSet<&str>, BTreeSet<&str>)) -> String {
    let has = |option: &str| build.compile_options.iter().any(|o| o == option);
    let own: Vec<&str> = few.iter().copied().filter(|option| has(option)).collect();
    let name = |option: &str| option.split('=').next().unwrap_or_default().to_owned();
    let replaced = |option: &&&str| option.contains('=') && own.iter().any(|o| name(o) == name(option));
    let lacks = most.iter().filter(|option| !has(option) && !replaced(option)).map(|option| format!("no {option}"));
    let all: Vec<String> = own.iter().map(|o| (*o).to_owned()).chain(lacks).collect();
    if all.is_empty() { "as most".into() } else { all.join(", ") }
}
