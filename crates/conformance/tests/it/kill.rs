//! Runner processes that are killed while they work: by the trial, which continues without them, or from outside, which
//! fails the trial.

#![cfg(unix)]

use crate::common::{self, failed, measured};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use litelab_engine::Runners;
use litelab_engine::trial::Patience;
use litelab_engine::verify;
use litelab_model::Plan;
use litelab_protocol::TrialResult;
use litelab_protocol::histogram::Histogram;
use litelab_record::outcome::{FailureKind, Flag, Outcome, Series};
use serde_json::json;

const WORKLOAD: &str = r#"
schema.sql = "CREATE TABLE t(id INTEGER PRIMARY KEY, worker INTEGER)"
[transaction.insert]
begin = "immediate"
sql = "INSERT INTO t VALUES (:id, :worker)"
param.id = { sequence = {} }
param.worker = "worker"
[transaction.look]
sql = "SELECT count(*) FROM t"
"#;

/// Long enough that no process is late for its own kill, with pauses in which each process gets the lock.
const WORKERS: &str = "role.w = { run = \"insert\", workers = 3, for = \"3s\", think = \"5ms\" }";
const KILL: &str = "kill = { role = \"w\", processes = 2, after = \"400ms\" }";

fn plan(folder: &Path, lines: &[&str]) -> Plan {
    let head = "[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\nprofile = \"wal-off\"\nexecutor = \"processes\"";
    common::plan(folder, WORKLOAD, &format!("{head}\n{}", lines.join("\n")))
}

fn trial(folder: &Path, plan: Plan, runners: &Runners) -> (Outcome, Series) {
    common::lone_trial(folder, plan, runners, Patience::default(), &mut || true)
}

/// Processes of a trial, in the order in which they start.
struct Processes {
    file: PathBuf,
}

impl Processes {
    /// Waits until `count` processes have started and returns their numbers.
    fn first(&self, count: usize) -> Vec<String> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            let text = std::fs::read_to_string(&self.file).unwrap_or_default();
            let whole = text.ends_with('\n').then(|| text.lines().map(str::to_owned).collect::<Vec<_>>());
            match whole {
                Some(numbers) if numbers.len() >= count => return numbers,
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        panic!("{count} processes were not started");
    }

    /// Sends a signal to process `index`, counted from 0, some time after `of` processes have started.
    fn signal(&self, signal: &str, index: usize, of: usize) {
        let number = self.first(of)[index].clone();
        std::thread::sleep(Duration::from_millis(300));
        let status = Command::new("kill").args([signal, &number]).status().expect("kill");
        assert!(status.success(), "{signal} {number}");
    }
}

/// The runner `rusqlite`, which writes its process number to a file first.
fn watched(folder: &Path) -> (Runners, Processes) {
    let file = folder.join("numbers");
    (common::wrapped(folder, "rusqlite", &format!("echo $$ >>'{}'", file.display())), Processes { file })
}

#[test]
fn the_killed_are_gone_and_what_the_others_say_is_checked() {
    // The first processes are killed and the last one survives; its rows must be exactly those that it counted.
    let own = r#"
        [[scenario.invariant]]
        sql = "SELECT count(*) FROM t WHERE worker >= $killed"
        equals = "committed.insert"
        [[scenario.invariant]]
        sql = "SELECT count(*) FROM t"
        at_least = "committed.insert""#;
    let folder = common::scratch();
    let (runners, processes) = watched(folder.path());
    let begun = Instant::now();
    let plan = plan(folder.path(), &[WORKERS, KILL, own]);
    let directory = folder.path().canonicalize().expect("there").join("trial");
    let (outcome, series) = std::thread::scope(|scope| {
        scope.spawn(|| {
            processes.first(3);
            assert!(!Path::new("/proc/self/cwd").exists() || !working_in(&directory).is_empty(), "nobody is seen");
        });
        trial(folder.path(), plan, &runners)
    });
    let measurement = measured(outcome);
    assert!(begun.elapsed() >= Duration::from_secs(3), "the survivor has worked for its time");
    let workers: Vec<u32> = measurement.result.workers.iter().map(|w| w.worker).collect();
    assert_eq!(workers, [2]);
    assert!(measurement.result.operations[0].committed > 0);
    assert_eq!(measurement.settings.len(), 3, "all of them had begun");
    // The work of the killed processes appears in the time series, not in the result.
    let ticked: u64 = series.ticks.iter().flat_map(|tick| &tick.counts).map(|count| count.committed).sum();
    let committed = measurement.result.operations[0].committed;
    assert!(ticked > committed, "ticks add up to {ticked}, of which {committed} are the survivor's");
    for number in processes.first(3) {
        let alive = Command::new("kill").args(["-0", &number]).output().expect("kill").status.success();
        assert!(!alive, "process {number} is still there");
    }
    // Processes that they had started, such as a watcher that ticks, must end too.
    let begun = Instant::now();
    while !working_in(&directory).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", working_in(&directory));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes with this working directory; empty on systems without `/proc`.
fn working_in(directory: &Path) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    processes.filter(|process| process.join("cwd").read_link().is_ok_and(|cwd| cwd == directory)).collect()
}

