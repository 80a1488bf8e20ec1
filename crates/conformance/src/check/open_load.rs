//! Open load: arrivals that do not wait for the previous transaction.

use litelab_protocol::generator::{Stream, unit};
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Arrivals, Executor, Load, TransactionResult, Trial, Until};

use super::{Found, passed, sharing};
use crate::draft::{Draft, TABLE, insert, slow_insert};
use crate::error::{Result, ensure, timely, tries};
use crate::subject::Subject;

fn open(trial: &mut Trial, rate: f64, arrivals: Arrivals) {
    trial.roles[0].load = Load::Open { rate, arrivals };
}

fn part<'a>(operation: &'a TransactionResult, name: &str) -> Result<&'a Histogram> {
    operation.timers.get(name).ok_or_else(|| format!("an open load has no `{name}` histogram").into())
}

/// Duration of an open load, in milliseconds.
const MS: u64 = 200;

/// The number of arrivals must be that of the schedule, for each kind of spacing. Each arrival is either started or
/// unserved.
pub fn arrivals(subject: &Subject<'_>) -> Found {
    let mut seen = Vec::new();
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let found = tries(|_| of_schedule(subject, arrivals))?;
        seen.push(format!("{found} {arrivals:?}"));
    }
    of_two_databases(subject)?;
    passed(format!("{} arrivals in {MS} ms, and no more on two databases", seen.join(" and ")))
}

/// Returns the number of arrivals.
fn of_schedule(subject: &Subject<'_>, arrivals: Arrivals) -> Result<u64> {
    const RATE: f64 = 300.0;
    let database = subject.database(TABLE)?;
    // Processes do not share a schedule: each gets its part of the rate and the same stream, so that only the count of
    // a single worker can be computed here.
    let workers = if subject.executor == Executor::Processes { 1 } else { 2 };
    let mut trial = Draft::new(subject).on(&*database).transaction(insert()).only(workers, Until::Time { ms: MS });
    open(&mut trial, RATE, arrivals);
    let heard = subject.run(&trial)?;
    let operation = heard.first();
    let due = due(&trial, arrivals, RATE, MS as f64 / 1e3);
    let found = operation.committed
        + operation.empty
        + operation.failed
        + operation.unserved
        + operation.unfinished.len() as u64;
    // An arrival exactly at `go` or at the very end may be counted or not.
    ensure!(found.abs_diff(due) <= 1, "{arrivals:?}: {due} arrivals are due in {MS} ms, and it knows of {found}");
    sharing::of_workers(subject, &trial, &heard.result, &*database, 0)?;
    // On a very busy machine possibly no transaction began in time, and none was timed.
    let (service, response) = (operation.service.mean(), part(operation, "response")?.mean());
    timely!(
        response.zip(service).is_some_and(|(r, s)| r >= s * 0.998),
        "{arrivals:?}: response takes {response:?} ns on average, service {service:?}"
    );
    let lag = part(operation, "lag")?.mean().unwrap_or_default();
    let sum = lag + service.unwrap_or_default();
    // The runner may be interrupted between two reads of the clock.
    timely!(
        response.is_some_and(|r| (r - sum).abs() <= 0.02 * sum + 2_000.0),
        "{arrivals:?}: response is lag and service, on average {lag:.0} + {service:?} ns, and it is {response:?}"
    );
    Ok(found)
}

/// The rate is that of the role: a second database adds workers, not arrivals.
fn of_two_databases(subject: &Subject<'_>) -> Result {
    const MS: u64 = 100;
    const RATE: f64 = 200.0;
    let databases = [subject.database(TABLE)?, subject.database(TABLE)?];
    let draft = Draft::new(subject).on(&*databases[0]).on(&*databases[1]);
    let mut trial = draft.transaction(insert()).only(1, Until::Time { ms: MS });
    open(&mut trial, RATE, Arrivals::Constant);
    let heard = subject.run(&trial)?;
    let operation = heard.first();
    let (due, found) = (MS as f64 / 1e3 * RATE, operation.committed + operation.failed + operation.unserved);
    ensure!(found.abs_diff(due as u64) <= 1, "on two databases {due} arrivals are due in all, and it knows of {found}");
    Ok(())
}

fn due(trial: &Trial, arrivals: Arrivals, rate: f64, seconds: f64) -> u64 {
    match arrivals {
        Arrivals::Constant => (seconds * rate) as u64,
        Arrivals::Poisson => {
            let role = &trial.roles[0];
            let stream = Stream::new(trial.seed, &format!("{}.arrivals.{}", role.name, role.first_in_role));
            let mut at = 0.0;
            (0..)
                .take_while(|&n| {
                    at -= (1.0 - unit(stream.word(n))).ln() / rate;
                    at <= seconds
                })
                .count() as u64
        }
    }
}

/// Twice as many arrivals as one worker can serve.
pub fn late_starts(subject: &Subject<'_>) -> Found {
    let database = subject.database(TABLE)?;
    let draft = Draft::new(subject).on(&*database).transaction(slow_insert(5_000));
    let mut trial = draft.only(1, Until::Time { ms: 250 });
    open(&mut trial, 400.0, Arrivals::Constant);
    let heard = subject.run(&trial)?;
    let operation = heard.first();
    let (committed, unserved) = (operation.committed, operation.unserved);
    ensure!(
        (committed + unserved).abs_diff(100) <= 1,
        "100 arrivals are due, and it knows of {committed} served and {unserved} unserved"
    );
    // At 5 ms each, 50 arrivals can be served.
    ensure!(unserved >= 45, "each takes 5 ms, so that 50 of 100 can be served, and it says {unserved} were not");
    let (service, response) = (operation.service.max().unwrap_or_default(), part(operation, "response")?.max());
    let lag = part(operation, "lag")?.max().unwrap_or_default();
    // The last arrival that was served was due about halfway.
    timely!(lag > 60_000_000, "the last start comes 125 ms late, and its longest lag is {:.1} ms", lag as f64 / 1e6);
    timely!(
        response.is_some_and(|r| r as f64 > 0.95 * lag as f64 && r > service),
        "its longest response is {response:?} ns, with a lag of {lag}: it does not count from the schedule"
    );
    passed(format!("{committed} served, {unserved} not, up to {:.0} ms late", lag as f64 / 1e6))
}
