//! Paths of the task queue that no other study covers: deferred claims, dead letters, workers killed at work. Uses the
//! real runner, like `end_to_end.rs`.

use serde_json::Value;

use crate::common::{self, ends};

/// Runs scenarios of the study at its quick scale with an expected exit code, and returns the run as JSON.
fn run(scenarios: &str, rounds: &str, more: &[&str], code: i32) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let study = ["run", "task-queue", "--quick", "-o", "run.db", "--only", scenarios, "--rounds", rounds];
    ends(&common::run(folder.path(), &[&study[..], more].concat()), code);
    serde_json::from_str(&ends(&common::run(folder.path(), &["export", "run.db"]), 0)).unwrap()
}

/// Variants of a scenario that have these dimensions.
fn variants<'a>(run: &'a Value, scenario: &str, dimensions: &[(&str, Value)]) -> Vec<&'a Value> {
    let at = run["scenarios"].as_array().unwrap().iter().position(|known| known["name"] == scenario);
    let agrees = |variant: &&Value| {
        variant["scenario"].as_u64() == at.map(|at| at as u64)
            && dimensions.iter().all(|(name, value)| variant["dimensions"][name] == *value)
    };
    let found: Vec<&Value> = run["variants"].as_array().unwrap().iter().filter(agrees).collect();
    assert!(!found.is_empty(), "no variant of {scenario} has {dimensions:?}");
    found
}

/// Number of errors of a variant's transaction `claim`; all must be SQLITE_BUSY.
fn busy(variant: &Value) -> u64 {
    let errors = variant["errors"].as_array().unwrap().iter();
    errors
        .filter(|e| e["transaction"] == "claim")
        .inspect(|e| assert!(e["code"].as_str().unwrap().starts_with("SQLITE_BUSY"), "{e}"))
        .map(|e| e["seen"].as_u64().unwrap())
        .sum()
}

#[test]
fn a_claim_that_reads_before_it_writes_fails_at_once_when_it_begins_deferred() {
    let run = run("begin", "2", &[], 0);
    for variant in variants(&run, "begin", &[("begin", "immediate".into())]) {
        assert_eq!((busy(variant), variant["measured"].as_u64()), (0, Some(2)), "{variant}");
    }
    // The pause between reading and writing makes conflicts certain.
    for variant in variants(&run, "begin", &[("begin", "deferred".into()), ("pause", 1.into())]) {
        assert!(busy(variant) > 0, "{variant}");
        // The busy timeout is several seconds; no claim may wait for it.
        let longest = variant["metrics"]["max:claim"]["by_round"][0][1].as_f64().unwrap();
        assert!(longest < 4e9, "{longest} ns");
    }
}

#[test]
fn killed_workers_and_failing_tasks_leave_every_task_done_or_dead() {
    let run = run("recovery,dead-letters", "1", &[], 0);
    // A violated invariant fails its trial, so that exit code 0 means that all held.
    let recovery = variants(&run, "recovery", &[]);
    assert!(recovery.iter().all(|variant| variant["measured"] == 1), "{recovery:?}");
    assert!(variants(&run, "dead-letters", &[]).iter().all(|variant| variant["measured"] == 1));
}

#[test]
fn a_lease_that_outlasts_the_trial_leaves_tasks_of_killed_workers_unfinished() {
    // A worker holds a task most of the time, so at least one of six killed workers does.
    let run = run("recovery", "3", &["--set", "lease=60000"], 1);
    let failures = variants(&run, "recovery", &[("attempts", 3.into())])[0]["failures"].as_array().unwrap().clone();
    assert!(!failures.is_empty());
    assert!(failures.iter().all(|f| f["reason"].as_str().unwrap().contains("every task has ended")), "{failures:?}");
}