#[test]
fn an_invariant_that_the_survivors_break_is_a_failed_row() {
    // The killed processes committed rows that no result counts.
    for (bound, words) in [("equals", "expected "), ("at_most", "expected at most ")] {
        let own = format!("invariant = [{{ sql = \"SELECT count(*) FROM t\", {bound} = \"committed.insert\" }}]");
        for (kill, breaks) in [(KILL, true), ("", false)] {
            let folder = common::scratch();
            let role = "role.w = { run = \"insert\", workers = 3, for = \"2s\", think = \"5ms\" }";
            let plan = plan(folder.path(), &[role, kill, &own]);
            let (outcome, _) = trial(folder.path(), plan, &common::runners());
            if breaks {
                let failure = failed(outcome);
                assert_eq!(failure.kind, FailureKind::Invariant, "{}", failure.reason);
                assert!(failure.reason.contains(words), "{}", failure.reason);
                assert!(failure.result.is_some_and(|result| result.workers.len() == 1));
            } else {
                assert_eq!(measured(outcome).result.workers.len(), 3);
            }
        }
    }
}

#[test]
fn one_that_ended_before_its_kill_is_a_failed_row() {
    for (pause_ms, ends_before) in [(0, true), (6_000, false)] {
        let folder = common::scratch();
        let kill = "kill = { role = \"w\", processes = 1, after = \"2s\" }";
        let mut plan = plan(folder.path(), &["driver = \"mock:scripted\"", WORKERS, kill]);
        common::script(&mut plan.variants, &json!({ "pause_ms": pause_ms }));
        let (outcome, _) = trial(folder.path(), plan, &common::runners());
        if ends_before {
            let failure = failed(outcome);
            assert_eq!(failure.kind, FailureKind::Runner);
            assert!(
                failure.reason.starts_with("a runner that was to be killed while it worked had ended before"),
                "{}",
                failure.reason
            );
        } else {
            let workers: Vec<u32> = measured(outcome).result.workers.iter().map(|w| w.worker).collect();
            assert_eq!(workers, [1, 2]);
        }
    }
}

#[test]
fn a_kill_from_outside_is_a_failed_row() {
    let role = "role.w = { run = \"insert\", workers = 2, for = \"4s\", think = \"5ms\" }";
    let kill = "kill = { role = \"w\", processes = 1, after = \"100ms\" }";
    // Cases: whether the trial kills its first process, and which process is killed from outside.
    for (kill, stranger, survives) in
        [("", None, true), ("", Some(0), false), ("", Some(1), false), (kill, Some(1), false)]
    {
        let folder = common::scratch();
        let (runners, processes) = watched(folder.path());
        let plan = plan(folder.path(), &[role, kill]);
        let (outcome, _) = std::thread::scope(|scope| {
            if let Some(index) = stranger {
                scope.spawn(move || processes.signal("-KILL", index, 2));
            }
            trial(folder.path(), plan, &runners)
        });
        if survives {
            assert_eq!(measured(outcome).result.workers.len(), 2);
        } else {
            let failure = failed(outcome);
            assert_eq!(failure.kind, FailureKind::Runner);
            assert!(failure.reason.contains("the runner died (signal: 9"), "{}", failure.reason);
        }
    }
}

#[test]
fn one_that_died_by_itself_before_its_kill_was_not_killed() {
    // The kill is detected at once, while the processes of the earlier role continue to work.
    let roles = "role.r = { run = \"look\", for = \"4s\", think = \"10ms\" }\n\
        role.w = { run = \"insert\", workers = 2, for = \"4s\", think = \"5ms\" }";
    let kill = "kill = { role = \"w\", processes = 1, after = \"3s\" }";
    for terminated in [true, false] {
        let folder = common::scratch();
        let (runners, processes) = watched(folder.path());
        let plan = plan(folder.path(), &[roles, kill]);
        let (outcome, _) = std::thread::scope(|scope| {
            if terminated {
                scope.spawn(move || processes.signal("-TERM", 1, 3));
            }
            trial(folder.path(), plan, &runners)
        });
        if terminated {
            let failure = failed(outcome);
            assert_eq!(failure.kind, FailureKind::Runner);
            let words = "a runner that was to be killed had died by itself before (signal: 15";
            assert!(failure.reason.starts_with(words), "{}", failure.reason);
        } else {
            assert_eq!(measured(outcome).result.workers.len(), 2);
        }
    }
}

#[test]
fn arrivals_of_the_killed_are_no_overload() {
    let folder = common::scratch();
    let role = "role.w = { run = \"insert\", workers = 4, for = \"1s\", rate = 1000, arrivals = \"constant\" }";
    let kill = "kill = { role = \"w\", processes = 2, after = \"100ms\" }";
    let with = plan(folder.path(), &[role, kill]).variants.remove(0);
    let without = plan(folder.path(), &[role]).variants.remove(0);
    // Arrivals that remain at the end of any open load, however fast it is served.
    let result = |committed: u64, unserved: u64| {
        let operation = json!({
            "role": "w", "transaction": "insert", "committed": committed, "empty": 0, "failed": 0, "ended": 0, "measured": 0, "unfinished": [],
            "rows": 0, "errors": {}, "unserved": unserved,
            "service": Histogram::new(),
        });
        let operations = vec![serde_json::from_value(operation).expect("an operation")];
        TrialResult { operations, measured_ns: 1_000_000_000, ..TrialResult::default() }
    };
    let overloaded = |variant, result| {
        verify::flags(variant, &result, 0.0).into_iter().find_map(|flag| match flag {
            Flag::Overloaded { achieved, .. } => Some(achieved),
            _ => None,
        })
    };
    assert_eq!(overloaded(&with, result(499, 1)), None);
    assert_eq!(overloaded(&without, result(499, 1)), Some(0.499));
    assert_eq!(overloaded(&with, result(250, 250)), Some(0.5));
    assert_eq!(overloaded(&without, result(999, 1)), None);
}
