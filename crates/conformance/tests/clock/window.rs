//! Throughput and latency of a simulated server with known values, in virtual time.
//!
//! **Derivation.** One server takes 25 ms per transaction, one at a time: 40/s for any number of workers. With 40
//! workers each transaction waits for 39 others and takes 1 s, so that a trial of about that length contains the whole
//! ramp from an empty queue. The sum of each worker's own rate would be 51.9/s after 1.2 s, because each worker has
//! ended two transactions by then.

use crate::common::{self, measured};
use std::path::Path;

use litelab_engine::Runners;
use litelab_record::outcome::{Flag, Measurement, Outcome};
use serde_json::{Value, json};

/// Runs one trial with the given number of workers: `ms` milliseconds after a warm-up of `warmup_ms`.
fn trial(folder: &Path, runners: &Runners, workers: u32, (warmup_ms, ms): (u64, u64), script: &Value) -> Outcome {
    let study = format!(
        "rounds = 1\n[[scenario]]\nname = \"window\"\nworkload = \"w.toml\"\nprofile = \"wal-normal\"\n\
         driver = \"mock:scripted\"\nrole.w = {{ run = \"insert\", workers = {workers}, for = \"1s\" }}"
    );
    let mut plan = common::plan(folder, common::INSERTS, &study);
    common::script(&mut plan.variants, script);
    let variant = &mut plan.variants[0];
    variant.trial.warmup_ms = warmup_ms;
    variant.trial.roles[0].until = litelab_protocol::Until::Time { ms: warmup_ms + ms };
    variant.ceiling = Some(40.0).filter(|_| script["one_at_a_time"] == true && script.get("starved").is_none());
    common::only_trial(plan, folder, runners)
}

fn value(measurement: &Measurement, metric: &str) -> f64 {
    common::value(measurement, metric).expect("a value")
}

const MS: u64 = 1_000_000;

#[test]
fn a_server_of_forty_a_second_reads_forty_a_second_however_long_it_is_looked_at() {
    let (folder, runners) = (common::scratch(), common::runners());
    let script = json!({ "service_ns": { "insert": [25 * MS] }, "one_at_a_time": true });
    for (ms, is_short) in [(1_200, true), (8_000, true), (30_000, false)] {
        let measurement = measured(trial(folder.path(), &runners, 40, (1_000, ms), &script));
        let rate = value(&measurement, "throughput");
        assert!((39.2..=40.8).contains(&rate), "{rate}/s in {ms} ms");
        for metric in ["mean", "p50"] {
            let nanos = value(&measurement, metric);
            assert!((0.98e9..=1.02e9).contains(&nanos), "{metric}: {nanos} ns in {ms} ms");
        }
        assert!(value(&measurement, "fairness") > 0.8 || ms < 2_000, "{ms}");
        let short = measurement.flags.iter().any(|flag| matches!(flag, Flag::Short { .. }));
        assert_eq!(short, is_short, "ten transactions of a second do not fit into {ms} ms");
    }
}

#[test]
fn a_starved_writer_lowers_no_rate_and_does_not_vanish() {
    let (folder, runners) = (common::scratch(), common::runners());
    let starved = json!([{ "worker": 15, "ns": 3_600_000 * MS }]);
    let script = json!({ "service_ns": { "insert": [MS] }, "one_at_a_time": true, "starved": starved });
    let measurement = measured(trial(folder.path(), &runners, 16, (500, 500), &script));
    let rate = value(&measurement, "throughput");
    assert!((990.0..=1_010.0).contains(&rate), "the others have the whole server: {rate}/s");
    assert_eq!(value(&measurement, "fairness"), 0.0);
    // One of 501 transactions: beyond P99, and reported at P99.9. It took the whole trial and its drain.
    let (p99, p999) = (value(&measurement, "p99"), value(&measurement, "p999"));
    assert!(p99 < 20e6, "{p99}");
    assert!(p999 >= 10_990e6, "{p999}");
    assert!(measurement.flags.contains(&Flag::Unfinished { count: 1 }), "{:?}", measurement.flags);
}

#[test]
fn more_than_there_is_room_for_fails_the_trial() {
    let (folder, runners) = (common::scratch(), common::runners());
    let script = |ns: u64| json!({ "service_ns": { "insert": [ns] }, "one_at_a_time": true });
    let outcome = |ns| trial(folder.path(), &runners, 40, (1_000, 2_000), &script(ns));
    assert!(matches!(outcome(25 * MS), Outcome::Measured(_)));
    let Outcome::Failed(failure) = outcome(5 * MS) else { panic!("200/s, and there is room for 40") };
    assert!(failure.reason.contains("more than is possible"), "{}", failure.reason);
}
