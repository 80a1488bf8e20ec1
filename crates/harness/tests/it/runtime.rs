//! Workers that are tasks of an asynchronous runtime: their results are those of threads, and their effects on the
//! runtime are measured.

use crate::common::*;
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Arrivals, Begin, Executor, Load, Order, Sharing, Trial, TrialResult, Until};
use serde_json::json;

const MS: u64 = 1_000_000;

const ASYNC: [Executor; 3] = [Executor::Inline, Executor::Offload, Executor::Dedicated];

const SHARINGS: [Sharing; 5] = [
    Sharing::OwnConnection,
    Sharing::OneConnection,
    Sharing::Pool { connections: 2 },
    Sharing::AppLock,
    Sharing::WriterReaders { readers: 2 },
];

fn most(histogram: &Histogram) -> u64 {
    histogram.max().unwrap_or_default()
}

/// A trial with one thread for tasks and a probe every five milliseconds.
fn single(executor: Executor, trial: Trial) -> Trial {
    Trial { executor, runtime_threads: Some(1), probe_ms: 5, ..trial }
}

#[test]
fn counts_are_those_of_threads_under_every_sharing() {
    let steps =
        || vec![one("write", Begin::Immediate, told("ROWS 2"), 0), one("other", Begin::None, told("ROWS 1"), 0)];
    let mut roles = vec![role("w", 3, &[0, 1], count(61)), role("mix", 2, &[0, 1], count(400))];
    (roles[1].first_worker, roles[1].order, roles[1].steps[0].weight) = (3, Order::Weighted, 3);
    let mut base = scripted(steps(), roles);
    base.databases.push(nowhere());
    let counts = |outcome: &Outcome| -> Vec<_> {
        outcome.result.operations.iter().map(|o| (o.committed, o.measured, o.rows, o.service.count())).collect()
    };
    let expected = counts(&RUNNER.run(&base));
    assert_eq!(expected.iter().map(|(committed, ..)| committed).sum::<u64>(), 2 * 461);
    for (executor, sharing) in ASYNC.iter().flat_map(|e| SHARINGS.map(|a| (*e, a))) {
        (base.executor, base.sharing) = (executor, sharing);
        let outcome = RUNNER.run(&base);
        assert_eq!(counts(&outcome), expected, "{sharing} on {executor}");
        let indices: Vec<_> = outcome.result.workers.iter().map(|w| (w.database, w.worker)).collect();
        let sorted: Vec<_> = (0..2).flat_map(|d| (0..5).map(move |w| (d, w))).collect();
        assert_eq!(indices, sorted, "{sharing} on {executor}");
        let ticked: u64 = outcome.ticks.iter().flat_map(|t| &t.counts).map(|c| c.committed).sum();
        assert_eq!(ticked, 2 * 461, "{sharing} on {executor}");
        for worker in &outcome.result.workers {
            let whole = worker.inside_ns + worker.outside_ns;
            assert!(worker.inside_ns > 0 && whole <= outcome.result.elapsed_ns, "{sharing} on {executor} {worker:?}");
        }
    }
}

#[test]
fn thinking_and_waiting_for_an_arrival_let_others_run() {
    for executor in ASYNC {
        let quick = || vec![one("t", Begin::None, told("ROWS 1"), 0)];
        let mut thinks = single(executor, scripted(quick(), vec![role("w", 20, &[0], count(100))]));
        thinks.roles[0].load = Load::Closed { think_us: 20_000 };
        tries(|_| {
            let outcome = RUNNER.run(&thinks);
            assert!(outcome.result.workers.iter().all(|w| w.outside_ns > 80 * MS), "{executor}");
            // Each worker thinks 5 × 20 ms, all at the same time; one after the other they would take two seconds.
            let elapsed = outcome.result.elapsed_ns;
            assert!(elapsed > 80 * MS, "{executor}: {elapsed}");
            timely(elapsed < 1_000 * MS, format_args!("{executor}: {elapsed}"))
        });

        let mut arrives = single(executor, scripted(quick(), vec![role("r", 2, &[0], Until::Time { ms: 1_000 })]));
        arrives.roles[0].load = Load::Open { rate: 40.0, arrivals: Arrivals::Constant };
        tries(|_| {
            let outcome = RUNNER.run(&arrives);
            let only = outcome.only();
            assert_eq!(only.committed + only.unserved, 40, "{executor}");
            assert_eq!((only.timers["response"].count(), only.timers["lag"].count()), (only.committed, only.committed));
            assert!(outcome.result.elapsed_ns >= 1_000 * MS, "{executor}");
            timely(only.committed >= 32, format_args!("{executor}: {}", only.committed))?;
            // The runtime's timer has a resolution of one millisecond. If arrivals ran one after the other, half of
            // them would be late by 500 ms.
            let lag = only.timers["lag"].quantile(0.5);
            timely(lag.is_some_and(|lag| lag < 100 * MS), format_args!("{executor}: {lag:?}"))
        });
    }
}

