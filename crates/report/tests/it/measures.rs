//! Each metric of a trial with known counts.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use crate::common::measurement::operation;
use crate::common::plan::{arm, metric};
use crate::common::{Numbers, plan};
use litelab_protocol::histogram::Histogram;
use litelab_protocol::message::Unfinished;
use litelab_protocol::{ErrorCount, Operation, Part, Probe, WorkerResult};
use litelab_record::measure::{Meter, cost};
use litelab_record::outcome::{Fault, Measurement};

/// HdrHistogram keeps what is below 2048 ns exactly.
fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|ns| histogram.record(ns));
    histogram
}

/// Two roles, two transactions, a warm-up, errors; measured for two seconds.
fn measurement() -> Measurement {
    let mut measurement = Numbers::default().measurement(&arm(0, &[]));
    let write = Operation {
        committed: 150,
        measured: 100,
        rows: 300,
        empty: 30,
        failed: 20,
        errors: [("SQLITE_BUSY".to_owned(), ErrorCount { seen: 50, cured: 30 })].into(),
        wait: Some(histogram([7, 7, 9])),
        ..operation("writers", "write", histogram(1..=100))
    };
    let read = Operation {
        committed: 50,
        measured: 50,
        first_row: Some(histogram([3, 5, 8])),
        response: Some(histogram([2000; 50])),
        unserved: 10,
        unfinished: vec![Unfinished::default()],
        ..operation("readers", "read", histogram([1000; 50]))
    };
    let worker = |role: &str, committed| WorkerResult {
        role: role.into(),
        committed,
        outside_ns: 500,
        ..WorkerResult::default()
    };
    let result = &mut measurement.result;
    result.measured_ns = 2_000_000_000;
    result.operations = vec![write, read];
    result.workers = vec![worker("writers", 60), worker("writers", 90), worker("readers", 50)];
    result.probe =
        Some(Probe { lateness: histogram([11, 12, 13]), pool_wait: None, utilization: None, scheduler: None });
    result.breakdown = vec![Part { name: "back-off".into(), calls: 50, nanos: 3_000 }];
    measurement.cpu_ns = 400_000;
    measurement.summary.written_bytes = Some(800_000);
    measurement.summary.wal_peak_bytes = 12_345;
    measurement.wal_after_bytes = 99;
    measurement.fault = Some(Fault { node: 1, killed_ms: 1, started_ms: 2, back_ms: 3, lost: Some(2) });
    measurement.summary.rss_peak_bytes = None;
    measurement
}

#[test]
fn every_metric_has_its_formula() {
    let measurement = measurement();
    let mut meter = Meter::new(&measurement);
    let of_all = (100.0 * 50.5 + 50.0 * 1000.0) / 300.0;
    let cases = [
        ("throughput", Some(75.0)),
        ("throughput:write", Some(50.0)),
        ("rows_per_second", Some(150.0)),
        ("row_time", Some(of_all)),
        ("row_time:write", Some(100.0 * 50.5 / 300.0)),
        ("row_time:read", None),
        ("p50", Some(75.0)),
        ("p50:write", Some(50.0)),
        ("p99:write", Some(99.0)),
        ("max", Some(1000.0)),
        ("mean:write", Some(50.5)),
        ("wait_p50", Some(7.0)),
        ("wait_max", Some(9.0)),
        ("first_row", Some(5.0)),
        ("first_row:write", None),
        ("response_p99", Some(2000.0)),
        ("response_p99:write", None),
        ("probe_p50", Some(12.0)),
        ("cpu", Some(2000.0)),
        ("cpu:write", None),
        ("wal_peak", Some(12_345.0)),
        ("wal_after", Some(99.0)),
        ("database_size", Some(8_388_608.0)),
        ("written", Some(4000.0)),
        ("memory", None),
        ("failed", Some(20.0 / 250.0)),
        ("failed:write", Some(0.1)),
        ("errors", Some(50.0 / 250.0)),
        ("served", Some(50.0 / 61.0)),
        ("served:write", None),
        ("fairness", Some(0.8)),
        ("lost", Some(2.0 / 200.0)),
        ("part_time:back-off", Some(15.0)),
        ("part_calls:back-off", Some(0.25)),
        ("part_time:write", None),
        ("part_time", None),
        ("throughput:nothing", None),
        ("p50:nothing", None),
    ];
    for (name, expected) in cases {
        let value = meter.value(&metric(name));
        let same = match (value, expected) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs(),
            (a, b) => a == b,
        };
        assert!(same, "{name}: {value:?}, expected {expected:?}");
    }
}

