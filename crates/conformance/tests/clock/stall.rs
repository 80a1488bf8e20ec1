//! A scripted stall under an open load, in virtual time. The quantiles of the response time are known in advance; those
//! of the service time do not show the stall (coordinated omission).
//!
//! **Derivation.** Transactions are due every T and take s < T each, but one takes S and finds no backlog. Its response
//! time is S. The j-th transaction after it is due j·T later, and ends when the stalled transaction and j more have
//! run: its response time is S + j·s − j·T = S − j·(T − s), until the backlog is gone at j = (S − s)/(T − s). All
//! others have the response time s. In descending order the response times are therefore S, S − (T − s), S − 2·(T − s),
//! …, and of N transactions (1 − q)·N are above the quantile q, which is **S − (1 − q)·N·(T − s)** as long as at least
//! that many were late.

use crate::common::{self, value};
use std::path::Path;

use litelab_engine::Runners;
use litelab_record::outcome::Measurement;
use serde_json::json;

const MS: f64 = 1e6;
/// 1 kHz for 10 s.
const INTERVAL: f64 = MS;
const COUNT: f64 = 10_000.0;
/// Service time of each transaction.
const SERVICE: f64 = 0.1 * MS;
/// Three significant digits: a value may be read up to a thousandth too high, but not too low.
const PRECISION: f64 = 1e-3;

/// Runs one trial at 1 kHz in which one transaction takes `stall` nanoseconds. `None`: no stall.
fn trial(folder: &Path, runners: &Runners, load: &str, stall: Option<f64>) -> Measurement {
    let study = format!(
        "rounds = 1\n[[scenario]]\nname = \"stall\"\nworkload = \"w.toml\"\nprofile = \"wal-normal\"\n\
         driver = \"mock:scripted\"\nrole.w = {{ run = \"insert\", {load} }}"
    );
    let mut plan = common::plan(folder, common::INSERTS, &study);
    let usual = SERVICE as u64;
    let script = [json!([usual, 4_999]), json!(stall.unwrap_or(SERVICE) as u64), json!([usual, 5_000])];
    common::script(&mut plan.variants, &json!({ "service_ns": { "insert": script } }));
    common::measured(common::only_trial(plan, folder, runners))
}

const OPEN: &str = r#"for = "10s", rate = 1000, arrivals = "constant""#;

#[test]
fn response_quantiles_of_a_stall_are_the_analytic_ones_and_service_quantiles_do_not_show_it() {
    let (folder, runners) = (common::scratch(), common::runners());
    for stall in [500.0 * MS, 1_000.0 * MS, 2_000.0 * MS] {
        let measurement = trial(folder.path(), &runners, OPEN, Some(stall));
        for (metric, above) in [("response_p95", 0.05), ("response_p99", 0.01), ("response_p999", 0.001)] {
            let analytic = stall - above * COUNT * (INTERVAL - SERVICE);
            let read = value(&measurement, metric).expect("an open load has response times");
            let error = (read - analytic) / analytic;
            assert!((-1e-9..=PRECISION).contains(&error), "{metric} of {stall} ns: {read}, analytic {analytic}");
        }
        for metric in ["p50", "p95", "p99", "p999"] {
            let read = value(&measurement, metric).expect("a service time");
            assert!((read - SERVICE).abs() <= PRECISION * SERVICE, "{metric} of {stall} ns: {read}");
        }
    }
    // A stall of one second in ten, at 1 kHz.
    let measurement = trial(folder.path(), &runners, OPEN, Some(1_000.0 * MS));
    assert_eq!(value(&measurement, "response_p99").map(|ns| (ns / MS).floor()), Some(910.0));
}

/// The two cases in which nothing is visible: there is no stall, or the load waits for responses.
#[test]
fn without_a_stall_or_without_a_schedule_there_is_nothing_to_see() {
    let (folder, runners) = (common::scratch(), common::runners());
    let quiet = trial(folder.path(), &runners, OPEN, None);
    assert!(value(&quiet, "response_p99").is_some_and(|ns| (ns - SERVICE).abs() <= PRECISION * SERVICE));
    let closed = trial(folder.path(), &runners, "count = 10000", Some(1_000.0 * MS));
    assert_eq!(value(&closed, "response_p99"), None);
    assert!(value(&closed, "p999").is_some_and(|ns| (ns - SERVICE).abs() <= PRECISION * SERVICE));
    assert!(value(&closed, "max").is_some_and(|ns| ns >= 1_000.0 * MS), "only the longest one tells");
}