/// Result of a trial with a stall of 200 ms in a run of 400 ms.
fn stalled(executor: Executor, options: &[(&str, u64)]) -> TrialResult {
    let stall = one("stall", Begin::Immediate, told("ROWS 1"), 200_000);
    let mut idle = role("idle", 1, &[1], Until::Time { ms: 400 });
    (idle.load, idle.first_worker) = (Load::Closed { think_us: 1_000_000 }, 1);
    let roles = vec![role("w", 1, &[0], count(1)), idle];
    let mut trial = single(executor, scripted(vec![stall, one("idle", Begin::None, told("ROWS 1"), 0)], roles));
    trial.connection.options = options.iter().map(|(name, value)| ((*name).into(), json!(value))).collect();
    RUNNER.run(&trial).result
}

#[test]
fn a_stall_of_the_runtime_is_seen_at_its_length() {
    tries(|_| {
        let probe = stalled(Executor::Inline, &[]);
        // The first due time in the stall is late by all of it, each later one by one period less. A busy machine
        // lengthens sleeps.
        timely((180 * MS..260 * MS).contains(&most(&probe.timers["probe"])), most(&probe.timers["probe"]))?;
        // 40 of 80 due times are late, by 100 ms on average.
        let late = probe.timers["probe"].quantile(0.7);
        timely(late.is_some_and(|l| l > 60 * MS), format_args!("{late:?}"))?;
        timely((70..=140).contains(&probe.timers["probe"].count()), probe.timers["probe"].count())?;
        let busy = probe.gauges["utilization"];
        timely((0.3..=0.75).contains(&busy), format_args!("200 of 400 ms and {busy}"))
    });
}

#[test]
fn what_blocks_elsewhere_leaves_the_runtime_alone() {
    for executor in [Executor::Offload, Executor::Dedicated] {
        tries(|_| {
            let probe = stalled(executor, &[]);
            let (late, wait) = (most(&probe.timers["probe"]), most(&probe.timers["pool_wait"]));
            timely(probe.timers["probe"].count() >= 70, format_args!("{executor}: {}", probe.timers["probe"].count()))?;
            timely(late < 100 * MS && wait < 100 * MS, format_args!("{executor}: {late} {wait}"))?;
            let busy = probe.gauges.get("utilization").copied();
            timely(busy.is_some_and(|busy| busy < 0.3), format_args!("{executor}: {busy:?}"))
        });
    }
}

#[test]
fn a_pool_of_one_thread_makes_a_trivial_job_wait() {
    tries(|_| {
        let probe = stalled(Executor::Offload, &[("max_blocking_threads", 1)]);
        let (wait, late) = (most(&probe.timers["pool_wait"]), most(&probe.timers["probe"]));
        timely((180 * MS..260 * MS).contains(&wait) && late < 100 * MS, format_args!("{wait} {late}"))
    });
}

#[test]
fn a_worker_that_hangs_in_the_pool_leaves_the_probe() {
    let hang = one("hang", Begin::Immediate, told("ROWS 1"), 60_000_000);
    let mut trial = single(Executor::Offload, scripted(vec![hang], vec![role("w", 1, &[0], Until::Time { ms: 100 })]));
    trial.drain_ms = 100;
    trial.connection.options.insert("max_blocking_threads".into(), json!(1));
    tries(|_| {
        let result = RUNNER.run(&trial).result;
        // On a busy machine the worker may begin after the end of its role, and then runs nothing.
        timely(result.operations[0].unfinished.len() == 1, "nothing hangs")?;
        assert!(result.timers["probe"].count() >= 30);
        // No job of the probe ran beside the worker.
        timely(most(&result.timers["pool_wait"]) > 100 * MS, most(&result.timers["pool_wait"]))
    });
}

#[test]
fn a_worker_between_two_transactions_is_not_abandoned() {
    // One write keeps the only thread beyond the drain of the readers, which have nothing in progress.
    let write = one("write", Begin::Immediate, told("ROWS 1"), 800_000);
    let read = one("read", Begin::None, told("ROWS 1"), 0);
    let mut roles = vec![role("w", 1, &[0], count(1)), role("r", 2, &[1], Until::Time { ms: 100 })];
    roles[1].first_worker = 1;
    let mut trial = single(Executor::Inline, scripted(vec![write, read], roles));
    trial.drain_ms = 100;
    let result = RUNNER.run(&trial).result;
    assert!(result.elapsed_ns >= 800 * MS, "{}", result.elapsed_ns);
    assert!(result.operations.iter().all(|operation| operation.unfinished.is_empty()), "{:?}", result.operations);
    assert_eq!(result.connections.len(), 3, "the trial is torn down, and its settings are read");
}

