//! The search for the highest sustainable rate. In virtual time its result is known in advance, to the last probe.

use crate::common::{self, measured_in, options, script, timeless, trials, value};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use litelab_engine::event::RunEvent;
use litelab_engine::{Run, Runners};
use litelab_model::Plan;
use litelab_record::StoredTrial;
use litelab_record::outcome::{FailureKind, Measurement, Probe, SearchOutcome};
use serde_json::json;

const WORKLOAD: &str = r#"
schema.sql = "CREATE TABLE t(id INTEGER PRIMARY KEY)"
[transaction.insert]
begin = "immediate"
hold = "5ms"
sql = "INSERT INTO t VALUES (:id)"
param.id = { sequence = {} }
[[invariant]]
about = "every insert is a row"
sql = "SELECT count(*) FROM t"
equals = "committed.insert"
"#;

const MS: u64 = 1_000_000;
const SCRIPTED: &str = "driver = \"mock:scripted\"\ninvariant = [{ sql = \"SELECT count(*) FROM t\", equals = 0 }]";
/// Arrivals at constant intervals, so that nothing is random.
const TWO_SECONDS: &str = "role.w = { run = \"insert\", for = \"2s\", rate = 1, arrivals = \"constant\" }";
const ONE_SECOND: &str = "role.w = { run = \"insert\", for = \"1s\", rate = 1, arrivals = \"constant\" }";
const QUICK: &str = "holds = [{ metric = \"response_p99\", at_most = \"10 ms\" }]";

/// A study of one scenario with these keys of its search.
fn plan(folder: &Path, lines: &[&str], search: &str) -> Plan {
    let study = format!(
        "{}\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\nprofile = \"wal-off\"\n{}\nsearch = {{ rate = \"w\", {search} }}",
        lines[0],
        lines[1..].join("\n")
    );
    common::plan(folder, WORKLOAD, &study)
}

/// Runs a plan to its end. Returns the trials, and the probes that events reported.
fn run(folder: &Path, plan: Plan, runners: &Runners) -> (Vec<StoredTrial>, Vec<Probe>) {
    let (stop, mut reported) = (AtomicBool::new(false), Vec::new());
    let run = Run::new(plan, "", options(folder), runners, &stop).expect("checked");
    run.execute(&mut |event| {
        if let RunEvent::Probed { probe, .. } = event {
            reported.push(probe.clone());
        }
    })
    .expect("executes");
    (trials(&options(folder).file), reported)
}

fn found(measurement: &Measurement) -> &SearchOutcome {
    measurement.search.as_ref().expect("a search")
}

fn committed(measurement: &Measurement) -> u64 {
    measurement.result.operations[0].committed
}

fn rates(probes: &[Probe]) -> Vec<f64> {
    probes.iter().map(|p| p.rate).collect()
}

/// The mock, started by a shell that counts its trials and first runs these lines, with the count in `$n`. Trial number
/// n uses the script `n.json` of the folder, if it exists.
fn counted(folder: &Path, lines: &str) -> Runners {
    let at = folder.display();
    let lines = format!(
        "if [ \"$1\" = run ]; then\necho >>'{at}/trials'\nn=$(($(wc -l <'{at}/trials')))\n{lines}\n\
         if [ -e '{at}/'$n.json ]; then export LITELAB_MOCK_SCRIPT='{at}/'$n.json; fi\nfi"
    );
    common::wrapped(folder, "mock", &lines)
}

#[test]
fn the_limit_is_found_by_a_ramp_and_by_halving() {
    let runners = common::runners();
    // One worker serves 200 per second at 5 ms, 400 at 2.5 ms.
    for (service, last_kept) in [(5 * MS, 180.0), (5 * MS / 2, 360.0)] {
        let folder = common::scratch();
        let search = format!("from = 90, {QUICK}");
        let mut plan = plan(folder.path(), &["rounds = 2", SCRIPTED, TWO_SECONDS], &search);
        script(&mut plan.variants, &json!({ "service_ns": { "insert": [service] } }));
        let (stored, reported) = run(folder.path(), plan, &runners);
        assert_eq!(stored.len(), 2);
        // The ramp ends at twice the last sustained rate. The search then bisects on a logarithmic scale until the
        // lowest rate that failed is within a tenth of the highest one sustained.
        let ramp = (0..).map(|k| 90.0 * f64::from(1 << k)).take_while(|rate| *rate <= last_kept * 2.0);
        let halved = [0.5, 0.25, 0.125].map(|exponent| last_kept * 2_f64.powf(exponent));
        let expected: Vec<f64> = ramp.chain(halved).collect();
        for trial in &stored {
            let measurement = measured_in(trial);
            let search = found(measurement);
            assert!(
                search.probes.len() == expected.len()
                    && rates(&search.probes).iter().zip(&expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-9),
                "{:?}, expected {expected:?}",
                rates(&search.probes)
            );
            assert!((search.sustainable / (last_kept * 2_f64.powf(0.125)) - 1.0).abs() < 1e-9, "{search:?}");
            for probe in &search.probes {
                let kept = probe.rate < last_kept * 1.1;
                // Two of three trials decide, so that the third is not run.
                assert_eq!((probe.kept, probe.broken), if kept { (2, 0) } else { (0, 2) }, "{probe:?}");
                // Far above the limit, arrivals remain unserved; just above it, those that were started are late.
                let (condition, reason) = match probe.rate / last_kept {
                    _ if kept => ("", ""),
                    1.3.. => ("arrivals", " were not begun"),
                    _ => ("response_p99", "response_p99 was "),
                };
                assert_eq!(probe.condition, condition, "{probe:?}");
                assert!(probe.reason.contains(reason) && probe.reason.is_empty() == kept, "{probe:?}");
            }
            // The measurement is that of a trial at this rate.
            assert_eq!(committed(measurement), (search.sustainable * 2.0) as u64);
            assert_eq!(value(measurement, "sustainable"), Some(search.sustainable));
        }
        let of_both: Vec<Probe> = stored.iter().flat_map(|trial| found(measured_in(trial)).probes.clone()).collect();
        assert_eq!(reported, of_both, "what is stored is what was said meanwhile");
    }
}

