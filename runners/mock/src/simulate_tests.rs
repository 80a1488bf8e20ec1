//! Compares the simulation with results computed by hand.

use super::*;
use litelab_harness::testing::{self, file, role, transaction};
use litelab_protocol::Begin;

fn trial(workers: u32, load: Load, until: Until) -> Trial {
    let follows = Until::Role { name: "r".into() };
    let mut roles = vec![role("r", workers, &[0], until), role("follower", 1, &[0], follows)];
    (roles[0].load, roles[1].first_worker) = (load, workers);
    let database = file("never opened".as_ref());
    let transaction = transaction("t", Begin::None, vec![], vec![]);
    let trial = testing::trial("scripted", vec![database], vec![transaction], roles);
    Trial { tick_ms: 10, probe_ms: 10, ..trial }
}

fn script(json: &str) -> Script {
    serde_json::from_str(json).expect("a script")
}

#[test]
fn a_list_is_played_in_the_order_of_starts_and_again_from_its_front() {
    let script = script(r#"{"service_ns": {"t": [[1000000, 2], 5000000]}}"#);
    let played =
        play(&trial(2, Load::Closed { think_us: 0 }, Until::Count { transactions: 4 }), &script).expect("plays");
    // Two transactions take 1 ms each; then one takes 5 ms and the other 1 ms again.
    let first = &played.result.operations[0];
    assert_eq!((first.committed, first.service.max()), (4, Some(5_001_215)));
    assert_eq!(played.result.workers[0].inside_ns + played.result.workers[1].inside_ns, 8_000_000);
    // The follower continues until the last worker has ended, at 6 ms.
    assert!(played.result.elapsed_ns >= 6_000_000);
    let ticked: u64 = played.ticks.iter().flat_map(|t| &t.counts).map(|c| c.committed).sum();
    assert_eq!(ticked, played.result.operations.iter().map(|o| o.committed).sum::<u64>());
}

#[test]
fn late_arrivals_are_started_late_or_unserved() {
    let script = script(r#"{"service_ns": {"t": [2000000]}}"#);
    let load = Load::Open { rate: 1_000.0, arrivals: Arrivals::Constant };
    let played = play(&trial(1, load, Until::Time { ms: 20 }), &script).expect("plays");
    let first = &played.result.operations[0];
    // Starts at 1, 3, …, 19 ms: ten of the twenty due times.
    assert_eq!((first.committed, first.unserved), (10, 10));
    let lag = first.timers.get("lag").and_then(Histogram::max);
    assert!(lag.is_some_and(|ns| (9_000_000..9_010_000).contains(&ns)), "{lag:?}");
}

#[test]
fn failures_are_counted_apart() {
    let script = script(r#"{"service_ns": {"*": [10, {"ns": 10, "failed": "SQLITE_BUSY"}]}}"#);
    let played =
        play(&trial(1, Load::Closed { think_us: 0 }, Until::Count { transactions: 8 }), &script).expect("plays");
    let first = &played.result.operations[0];
    assert_eq!((first.committed, first.empty, first.failed, first.measured), (4, 0, 4, 4));
    assert_eq!((first.errors["SQLITE_BUSY"].seen, first.errors["SQLITE_BUSY"].cured), (4, 0));
}
