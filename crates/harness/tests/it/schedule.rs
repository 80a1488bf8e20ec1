//! Times of execution: arrivals, roles that end with another. The conformance suite tests the order of steps.

use crate::common::*;
use litelab_protocol::generator::{Stream, unit};
use litelab_protocol::{Arrivals, Begin, Executor, Load, Until};

fn open_load(rate: f64, arrivals: Arrivals, hold_us: u64, ms: u64) -> Outcome {
    let mut roles = vec![role("r", 2, &[0], Until::Time { ms })];
    roles[0].load = Load::Open { rate, arrivals };
    RUNNER.run(&scripted(vec![one("read", Begin::None, told("ROWS 1"), hold_us)], roles))
}

#[test]
fn arrivals_are_served_when_due() {
    tries(|_| {
        let outcome = open_load(200.0, Arrivals::Constant, 0, 500);
        let only = outcome.only();
        // Due at 5, 10, … 500 ms.
        assert_eq!(only.committed + only.unserved, 100);
        assert_eq!((only.timers["response"].count(), only.timers["lag"].count()), (only.committed, only.committed));
        assert!(outcome.result.elapsed_ns >= 500_000_000);
        timely(only.committed >= 98, only.committed)?;
        // An idle machine starts within 0.1 ms.
        let lag = only.timers["lag"].quantile(0.5);
        timely(lag.is_some_and(|lag| lag < 5_000_000), format_args!("{lag:?}"))?;
        timely(only.timers["response"].quantile(0.5) > only.service.quantile(0.5), "no longer than service")?;
        timely(outcome.result.workers.iter().all(|w| w.outside_ns > 400_000_000), "not outside")
    });
}

#[test]
fn overload_is_seen_in_response_and_in_what_is_unserved() {
    tries(|_| {
        let outcome = open_load(2_000.0, Arrivals::Constant, 5_000, 300);
        let only = outcome.only();
        // Two workers at 5 ms each serve 400 a second.
        assert_eq!(only.committed + only.unserved, 600);
        assert!(only.committed <= 122, "{}", only.committed);
        timely(only.committed >= 40, only.committed)?;
        let (service, response) = (only.service.quantile(0.5), only.timers["response"].quantile(0.5));
        timely(response.zip(service).is_some_and(|(r, s)| r > 5 * s), format_args!("{response:?} {service:?}"))
    });
}

#[test]
fn exponential_arrivals_are_those_of_the_stream() {
    let only = open_load(1_000.0, Arrivals::Poisson, 0, 300).only().clone();
    let stream = Stream::new(7, "r.arrivals.0");
    let mut due = 0.0;
    let expected = (0..).take_while(|&n| {
        due -= (1.0 - unit(stream.word(n))).ln() / 1_000.0;
        due <= 0.3
    });
    assert_eq!(only.committed + only.unserved, expected.count() as u64);
}

#[test]
fn a_role_ends_with_another() {
    for executor in EXECUTORS {
        let slow = one("slow", Begin::Immediate, told("ROWS 1"), 20_000);
        let quick = one("quick", Begin::None, told("ROWS 1"), 0);
        let mut roles = vec![role("r", 2, &[1], Until::Role { name: "w".into() }), role("w", 1, &[0], count(3))];
        roles[1].first_worker = 2;
        let mut trial = scripted(vec![slow, quick], roles);
        (trial.executor, trial.runtime_threads) = (executor, Some(2));
        // A task takes longer than a thread.
        let (least, longest) = if executor == Executor::Threads { (51, 400_000_000) } else { (10, 600_000_000) };
        tries(|_| {
            let outcome = RUNNER.run(&trial);
            assert_eq!(outcome.operation("w", "slow").committed, 3);
            let (quick, elapsed) = (outcome.operation("r", "quick").committed, outcome.result.elapsed_ns);
            assert!(elapsed >= 60_000_000, "{executor} {elapsed}");
            timely(quick >= least && elapsed < longest, format_args!("{executor} {quick} in {elapsed}"))
        });
    }
}
