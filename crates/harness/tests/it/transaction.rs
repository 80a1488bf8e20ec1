//! One execution and its end: retries, rollbacks, transactions that end empty, yields.

use std::time::Duration;

use crate::common::*;
use litelab_protocol::{Begin, Fetch, Retry, Sharing, Source};

const TWICE: &str = "FAIL SQLITE_BUSY_SNAPSHOT 2";

#[test]
fn a_retry_cures_with_growing_pauses() {
    for (begin, executor) in [Begin::None, Begin::Immediate].into_iter().flat_map(|begin| EXECUTORS.map(|e| (begin, e)))
    {
        let mut trial = scripted(vec![one("t", begin, told(TWICE), 0)], vec![role("w", 1, &[0], count(3))]);
        trial.executor = executor;
        let on = vec!["SQLITE_BUSY".into()];
        trial.retry = Retry { attempts: 3, backoff_us: 10_000, multiplier: 3.0, max_backoff_us: 60_000_000, on };
        let outcome = RUNNER.run(&trial);
        let only = outcome.only();
        assert_eq!((only.committed, only.failed, only.errors.len()), (3, 0, 1), "{executor}");
        let errors = &only.errors["SQLITE_BUSY_SNAPSHOT"];
        assert_eq!((errors.seen, errors.cured), (2, 2));
        // Pauses of 10 and 30 ms before two retries.
        assert!(only.service.max().is_some_and(|max| max >= 39_900_000), "{:?}", only.service.max());
        let ticked: u64 = outcome.ticks.iter().flat_map(|t| &t.counts).map(|c| c.errors).sum();
        assert_eq!(ticked, 2);
    }
}

#[test]
fn without_a_row_it_is_empty_and_starts_the_cycle_again() {
    let sharings = [Sharing::OwnConnection, Sharing::OneConnection, Sharing::Pool { connections: 1 }];
    for (sharing, executor) in sharings.into_iter().flat_map(|sharing| EXECUTORS.map(|e| (sharing, e))) {
        let mut none = told("ROWS 0");
        none.required = true;
        let mut trial = scripted(
            vec![one("take", Begin::Immediate, none, 0), one("never", Begin::None, told("ROWS 1"), 0)],
            vec![role("w", 1, &[0, 1], count(10))],
        );
        (trial.sharing, trial.executor) = (sharing, executor);
        let outcome = RUNNER.run(&trial);
        let take = outcome.operation("w", "take");
        assert_eq!((take.committed, take.empty, take.measured, take.rows), (0, 10, 0, 0), "{sharing} on {executor}");
        assert_eq!(outcome.operation("w", "never").committed, 0, "{sharing} on {executor}");
    }
}

#[test]
fn rows_are_those_of_all_statements() {
    let statements = vec![told("ROWS 3"), told("ROWS 4")];
    let transaction = transaction("t", Begin::Deferred, vec![], statements);
    let outcome = RUNNER.run(&scripted(vec![transaction], vec![role("w", 2, &[0], count(10))]));
    assert_eq!((outcome.only().committed, outcome.only().rows), (10, 70));
    // Only the first statement is timed.
    assert_eq!(outcome.only().timers.get("query").map(|q| q.count()), Some(10));
    assert!(
        outcome.only().timers.get("first_row").map(|f| f.max()) >= outcome.only().timers.get("query").map(|q| q.max())
    );
}

#[test]
fn a_warm_up_counts_but_is_not_measured() {
    for executor in EXECUTORS {
        let slow = one("t", Begin::Immediate, told("ROWS 1"), 5_000);
        let mut trial = scripted(vec![slow], vec![role("w", 1, &[0], count(40))]);
        (trial.executor, trial.runtime_threads) = (executor, Some(1));
        (trial.warmup_ms, trial.probe_ms) = (100, 5);
        tries(|_| {
            let outcome = RUNNER.run(&trial);
            let only = outcome.only();
            assert_eq!(only.committed, 40);
            assert_eq!((only.measured, only.rows), (only.service.count(), only.measured));
            let (result, worker) = (&outcome.result, &outcome.result.workers[0]);
            assert_eq!(result.measured_ns, result.elapsed_ns - 100_000_000);
            assert_eq!(worker.inside_ns + worker.outside_ns, result.measured_ns, "{executor}");
            // At most 20 transactions of 5 ms fit into the warm-up, fewer on a busy machine.
            assert!(only.measured >= 20, "{executor}: {}", only.measured);
            timely(only.measured < 40, format_args!("{executor}: {}", only.measured))?;
            // The probe records only delays after the warm-up.
            let (probed, due) = (result.timers["probe"].count(), result.measured_ns / 5_000_000 + 2);
            timely((1..=due).contains(&probed), format_args!("{executor}: {probed}"))
        });
    }
}

#[test]
fn one_connection_serves_one_at_a_time() {
    let sharings = [
        (Sharing::OwnConnection, true, None),
        (Sharing::OneConnection, false, Some(4)),
        (Sharing::Pool { connections: 1 }, false, Some(4)),
        (Sharing::Pool { connections: 4 }, true, Some(4)),
        (Sharing::AppLock, false, Some(4)),
        (Sharing::WriterReaders { readers: 4 }, false, Some(4)),
    ];
    for ((sharing, together, waits), executor) in sharings.into_iter().flat_map(|case| EXECUTORS.map(|e| (case, e))) {
        let write = one("t", Begin::Immediate, told("ROWS 1"), 50_000);
        let mut trial = scripted(vec![write], vec![role("w", 4, &[0], count(4))]);
        (trial.sharing, trial.executor, trial.runtime_threads) = (sharing, executor, Some(4));
        tries(|_| {
            let outcome = RUNNER.run(&trial);
            assert_eq!(outcome.only().timers.get("wait").map(|w| w.count()), waits, "{sharing} on {executor}");
            // Four pauses of 50 ms, one after the other or at the same time.
            let elapsed = Duration::from_nanos(outcome.result.elapsed_ns);
            let short = elapsed < Duration::from_millis(195);
            assert!(together || !short, "{sharing} on {executor} {elapsed:?}");
            timely(short == together, format_args!("{sharing} on {executor} {elapsed:?}"))
        });
    }
}

#[test]
fn what_was_rolled_back_has_yielded_nothing() {
    for (after, seen, committed) in [("ROWS 1", "SEES 1", 1), ("FAIL SQLITE_FULL 1", "SEES NULL", 0)] {
        let mut get = told("ROWS 1");
        get.yields = vec!["n".into()];
        let yields = transaction("yields", Begin::Deferred, vec![], vec![get, told(after)]);
        let yielded = vec![param("n", Source::Yielded { name: "n".into() })];
        let sees = transaction("sees", Begin::None, yielded, vec![select(seen, &[0], Fetch::All)]);
        let outcome = RUNNER.run(&scripted(vec![yields, sees], vec![role("w", 1, &[0, 1], count(2))]));
        assert_eq!(outcome.operation("w", "yields").committed, committed);
        assert_eq!(outcome.operation("w", "sees").committed, 1);
    }
}
