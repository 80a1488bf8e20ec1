//! A run and its file, with the scripted runner: exact contents, the order of trials, stop and resume.

use crate::common::{self, execute, measured_in, options, script, timeless, trials};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use litelab_engine::event::RunEvent;
use litelab_engine::{EngineError, Run, RunOptions};
use litelab_model::Plan;
use litelab_protocol::histogram::Histogram;
use litelab_record::RunFile;
use litelab_record::outcome::{FailureKind, Outcome};
use litelab_stats::Schedule;
use serde_json::json;

const MS: u64 = 1_000_000;

/// Three variants with different scripts.
fn scripted(folder: &Path, rounds: u32) -> Plan {
    let study = format!(
        "rounds = {rounds}\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\nprofile = \"wal-normal\"\n\
         driver = \"mock:scripted\"\nvars.speed = 0\nrole.w = {{ run = \"insert\", count = 10 }}\nvary.speed = [1, 2, 3]"
    );
    let mut plan = common::plan(folder, common::INSERTS, &study);
    for (i, variant) in plan.variants.iter_mut().enumerate() {
        let unit = (i as u64 + 1) * MS;
        script([variant], &json!({ "service_ns": { "insert": [[unit, 9], 10 * unit] } }));
    }
    plan
}

#[test]
fn scripted_times_arrive_in_the_file_exactly() {
    let (folder, runners, stop) = (common::scratch(), common::runners(), AtomicBool::new(false));
    let plan = scripted(folder.path(), 2);
    let run = Run::new(plan, "the study's text", options(folder.path()), &runners, &stop).expect("checked");
    let ended = run.execute(&mut |_| {}).expect("executes");
    assert_eq!((ended.rounds, ended.failed, ended.interrupted), (2, 0, false));
    let info = common::info(&options(folder.path()).file);
    assert_eq!((info.rounds(), info.study_toml.as_str()), (2, "the study's text"));
    assert!(info.finished.is_some());
    assert_eq!(info.runners.iter().map(|r| r.runner.as_str()).collect::<Vec<_>>(), ["mock"]);
    let stored = trials(&info.path);
    assert_eq!(stored.len(), 6);
    for trial in &stored {
        let unit = (trial.record.variant as u64 + 1) * MS;
        let result = &measured_in(trial).result;
        let mut service = Histogram::new();
        (0..9).for_each(|_| service.record(unit));
        service.record(10 * unit);
        assert_eq!(result.operations[0].service, service);
        assert_eq!(
            (result.operations[0].committed, result.operations[0].measured, result.operations[0].rows),
            (10, 10, 10)
        );
        assert_eq!((result.elapsed_ns, result.measured_ns), (19 * unit, 19 * unit));
        assert_eq!((result.workers[0].inside_ns, result.workers[0].outside_ns), (19 * unit, 0));
        let series = RunFile::open(&info.path).and_then(|f| f.series(trial.id)).expect("stored");
        let ticked: u64 = series.ticks.iter().flat_map(|t| &t.counts).map(|c| c.committed).sum();
        assert_eq!((ticked, series.ticks.last().map(|t| t.t_ms)), (10, Some(19 * unit / MS)));
    }
}

#[test]
fn rounds_run_in_the_order_of_the_schedule() {
    let (folder, runners, stop) = (common::scratch(), common::runners(), AtomicBool::new(false));
    let plan = scripted(folder.path(), 4);
    let seed = plan.seed;
    let (mut started, mut stored) = (vec![Vec::new(); 4], Vec::new());
    let run = Run::new(plan, "", options(folder.path()), &runners, &stop).expect("checked");
    run.execute(&mut |event| match event {
        RunEvent::TrialStarted { round, variant } => started[round as usize].push(variant),
        RunEvent::RoundStored { round, .. } => stored.push((round, started.iter().map(Vec::len).sum::<usize>())),
        _ => {}
    })
    .expect("executes");
    let expected: Vec<Vec<usize>> = (0..4).map(|round| Schedule::new(seed, 3).in_stream(1).order(round)).collect();
    assert_eq!(started, expected);
    // Each round is stored before the next one begins.
    assert_eq!(stored, [(0, 3), (1, 6), (2, 9), (3, 12)]);
    assert!(expected.iter().any(|order| *order != [0, 1, 2]), "nothing was shuffled");
    for trial in trials(&options(folder.path()).file) {
        let r = &trial.record;
        assert_eq!(expected[r.round as usize][r.position as usize], r.variant);
    }
}