#[test]
fn a_trial_without_a_search_has_no_sustainable_rate() {
    let (folder, runners) = (common::scratch(), common::runners());
    let lines = ["rounds = 1", SCRIPTED, TWO_SECONDS];
    let mut plan = plan(folder.path(), &lines, &format!("from = 90, {QUICK}"));
    plan.variants[0].search = None;
    let (stored, reported) = run(folder.path(), plan, &runners);
    assert_eq!((&measured_in(&stored[0]).search, reported.len()), (&None, 0));
    assert_eq!(value(measured_in(&stored[0]), "sustainable"), None);
}

#[test]
fn arrivals_that_are_not_served_break_a_rate_whatever_is_asked() {
    let (folder, runners) = (common::scratch(), common::runners());
    // Arrivals that were served never fail, at any rate.
    let search = "from = 100, factor = 4, precision = 3, repeats = 1, holds = [{ metric = \"failed\", at_most = 0 }]";
    let mut plan = plan(folder.path(), &["rounds = 1", SCRIPTED, TWO_SECONDS], search);
    script(&mut plan.variants, &json!({ "service_ns": { "insert": [5 * MS] } }));
    let (stored, _) = run(folder.path(), plan, &runners);
    let search = found(measured_in(&stored[0]));
    assert_eq!((search.sustainable, rates(&search.probes)), (100.0, vec![100.0, 400.0]));
    assert_eq!(search.probes[1].condition, "arrivals");
    assert_eq!(search.probes[1].reason, "50 % of the rate was served, 400 arrivals were not begun");
}

#[test]
fn where_no_rate_is_kept_the_sustainable_rate_is_zero() {
    let (folder, runners) = (common::scratch(), common::runners());
    let search = "from = 90, factor = 1000, repeats = 1, holds = [{ metric = \"throughput\", at_least = 1e9 }]";
    let plan = plan(folder.path(), &["rounds = 1", SCRIPTED, TWO_SECONDS], search);
    let (stored, _) = run(folder.path(), plan, &runners);
    let measurement = measured_in(&stored[0]);
    let search = found(measurement);
    assert_eq!(search.sustainable, 0.0);
    // The search goes down to a millionth of the first rate, and no further.
    assert_eq!(search.probes.len(), 3);
    assert!(search.probes.iter().all(|p| (p.kept, p.broken, p.condition.as_str()) == (0, 1, "throughput")));
    assert!(search.probes.windows(2).all(|pair| pair[1].rate < pair[0].rate));
    assert_eq!(value(measurement, "sustainable"), Some(0.0));
}

#[test]
fn most_trials_of_a_rate_decide_and_the_outcome_is_of_the_rate_that_was_kept() {
    let bad = json!({ "service_ns": { "*": [{ "ns": 1000, "failed": "SQLITE_BUSY" }] } });
    let search = "from = 100, precision = 1, holds = [{ metric = \"failed\", at_most = 0 }]";
    // For each trial, whether it fails. The rates are 100, then 200, then 400 if 200 was sustained.
    for (fails, sustainable, verdicts) in [
        (&[false, false, false, true, true][..], 100.0, vec![(2, 0), (1, 2)]),
        (&[false, false, true, true], 100.0, vec![(2, 0), (0, 2)]),
        (&[false, false, true, false, false, true, true], 200.0, vec![(2, 0), (2, 1), (0, 2)]),
        (&[false, true, false, false, true, true], 100.0, vec![(2, 1), (1, 2)]),
    ] {
        let folder = common::scratch();
        for (n, _) in fails.iter().enumerate().filter(|(_, fails)| **fails) {
            std::fs::write(folder.path().join(format!("{}.json", n + 1)), bad.to_string()).expect("written");
        }
        let runners = counted(folder.path(), "");
        let plan = plan(folder.path(), &["rounds = 1", SCRIPTED, ONE_SECOND], search);
        let (stored, _) = run(folder.path(), plan, &runners);
        let measurement = measured_in(&stored[0]);
        let found = found(measurement);
        let seen: Vec<(u32, u32)> = found.probes.iter().map(|p| (p.kept, p.broken)).collect();
        assert_eq!((found.sustainable, seen), (sustainable, verdicts), "{fails:?}");
        assert_eq!(committed(measurement), sustainable as u64, "{fails:?}: the numbers are of another rate");
        let operation = &measurement.result.operations[0];
        assert_eq!(operation.failed, 0, "{fails:?}: the numbers are of a trial that was not kept");
    }
}

