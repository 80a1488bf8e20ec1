//! A study with drivers from the command line in place of its own.

use litelab_model::{Options, Plan};

use crate::support::resolve_beside;

/// Three variants, two of which a claim and the baseline select by their driver.
const STUDY: &str = r#"
name = "x"
title = "x"
[[scenario]]
name = "s"
workload = "insert"
role.r = { run = "insert", count = 1 }
vary.driver = ["mattn", "modernc"]
vary.batch = [1, 2]
baseline = { driver = "modernc", batch = 2 }
[[claim]]
name = "c"
text = "modernc is slower"
scenario = "s"
metric = "p50"
variant = { driver = "modernc", batch = 1 }
against = { driver = "mattn", batch = 1 }
at_least = 1.0
"#;

fn plan(drivers: &[&str]) -> Plan {
    let drivers = drivers.iter().map(|driver| (*driver).to_owned()).collect();
    resolve_beside(&[], STUDY, &Options { drivers, ..Options::default() }).expect("it resolves")
}

fn variants(plan: &Plan) -> Vec<(&str, String)> {
    plan.variants.iter().map(|variant| (variant.driver.as_str(), variant.label())).collect()
}

#[test]
fn without_any_it_is_as_written() {
    let plan = plan(&[]);
    assert_eq!((plan.variants.len(), plan.claims.len(), plan.scenarios[0].baseline), (4, 1, 3));
}

#[test]
fn one_takes_the_place_of_all_and_stays_in_the_table() {
    let plan = plan(&["python:sqlite3"]);
    let expected =
        [("python:sqlite3", "driver=python:sqlite3 batch=1"), ("python:sqlite3", "driver=python:sqlite3 batch=2")];
    assert_eq!(variants(&plan), expected.map(|(driver, label)| (driver, label.to_owned())));
    assert_eq!(plan.scenarios[0].baseline, 1, "the rest of its selector holds");
    assert!(plan.claims.is_empty() && plan.left_out == ["c"], "a claim about other drivers is left out");
}

#[test]
fn several_are_combined_with_everything_else() {
    let plan = plan(&["a", "b"]);
    let drivers: Vec<_> = variants(&plan).into_iter().map(|(driver, _)| driver).collect();
    assert_eq!(drivers, ["a", "b", "a", "b"]);
    assert_eq!(plan.drivers, ["a", "b"]);
}