#[test]
fn a_run_that_was_stopped_anywhere_goes_on_to_the_same_file() {
    let (runners, never) = (common::runners(), AtomicBool::new(false));
    let made = |folder: &Path| {
        let scenario = |name: &str, rounds: u32, values: &str| {
            format!(
                "[[scenario]]\nname = \"{name}\"\nrounds = {rounds}\nworkload = \"w.toml\"\nprofile = \"wal-normal\"\n\
                 driver = \"mock:scripted\"\nvars.x = 0\nrole.w = {{ run = \"insert\", count = 10 }}\nvary.x = {values}\n"
            )
        };
        let study = format!("{}{}", scenario("one", 3, "[1, 2]"), scenario("two", 2, "[1, 2, 3]"));
        let mut plan = common::plan(folder, common::INSERTS, &study);
        plan.scenarios.iter_mut().zip([3, 2]).for_each(|(scenario, rounds)| scenario.rounds = rounds);
        for (variant, unit) in plan.variants.iter_mut().zip(1_u64..) {
            script([variant], &json!({ "service_ns": { "insert": [unit * MS] } }));
        }
        plan
    };
    let whole = common::scratch();
    let mut stored = Vec::new();
    Run::new(made(whole.path()), "", options(whole.path()), &runners, &never)
        .and_then(|run| {
            run.execute(&mut |event| {
                if let RunEvent::RoundStored { scenario, round } = event {
                    stored.push((round, scenario));
                }
            })
        })
        .expect("executes");
    // Round by round: two trials, two, and the remainder of the longer variant.
    let mut rounds = stored.clone();
    rounds.sort_unstable();
    assert_eq!(rounds, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]);
    assert!(stored.is_sorted_by_key(|(round, _)| *round), "{stored:?}");
    let whole = timeless(&options(whole.path()).file);
    assert_eq!(whole.len(), 12);
    for after in [1, 2, 3, 5, 6, 8, 11] {
        let (folder, stop) = (common::scratch(), AtomicBool::new(false));
        let options = options(folder.path());
        let (mut seen, mut rounds) = (0, 0);
        let run = Run::new(made(folder.path()), "", options.clone(), &runners, &stop).expect("checked");
        let ended = run
            .execute(&mut |event| {
                seen += u32::from(matches!(event, RunEvent::TrialEnded { .. }));
                rounds += u32::from(matches!(event, RunEvent::RoundStored { .. }));
                stop.store(seen >= after, Ordering::Relaxed);
            })
            .expect("executes");
        assert_eq!((ended.rounds, ended.interrupted), (rounds, true), "after {after}");
        // The file contains whole rounds only, and no trial of the unfinished round.
        let info = common::info(&options.file);
        let stored = (2 * info.done[0] + 3 * info.done[1]) as usize;
        assert_eq!(timeless(&options.file), whole[..stored], "after {after}");
        assert_eq!((info.done.iter().sum::<u32>(), info.finished), (rounds, None));
        assert!(info.done[0].abs_diff(info.done[1]) <= 1, "as many of each as there was time for: {:?}", info.done);
        let ended = common::resume(&options, &runners);
        assert_eq!((ended.rounds, ended.interrupted), (5, false));
        assert_eq!(timeless(&options.file), whole, "stopped after {after}");
        let error = Run::resume(options, &runners, &never).err().expect("nothing is left").to_string();
        assert!(error.contains("all 5 rounds are there"), "{error}");
    }
}