#[test]
fn arrivals_of_workers_that_a_hanging_one_keeps_are_unserved() {
    let hang = one("hang", Begin::Immediate, told("ROWS 1"), 60_000_000);
    let read = one("read", Begin::None, told("ROWS 1"), 0);
    let mut roles = vec![role("r", 4, &[0], Until::Time { ms: 300 }), role("h", 1, &[1], Until::Time { ms: 300 })];
    (roles[0].load, roles[1].first_worker) = (Load::Open { rate: 100.0, arrivals: Arrivals::Constant }, 4);
    let mut trial = single(Executor::Inline, scripted(vec![read, hang], roles));
    trial.drain_ms = 100;
    tries(|_| {
        let outcome = RUNNER.run(&trial);
        // On a busy machine the worker may begin after the end of its role, and then runs nothing.
        timely(outcome.operation("h", "hang").unfinished.len() == 1, "nothing hangs")?;
        let read = outcome.operation("r", "read");
        assert_eq!(read.committed + read.unserved, 30, "{read:?}");
        Ok(())
    });
}

#[test]
fn what_service_hides_response_shows() {
    // Reads are due every 10 ms. One write blocks the only thread for 300 ms; then reads continue.
    let served = |executor: Executor| {
        let write = one("write", Begin::Immediate, told("ROWS 1"), 300_000);
        let read = one("read", Begin::None, told("ROWS 1"), 0);
        let mut roles = vec![role("w", 1, &[0], count(1)), role("r", 2, &[1], Until::Time { ms: 600 })];
        (roles[1].first_worker, roles[1].load) = (1, Load::Open { rate: 100.0, arrivals: Arrivals::Constant });
        let outcome = RUNNER.run(&single(executor, scripted(vec![write, read], roles)));
        let read = outcome.operation("r", "read").clone();
        (read.committed, most(&read.service), most(&read.timers["response"]))
    };
    for (executor, shown) in [(Executor::Inline, 250 * MS..400 * MS), (Executor::Dedicated, 0..150 * MS)] {
        tries(|_| {
            let (reads, service, response) = served(executor);
            let what = format!("{executor}: {reads} {service} {response}");
            timely(reads >= 50 && service < 100 * MS && shown.contains(&response), what)
        });
    }
}

#[test]
fn readers_have_threads_of_their_own_beside_a_writer() {
    // Four reads of 20 ms on two readers, during a write that holds its connection for 300 ms.
    let write = one("write", Begin::Immediate, told("ROWS 1"), 300_000);
    let mut read = one("read", Begin::None, told("ROWS 1"), 20_000);
    read.writes = false;
    let mut roles = vec![role("w", 1, &[0], count(1)), role("r", 4, &[1], count(4))];
    roles[1].first_worker = 1;
    let mut trial = scripted(vec![write, read], roles);
    (trial.executor, trial.sharing) = (Executor::Dedicated, Sharing::WriterReaders { readers: 2 });
    tries(|_| {
        let outcome = RUNNER.run(&trial);
        let reads = outcome.operation("r", "read");
        timely(most(&reads.service) < 200 * MS, most(&reads.service))?;
        // Two reads wait for the other two.
        let wait = &reads.timers["wait"];
        let quarter = wait.quantile(0.25);
        timely(quarter.is_some_and(|w| w < 15 * MS), format_args!("{quarter:?}"))?;
        timely(most(wait) >= 19 * MS, most(wait))
    });
}

#[test]
fn a_runtime_without_threads_is_refused() {
    let refused = |executor: Executor, change: &dyn Fn(&mut Trial)| {
        let mut trial = scripted(vec![one("t", Begin::None, told("ROWS 1"), 0)], vec![role("w", 1, &[0], count(1))]);
        trial.executor = executor;
        change(&mut trial);
        RUNNER.refuse(&trial).reason
    };
    for executor in ASYNC {
        let reason = refused(executor, &|t| t.runtime_threads = Some(0));
        assert!(reason.contains("runtime_threads"), "{reason}");
    }
    let blocking = |value: serde_json::Value| {
        move |t: &mut Trial| drop(t.connection.options.insert("max_blocking_threads".into(), value.clone()))
    };
    for value in [json!(0), json!("many"), json!(-1)] {
        assert!(refused(Executor::Offload, &blocking(value)).contains("max_blocking_threads"));
    }
    // The option has no effect under other executors.
    let reason = refused(Executor::Inline, &blocking(json!(1)));
    assert!(reason.contains("option `max_blocking_threads`: this driver has none"), "{reason}");
    let reason = refused(Executor::Dedicated, &|t| t.sharing = Sharing::Pool { connections: 0 });
    assert!(reason.contains("pool(0)"), "{reason}");
}
