//! The host probe for workers on an event loop or async runtime: a call that blocks it must appear in the probe with
//! its full length.

use litelab_protocol::Executor;
use litelab_protocol::histogram::Histogram;

use super::{Found, passed, skipped};
use crate::conversation::Heard;
use crate::draft::{Draft, TABLE, count, slow_insert};
use crate::error::{At, Result, ensure, timely, tries};
use crate::subject::Subject;

/// How long one transaction blocks its thread, in microseconds, and the probe's period in milliseconds.
const HOLD_US: u64 = 200_000;
const PERIOD_MS: u64 = 2;

/// Under `inline` the lateness must equal the stall within 10 %. Under other executors it must be less than half of the
/// stall.
pub fn stall(subject: &Subject<'_>) -> Found {
    let on_loop = [Executor::Inline, Executor::Offload, Executor::Dedicated];
    let executors: Vec<Executor> = on_loop.into_iter().filter(|e| subject.driver.executors.contains(e)).collect();
    if executors.is_empty() {
        return skipped("its workers are no tasks of a loop or runtime");
    }
    let mut seen = Vec::new();
    for executor in executors {
        seen.push(tries(|_| {
            let seen = once(&Subject { executor, ..*subject }).at(executor)?;
            let Seen { stall, late, told } = seen;
            let what = format!(
                "{executor}: of {:.0} ms its timers saw {:.0} ms, and its ticks told of {:.0} ms",
                stall / 1e6,
                late / 1e6,
                told / 1e6
            );
            timely!(fits(executor, seen), "{what}");
            Ok(what)
        })?);
    }
    passed(seen.join("; "))
}

/// Measurements of one trial, in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Duration of the transaction.
    stall: f64,
    /// Greatest lateness of a timer.
    late: f64,
    /// Greatest lag reported in a tick.
    told: f64,
}

fn fits(executor: Executor, seen: Seen) -> bool {
    let Seen { stall, late, told } = seen;
    // A tick may be sent while the timer is overdue, and the timer may run before the tick that reports it.
    let agree = (0.9 * late..=1.1 * late + 5e6).contains(&told);
    match executor {
        Executor::Inline => (0.9 * stall..=1.1 * stall).contains(&late) && agree,
        _ => late < 0.5 * stall && agree,
    }
}

fn once(subject: &Subject<'_>) -> Result<Seen> {
    let database = subject.database(TABLE)?;
    let mut trial = Draft::new(subject).on(&*database).transaction(slow_insert(HOLD_US)).only(1, count(1));
    (trial.runtime_threads, trial.probe_ms) = (Some(1), PERIOD_MS);
    let Heard { ticks, result, .. } = subject.run(&trial)?;
    let longest = |histogram: &Histogram| histogram.max().map(|ns| ns as f64);
    let stall =
        result.operations.first().and_then(|o| longest(&o.service)).ok_or("the transaction was not measured")?;
    let held = HOLD_US as f64 * 1e3..;
    ensure!(held.contains(&stall), "a hold of 200 ms took {stall} ns");
    let probe = result.timers.get("probe").ok_or("a probe was asked for, and there is none")?;
    let late = longest(probe).ok_or("no timer was due in 200 ms")?;
    let told = ticks.iter().filter_map(|(_, tick)| tick.lag_ns).max();
    Ok(Seen { stall, late, told: told.ok_or("a probe was asked for, and no tick tells how late it ran")? as f64 })
}
