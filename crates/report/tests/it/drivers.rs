//! Drivers of several languages in one run: the SQLite of each, and one table of all of them.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use crate::common::plan::{empty, scenario, text, variant};
use crate::common::{Numbers, environment, record};
use litelab_model::plan::Plan;
use litelab_protocol::{Description, SqliteBuild};
use litelab_record::Recorder;
use litelab_report::{Style, analyse, show_all};

/// The runner of the other tests under another name, whose first driver has this SQLite and these options.
fn runner(name: &str, language: &str, driver: &str, version: &str, options: &[&str]) -> Description {
    let mut description = environment::runner();
    (description.runner, description.language) = (name.into(), language.into());
    description.drivers[0].name = driver.into();
    description.drivers[0].sqlite = Some(SqliteBuild {
        version: version.into(),
        source_id: "2026".into(),
        compile_options: options.iter().map(|o| (*o).to_owned()).collect(),
    });
    description
}

const DRIVERS: [&str; 3] = ["mattn", "python:sqlite3", "node:sqlite"];

fn plan(scenarios: &[&str]) -> Plan {
    let variants = |s: usize| {
        DRIVERS
            .map(|driver| litelab_model::Variant { driver: driver.into(), ..variant(s, &[("driver", text(driver))]) })
    };
    Plan {
        scenarios: scenarios
            .iter()
            .enumerate()
            .map(|(i, name)| scenario(name, 6, &["driver"], 3 * i, &["p50"]))
            .collect(),
        variants: (0..scenarios.len()).flat_map(variants).collect(),
        ..empty()
    }
}

fn shown(plan: &Plan, settings: impl Fn(usize) -> (&'static str, i64)) -> String {
    let directory = tempfile::tempdir().unwrap();
    let prepare = |recorder: &Recorder| {
        recorder.runner(&runner("go", "go", "mattn", "3.53.4", &["THREADSAFE=1", "ENABLE_STAT4", "SOUNDEX"])).unwrap();
        recorder.runner(&runner("python", "python", "sqlite3", "3.40.1", &["THREADSAFE=1", "SECURE_DELETE"])).unwrap();
        // The name of the driver `node:sqlite` begins like that of a runner.
        for name in ["go", "node"] {
            recorder.calibration(0, name, &common::measurement::noop()).unwrap();
        }
        recorder.runner(&runner("node", "node", "node:sqlite", "3.54.1", &["THREADSAFE=2", "ENABLE_STAT4"])).unwrap();
    };
    let numbers = |round: u32, variant: usize| Numbers {
        p50_ns: 100_000 * (variant as u64 + 1) + 1_000 * u64::from(round),
        settings: vec![settings(variant)],
        ..Numbers::default()
    };
    let trial = |round, variant| Some(numbers(round, variant).into());
    let trial =
        |round, variant: usize| if plan.variants[variant].skipped.is_some() { None } else { trial(round, variant) };
    let (file, info) = record(&directory.path().join("run.db"), plan, prepare, trial);
    show_all(&analyse(&file, &info).unwrap(), &info, Style { color: false, width: 240 })
}

fn has_line(text: &str, words: &[&str]) -> bool {
    text.lines().any(|line| line.split_whitespace().collect::<Vec<_>>() == words)
}

#[test]
fn each_driver_has_its_language_and_the_sqlite_inside() {
    let shown = shown(&plan(&["load"]), |_| ("wal", 2));
    assert!(has_line(&shown, &["mattn", "Go", "rustc", "1.95.0", "1.2.3", "3.53.4", "as", "most"]), "{shown}");
    let python = "python:sqlite3 Python rustc 1.95.0 1.2.3 3.40.1 SECURE_DELETE, no ENABLE_STAT4";
    assert!(has_line(&shown, &python.split(' ').collect::<Vec<_>>()), "{shown}");
    let node = "node:sqlite Node.js rustc 1.95.0 1.2.3 3.54.1 THREADSAFE=2";
    assert!(has_line(&shown, &node.split(' ').collect::<Vec<_>>()), "{shown}");
    let defect = "! SQLite 3.40.1 of python:sqlite3: WAL-reset bug: two connections that write";
    assert!(shown.contains(defect) && shown.contains("; use 3.51.3"), "{shown}");
    assert!(!shown.contains("SOUNDEX") && shown.contains("litelab export --format json"), "{shown}");
    assert!(!shown.contains("\n  SQLite "), "said in the table, and not a second time");
    // The costs of several runners are one line, not one line each.
    let harness = "harness: per transaction, and its share of that of the runner's fastest variant: go 500 ns (";
    assert!(
        shown.contains(harness) && shown.contains("), node 500 ns (") && shown.contains("; not subtracted"),
        "{shown}"
    );
    // The table of the scenario has language, SQLite and durability level as well.
    let row = shown.lines().find(|line| line.starts_with("  node:sqlite ") && line.contains("µs")).unwrap();
    assert!(row.contains("Node.js") && row.contains("3.54.1") && row.contains("  safe  "), "{row}");
}

#[test]
fn what_is_not_here_is_said_once_and_in_no_table() {
    let mut plan = plan(&["load", "insert", "point"]);
    for variant in plan.variants.iter_mut().filter(|a| a.driver == "node:sqlite") {
        variant.skipped = Some("driver `node:sqlite` of runner `node` is not here: install it".into());
    }
    let shown = shown(&plan, |_| ("wal", 2));
    assert_eq!(shown.matches("install it").count(), 1, "{shown}");
    assert!(
        shown.contains("– 3 variants skipped: driver `node:sqlite` of runner `node` is not here: install it"),
        "{shown}"
    );
    assert_eq!(shown.matches("6 of 6 rounds · 1 of 3 variants skipped").count(), 3, "{shown}");
    assert!(!shown.lines().any(|line| line.starts_with("  node:sqlite")), "{shown}");
}