/// Two workers for a second after the warm-up. One is never waited for; the other, in a transaction when the time was up,
/// waited for a second more.
fn drained() -> Measurement {
    let mut measurement = measurement();
    measurement.timed_ns = [("writers".to_owned(), 1_000_000_000)].into();
    let workers = &mut measurement.result.workers;
    workers[0] = WorkerResult { committed: 149, inside_ns: 900_000_000, outside_ns: 100_000_000, ..workers[0].clone() };
    workers[1] = WorkerResult { committed: 1, inside_ns: 2_000_000_000, outside_ns: 0, ..workers[1].clone() };
    measurement
}

fn value(measurement: &Measurement, name: &str) -> f64 {
    Meter::new(measurement).value(&metric(name)).unwrap()
}

#[test]
fn a_worker_that_waits_on_when_time_is_up_slows_nobody_else() {
    let mut measurement = drained();
    let expected = 100.0 * (149.0 / 1.0 + 1.0 / 2.0) / 150.0;
    assert!((value(&measurement, "throughput:write") - expected).abs() < 1e-9);
    assert!((value(&measurement, "rows_per_second:write") - 3.0 * expected).abs() < 1e-9);
    // The readers did a number of transactions, for which the end of the last one counts.
    assert!((value(&measurement, "throughput:read") - 25.0).abs() < 1e-9);
    assert!((value(&measurement, "throughput") - expected - 25.0).abs() < 1e-9);
    // Over the time until both had ended, it would be little more than half.
    measurement.timed_ns.clear();
    assert!((value(&measurement, "throughput:write") - 50.0).abs() < 1e-9);
}

#[test]
fn no_worker_has_less_time_than_its_role() {
    let mut measurement = drained();
    for worker in &mut measurement.result.workers {
        worker.inside_ns = 1;
        worker.outside_ns = 0;
    }
    assert!((value(&measurement, "throughput:write") - 100.0).abs() < 1e-9, "a second, whatever a runner says");
    for worker in &mut measurement.result.workers {
        worker.committed = 0;
    }
    assert!((value(&measurement, "throughput:write") - 50.0).abs() < 1e-9, "nothing to weigh by: until all had ended");
}

#[test]
fn a_server_shows_nothing_of_its_files() {
    let mut measurement = measurement();
    measurement.on_server = true;
    let mut meter = Meter::new(&measurement);
    for name in ["wal_peak", "wal_after", "database_size", "written", "wal_restarts"] {
        assert_eq!(meter.value(&metric(name)), None, "{name}");
    }
    assert_eq!(meter.value(&metric("cpu")), Some(2000.0), "the runner's own");
    assert_eq!(meter.value(&metric("throughput")), Some(75.0));
}

#[test]
fn a_trial_of_nothing_has_no_rates() {
    let mut measurement = measurement();
    measurement.result.measured_ns = 0;
    measurement.result.operations.clear();
    measurement.result.workers.clear();
    measurement.result.probe = None;
    let mut meter = Meter::new(&measurement);
    for name in [
        "throughput",
        "rows_per_second",
        "row_time",
        "p50",
        "cpu",
        "written",
        "failed",
        "errors",
        "served",
        "fairness",
        "probe_p99",
    ] {
        assert_eq!(meter.value(&metric(name)), None, "{name}");
    }
    assert_eq!(cost(&measurement.result), None);
}

#[test]
fn the_harness_costs_what_passes_inside_and_outside() {
    assert_eq!(cost(&common::measurement::noop()), Some(500.0));
    let (_, analysis) = common::study();
    let [cost] = analysis.scenarios[0].harness.as_slice() else { panic!("one runner was calibrated") };
    assert_eq!((cost.nanos, cost.fastest), (500.0, Some(0)));
    let mean = analysis.arms[0].estimate(&metric("mean")).unwrap().value;
    assert_eq!(cost.share, Some(500.0 / mean));
    assert!(analysis.scenarios[1].harness.is_empty());
}

#[test]
fn an_arm_keeps_every_value_with_its_block() {
    let (_, analysis) = common::study();
    let throughput = analysis.arms[5].values(&metric("throughput"));
    let blocks: Vec<u32> = throughput.iter().map(|(block, _)| *block).collect();
    assert_eq!(blocks, [0, 1, 3], "block 2 failed");
    let Some(common::Gives::Numbers(numbers)) = plan::outcome(3, 5) else { panic!("block 3 was measured") };
    assert_eq!(throughput[2].1, numbers.committed as f64);
}