#[test]
fn a_trial_that_fails_ends_its_search_and_not_the_run() {
    let search = format!("from = 90, repeats = 1, {QUICK}");
    let lines = ["rounds = 2", SCRIPTED, TWO_SECONDS];
    for (shell, dies) in [("[ $n = 3 ] && exit 9", true), ("[ $n = 3 ] && true", false)] {
        let folder = common::scratch();
        let runners = counted(folder.path(), shell);
        let (stored, reported) = run(folder.path(), plan(folder.path(), &lines, &search), &runners);
        assert_eq!(stored.len(), 2);
        if dies {
            // Rates 90 and 180 were sustained.
            let failure = common::failed(stored[0].record.outcome.clone());
            assert_eq!(failure.kind, FailureKind::Runner);
            assert!(
                failure.reason.starts_with("at 360 per second: the runner died (exit status: 9)"),
                "{}",
                failure.reason
            );
            assert_eq!(rates(&reported)[..3], [90.0, 180.0, 90.0], "the next round's search begins anew");
        } else {
            assert_eq!(found(measured_in(&stored[0])), found(measured_in(&stored[1])));
        }
        assert!(found(measured_in(&stored[1])).sustainable > 360.0);
    }
}

#[test]
fn a_run_stopped_within_a_search_goes_on_to_the_same_file() {
    let runners = common::runners();
    let made = |folder: &Path| {
        let lines = ["rounds = 2", SCRIPTED, TWO_SECONDS, "vars.x = 0", "vary.x = [1, 2]"];
        let mut plan = plan(folder, &lines, &format!("from = 90, repeats = 1, precision = 0.5, {QUICK}"));
        for (variant, unit) in plan.variants.iter_mut().zip([5 * MS, 7 * MS]) {
            script([variant], &json!({ "service_ns": { "insert": [unit] } }));
        }
        plan
    };
    let whole = common::scratch();
    let (_, probes) = run(whole.path(), made(whole.path()), &runners);
    let whole = timeless(&options(whole.path()).file);
    assert_eq!(whole.len(), 4);
    assert_ne!(whole[0].3, whole[1].3, "the variants differ");
    // In the middle of the first search, in the middle of the second round's search, and after the very last probe.
    for after in [1, probes.len() / 2 + 2, probes.len()] {
        let (folder, stop) = (common::scratch(), AtomicBool::new(false));
        let options = options(folder.path());
        let mut seen = 0;
        let run = Run::new(made(folder.path()), "", options.clone(), &runners, &stop).expect("checked");
        let ended = run.execute(&mut |event| {
            seen += usize::from(matches!(event, RunEvent::Probed { .. }));
            stop.store(seen >= after, Ordering::Relaxed);
        });
        let ended = ended.expect("executes");
        assert!(ended.interrupted && ended.rounds < 2, "after {after}: {ended:?}");
        assert_eq!(timeless(&options.file), whole[..ended.rounds as usize * 2], "only whole searches are there");
        let resumed = common::resume(&options, &runners);
        assert_eq!((resumed.rounds, resumed.failed, resumed.interrupted), (2, 0, false));
        assert_eq!(timeless(&options.file), whole, "stopped after {after}");
    }
}

#[test]
fn a_real_driver_serves_no_more_than_its_transactions_allow() {
    let (folder, runners) = (common::scratch(), common::runners());
    // The median is not affected by a single stall of a busy machine: half of the arrivals wait less than 40 ms.
    let role = "role.w = { run = \"insert\", for = \"600ms\" }";
    let search =
        "from = 25, precision = 0.5, repeats = 1, holds = [{ metric = \"response_p50\", at_most = \"40 ms\" }]";
    let plan = plan(folder.path(), &["rounds = 1", "driver = \"rusqlite\"", role], search);
    let (stored, _) = run(folder.path(), plan, &runners);
    let measurement = measured_in(&stored[0]);
    let search = found(measurement);
    // 5 ms each under the write lock is at most 200 per second. At 250, the 60th of the 120 arrivals served would have
    // waited 60 ms.
    assert!(search.sustainable > 0.0 && search.sustainable < 250.0, "{search:?}");
    assert!(search.probes.iter().any(|p| !p.held()), "{search:?}");
    let service = value(measurement, "p50");
    assert!(service.is_some_and(|ns| ns >= Duration::from_millis(5).as_nanos() as f64), "{service:?}");
    // The sustained rate must be the served rate. Arrivals are random: the bounds are four standard deviations.
    let (due, served) = (search.sustainable * 0.6, committed(measurement) as f64);
    assert!((served - due).abs() < 4.0 * due.sqrt() + 1.0, "{served} of about {due}");
}
