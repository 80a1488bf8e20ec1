//! Every metric of a trial with known counts.

use litelab_model::Metric;
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{ErrorCount, TransactionResult, Unfinished, WorkerResult};

use super::{Meter, cost};
use crate::outcome::Measurement;

fn metric(name: &str) -> Metric {
    name.parse().unwrap()
}

fn operation(role: &str, transaction: &str, service: Histogram) -> TransactionResult {
    TransactionResult { role: role.into(), transaction: transaction.into(), service, ..TransactionResult::default() }
}

/// A histogram, which stores values below 2048 ns exactly.
fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|ns| histogram.record(ns));
    histogram
}

fn named((name, histogram): (&str, Histogram)) -> (String, Histogram) {
    (name.to_owned(), histogram)
}

/// A measurement of two seconds with two roles, two transactions, a warm-up and errors.
fn measurement() -> Measurement {
    let mut measurement = Measurement { database_bytes: 8 << 20, ..Measurement::default() };
    let write = TransactionResult {
        committed: 150,
        ended: 100,
        measured: 100,
        rows: 300,
        empty: 30,
        failed: 20,
        errors: [("SQLITE_BUSY".to_owned(), ErrorCount { seen: 50, cured: 30, message: None })].into(),
        timers: [("wait".to_owned(), histogram([7, 7, 9]))].into(),
        ..operation("writers", "write", histogram(1..=100))
    };
    let read = TransactionResult {
        committed: 50,
        ended: 50,
        measured: 50,
        timers: [("first_row", histogram([3, 5, 8])), ("response", histogram([2000; 50]))].map(named).into(),
        unserved: 10,
        unfinished: vec![Unfinished::default()],
        ..operation("readers", "read", histogram([1000; 50]))
    };
    let worker = |role: &str, ended| WorkerResult {
        role: role.into(),
        committed: ended,
        ended,
        inside_ns: 1_999_999_500,
        outside_ns: 500,
        ..WorkerResult::default()
    };
    let result = &mut measurement.result;
    result.measured_ns = 2_000_000_000;
    result.operations = vec![write, read];
    result.workers = vec![worker("writers", 60), worker("writers", 90), worker("readers", 50)];
    result.timers = [("probe", histogram([11, 12, 13])), ("back-off", histogram([60; 50]))].map(named).into();
    result.gauges = [("utilization".to_owned(), 0.5)].into();
    measurement.cpu_ns = 400_000;
    measurement.summary.written_bytes = Some(800_000);
    measurement.summary.wal_peak_bytes = 12_345;
    measurement.wal_after_bytes = 99;
    measurement.gauges = [("rejoin_ns".to_owned(), 1e6), ("lost".to_owned(), 2.0)].into();
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
        ("period", Some(1e9 / 75.0)),
        ("period:write", Some(2e7)),
        ("period:nothing", None),
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
        ("utilization", Some(0.5)),
        ("gauge:rejoin_ns", Some(1e6)),
        ("gauge:lost", Some(2.0)),
        ("gauge:utilization", Some(0.5)),
        ("gauge:write", None),
        ("timer_time:back-off", Some(15.0)),
        ("timer_calls:back-off", Some(0.25)),
        ("timer_p99:back-off", Some(60.0)),
        ("timer_mean:probe", Some(12.0)),
        ("timer_time:write", None),
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
    // What is refused in studies is what never has a value.
    for name in Metric::names() {
        let Ok(of_write) = format!("{name}:write").parse::<Metric>() else { panic!("{name}") };
        if of_write.check_of_trial().is_err() {
            assert_eq!(meter.value(&of_write), None, "{name}");
        }
    }
}

fn value(measurement: &Measurement, name: &str) -> Option<f64> {
    Meter::new(measurement).value(&metric(name))
}

#[test]
fn throughput_is_what_ended_in_the_window_over_its_length() {
    let mut measurement = measurement();
    // Of 150 commits, 100 ended in the second of the writers' window; 40 more began in it.
    measurement.timed_ns = [("writers".to_owned(), 1_000_000_000)].into();
    (measurement.result.operations[0].measured, measurement.result.operations[0].rows) = (140, 420);
    assert_eq!(value(&measurement, "throughput:write"), Some(100.0));
    assert_eq!(value(&measurement, "rows_per_second:write"), Some(300.0));
    // The readers ended after a number of transactions, when the last of them ended.
    assert_eq!(value(&measurement, "throughput:read"), Some(25.0));
    assert_eq!(value(&measurement, "throughput"), Some(125.0));
    // A transaction that continues long after the window changes nothing, nor do the times that the runner reports.
    measurement.result.measured_ns = 60_000_000_000;
    measurement.result.workers[0].inside_ns = 1;
    assert_eq!(value(&measurement, "throughput:write"), Some(100.0));
}

#[test]
fn who_has_not_ended_is_in_the_latencies_and_in_fairness() {
    let mut measurement = measurement();
    let operation = &mut measurement.result.operations[0];
    operation.unfinished = vec![Unfinished { service_ns: 2_000, response_ns: None }; 2];
    assert_eq!(value(&measurement, "max:write"), Some(2_000.0));
    // 1 to 100, and two more: 98 % are lower.
    assert_eq!(value(&measurement, "p99:write"), Some(2_000.0));
    assert_eq!(value(&measurement, "p95:write"), Some(97.0));
    measurement.result.workers[0].ended = 0;
    assert_eq!(value(&measurement, "fairness"), Some(0.0));
    // Arrivals that began and did not end were not served.
    measurement.result.operations[1].unfinished = vec![Unfinished { service_ns: 5, response_ns: Some(9) }; 40];
    assert_eq!(value(&measurement, "served:read"), Some(0.5));
    assert_eq!(value(&measurement, "response_max:read"), Some(2_000.0));
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
    measurement.result.timers.clear();
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