#[test]
fn a_run_file_of_another_format_is_refused() {
    let (folder, runners, never) = (common::scratch(), common::runners(), AtomicBool::new(false));
    let options = options(folder.path());
    Run::new(scripted(folder.path(), 1), "", options.clone(), &runners, &never).expect("begun");
    let connection = rusqlite::Connection::open(&options.file).expect("opens");
    connection.pragma_update(None, "user_version", 1).expect("as before");
    let refused = Run::resume(options, &runners, &never).err().expect("refused").to_string();
    assert!(refused.contains("format 1") && refused.contains("use the litelab that made it"), "{refused}");
}

/// A study cannot contain this setting. The test bypasses the check of the plan and imitates a driver or pool that
/// changes a setting by itself.
#[test]
fn a_trial_whose_settings_move_fails_and_names_both_values() {
    let (folder, runners) = (common::scratch(), common::runners());
    let study = "rounds = 1\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\nprofile = \"wal-full\"\n\
         role.w = { run = \"insert\", count = 10, workers = 2 }\nvary.sharing = [\"own-connection\", \"pool(2)\", \"writer-readers(1)\"]";
    let mut plan = common::plan(folder.path(), common::INSERTS, study);
    for variant in &mut plan.variants {
        let mut off = variant.trial.transactions[0].statements[0].clone();
        (off.sql, off.bind) = ("PRAGMA synchronous = OFF".into(), Vec::new());
        variant.trial.transactions[0].statements.push(off);
    }
    execute(plan, &options(folder.path()), &runners);
    let stored = trials(&options(folder.path()).file);
    assert_eq!(stored.len(), 3);
    for trial in &stored {
        let Outcome::Failed(failure) = &trial.record.outcome else { panic!("measured: {trial:?}") };
        assert_eq!(failure.kind, FailureKind::Settings);
        let said = "`synchronous` was 2 when the trial began and is 0 at its end";
        assert!(failure.reason.starts_with("connection ") && failure.reason.contains(said), "{}", failure.reason);
    }
}

#[test]
fn a_run_killed_before_its_mark_of_completion_gets_it_and_no_more_rounds() {
    let (folder, runners) = (common::scratch(), common::runners());
    let options = options(folder.path());
    execute(scripted(folder.path(), 1), &options, &runners);
    let before = timeless(&options.file);
    let file = rusqlite::Connection::open(&options.file).expect("run file");
    assert_eq!(file.execute("DELETE FROM run WHERE key = 'finished'", []).expect("deleted"), 1);
    drop(file);
    let ended = common::resume(&options, &runners);
    assert_eq!((ended.rounds, ended.interrupted), (1, false));
    assert!(common::info(&options.file).finished.is_some());
    assert_eq!(timeless(&options.file), before);
}

#[test]
fn the_harness_itself_is_measured_once_for_each_scenario() {
    let (folder, runners, stop) = (common::scratch(), common::runners(), AtomicBool::new(false));
    let options = RunOptions { calibrate: true, ..options(folder.path()) };
    let mut calibrating = 0;
    Run::new(scripted(folder.path(), 1), "", options.clone(), &runners, &stop)
        .and_then(|run| {
            run.execute(&mut |event| calibrating += u32::from(matches!(event, RunEvent::Calibrating { .. })))
        })
        .expect("executes");
    let info = common::info(&options.file);
    assert_eq!((calibrating, info.calibrations.len()), (1, 1));
    let calibration = &info.calibrations[0];
    assert_eq!((calibration.scenario, calibration.runner.as_str()), (0, "mock"));
    // The script is an option of the other driver: without options each of the mock's transactions takes 1 ms.
    assert_eq!((calibration.result.operations[0].committed, calibration.result.elapsed_ns), (10, 10 * MS));
}

