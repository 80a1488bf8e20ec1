//! A driver that is not installed is reported with its remedy and skipped; no other driver fails because of it.

use crate::common::{self, options};
use std::sync::atomic::AtomicBool;

use litelab_conformance::{CheckVerdict, Suite};
use litelab_engine::{Run, Runners};

const OPTIONAL: &str = "[[optional]]\ndriver = \"postgres\"\nremedy = \"install libpq, then build it anew\"\n";

/// The mock with an optional driver in its manifest that the program does not have.
fn runners(home: &std::path::Path) -> Runners {
    let all = common::runners().get("mock").expect("found").manifest.drivers.clone();
    let all: Vec<&str> = all.iter().map(String::as_str).chain(["postgres"]).collect();
    common::disguise(home, "mock", &[], &all, OPTIONAL)
}

fn study(drivers: &str) -> String {
    format!(
        "rounds = 2\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\nrole.w = {{ run = \"insert\", count = 10 }}\n\
         vary.driver = [{drivers}]"
    )
}

#[test]
fn the_suite_skips_it_and_says_what_to_do() {
    let (home, scratch) = (common::scratch(), common::scratch());
    let runners = runners(home.path());
    let suite = Suite::new(&runners, scratch.path()).only(&["waits-for-go"]);

    let report = suite.check("mock:noop", &mut |_| {}).expect("found");
    assert!(report.passed() && report.absent.is_empty(), "{report:?}");
    assert_eq!(report.checks[0].verdict, CheckVerdict::Passed, "{:?}", report.checks[0]);

    let report = suite.check("mock:postgres", &mut |_| {}).expect("found");
    assert!(!report.passed(), "what was not looked at has not passed");
    assert_eq!(report.failures().count(), 0);
    let lines: Vec<_> = report.absent.iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["driver `postgres` of runner `mock` is not here: install libpq, then build it anew"]);
}

#[test]
fn a_study_leaves_its_variants_out_and_runs_the_others() {
    let (home, folder, stop) = (common::scratch(), common::scratch(), AtomicBool::new(false));
    let runners = runners(home.path());
    let plan =
        common::plan(folder.path(), common::INSERTS, &study("\"mock:scripted\", \"mock:postgres\", \"mock:noop\""));
    let run = Run::new(plan, "", options(folder.path()), &runners, &stop).expect("the run begins");
    let skipped: Vec<_> = run.plan().variants.iter().map(|a| a.skipped.as_deref()).collect();
    let why = "driver `postgres` of runner `mock` is not here: install libpq, then build it anew";
    assert_eq!(skipped, [None, Some(why), None]);
    let ended = run.execute(&mut |_| {}).expect("it runs");
    assert_eq!((ended.rounds, ended.failed), (2, 0));
    let stored = common::trials(&options(folder.path()).file);
    let mut variants: Vec<usize> = stored.iter().map(|trial| trial.record.variant).collect();
    stored.into_iter().for_each(|trial| drop(common::measured(trial.record.outcome)));
    variants.sort_unstable();
    assert_eq!(variants, [0, 0, 2, 2]);
}

#[test]
fn a_study_of_nothing_else_does_not_begin() {
    let (home, folder, stop) = (common::scratch(), common::scratch(), AtomicBool::new(false));
    let runners = runners(home.path());
    let plan = common::plan(folder.path(), common::INSERTS, &study("\"mock:postgres\""));
    let error = Run::new(plan, "", options(folder.path()), &runners, &stop).err().expect("refused").to_string();
    assert!(error.contains("install libpq"), "{error}");
    assert!(!options(folder.path()).file.exists());
}