#[test]
fn a_run_does_not_go_on_with_a_runner_that_has_changed() {
    let (folder, runners) = (common::scratch(), common::runners());
    let stop = AtomicBool::new(true);
    let plan = scripted(folder.path(), 2);
    let ended = Run::new(plan, "", options(folder.path()), &runners, &stop).and_then(|r| r.execute(&mut |_| {}));
    assert!(ended.expect("stopped at once").interrupted);
    let file = rusqlite::Connection::open(options(folder.path()).file).expect("run file");
    file.execute("UPDATE runner SET description = replace(description, '\"rust\"', '\"go\"')", []).expect("changed");
    drop(file);
    stop.store(false, Ordering::Relaxed);
    let error = Run::resume(options(folder.path()), &runners, &stop).err().expect("changed");
    assert!(matches!(&error, EngineError::BadInput(e) if e.contains("runner `mock` has changed")), "{error}");
}

#[test]
fn ctrl_c_in_the_middle_of_a_trial_ends_the_run_at_once() {
    let (folder, runners, stop) = (common::scratch(), common::runners(), AtomicBool::new(false));
    let mut plan = scripted(folder.path(), 3);
    let last = *Schedule::new(plan.seed, 3).order(1).last().expect("three variants");
    // Only the last trial of the second round can delay the reaction to the flag, and it pauses far longer than a busy
    // machine would delay it.
    let pause = Duration::from_secs(6);
    script([&mut plan.variants[last]], &json!({ "pause_ms": pause.as_millis() as u64 }));
    let (mut begun, mut done) = (None, 0);
    let ended = std::thread::scope(|scope| {
        let run = Run::new(plan, "", options(folder.path()), &runners, &stop).expect("checked");
        run.execute(&mut |event| {
            if let RunEvent::TrialStarted { round: 1, variant } = event
                && variant == last
            {
                begun = Some(Instant::now());
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(20));
                    stop.store(true, Ordering::Relaxed);
                });
            }
            done += u32::from(matches!(event, RunEvent::RoundStored { .. }));
        })
    })
    .expect("executes");
    assert!(ended.interrupted && begun.is_some_and(|b| b.elapsed() < pause));
    assert_eq!((ended.rounds, done, trials(&options(folder.path()).file).len()), (1, 1, 3));
    let left: Vec<_> = std::fs::read_dir(folder.path().join("work")).expect("there").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_runner_that_dies_is_a_failed_row_and_the_run_goes_on() {
    let (folder, runners) = (common::scratch(), common::runners());
    let study = "rounds = 2\n[[scenario]]\nname = \"mixed\"\nworkload = \"w.toml\"\nprofile = \"wal-normal\"\n\
        role.w = { run = \"insert\", count = 10 }\nvary.driver = [\"mock:dies\", \"mock:scripted\", \"rusqlite:rusqlite\"]";
    let plan = common::plan(folder.path(), common::INSERTS, study);
    let ended = execute(plan, &options(folder.path()), &runners);
    assert_eq!((ended.rounds, ended.failed, ended.interrupted), (2, 2, false));
    let stored = trials(&options(folder.path()).file);
    assert_eq!(stored.len(), 6);
    for trial in &stored {
        match (&trial.record.outcome, trial.record.variant) {
            (Outcome::Failed(f), 0) => {
                assert_eq!(f.kind, FailureKind::Runner);
                assert!(f.reason.contains("exit status: 9"), "{}", f.reason);
                assert!(!f.settings.is_empty() && f.result.is_none());
            }
            (Outcome::Measured(m), 1 | 2) => assert_eq!(m.result.operations[0].committed, 10),
            (other, variant) => panic!("variant {variant}: {other:?}"),
        }
    }
}

#[test]
fn a_run_is_refused_before_it_begins_where_a_driver_cannot_do_it() {
    let (folder, runners, stop) = (common::scratch(), common::runners(), AtomicBool::new(false));
    let study = "[[scenario]]\nname = \"g\"\nworkload = \"w.toml\"\ndriver = \"mock:scripted\"\nsharing = \"group-commit\"\n\
        role.w = { run = \"insert\", count = 10 }";
    let plan = common::plan(folder.path(), common::INSERTS, study);
    let error = Run::new(plan, "", options(folder.path()), &runners, &stop).err().expect("refused").to_string();
    assert!(error.contains("g/only: driver `scripted` does not have sharing `group-commit`"), "{error}");
    assert!(!options(folder.path()).file.exists(), "a refused run leaves no file");
}
