//! The host probe where workers are tasks of a loop or an async runtime: it sees a call that holds it, at its length.

use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Executor, Probe};

use super::{Finding, Found, ensure, passed, timely, tries};
use crate::draft::{Draft, TABLE, count, slow_insert};
use crate::subject::Subject;

/// How long one transaction keeps its thread, in microseconds, and the probe's period in milliseconds.
const HOLD_US: u64 = 200_000;
const PERIOD_MS: u64 = 2;

/// Under `inline` the lateness is the stall within a tenth; elsewhere the loop is not held up by half of it.
pub fn stall(subject: &Subject<'_>) -> Found {
    let on_loop = [Executor::Inline, Executor::Offload, Executor::Dedicated];
    let executors: Vec<Executor> = on_loop.into_iter().filter(|e| subject.driver.executors.contains(e)).collect();
    if executors.is_empty() {
        return Ok(Finding::Skipped("its workers are no tasks of a loop or runtime".into()));
    }
    let mut seen = Vec::new();
    for executor in executors {
        seen.push(tries(|tried| {
            let (stall, late) = once(subject, executor, tried).map_err(|e| format!("{executor}: {e}"))?;
            let what = format!("{executor}: of {:.0} ms its timers saw {:.0} ms", stall / 1e6, late / 1e6);
            timely!(fits(executor, stall, late), "{what}");
            Ok(what)
        })?);
    }
    passed(seen.join("; "))
}

fn fits(executor: Executor, stall: f64, late: f64) -> bool {
    match executor {
        Executor::Inline => (0.9 * stall..=1.1 * stall).contains(&late),
        _ => late < 0.5 * stall,
    }
}

/// Nanoseconds: how long the transaction took, and how late the latest timer was.
fn once(subject: &Subject<'_>, executor: Executor, tried: u32) -> Result<(f64, f64), String> {
    let path = subject.database(&format!("stall-{executor}-{tried}.db"), TABLE)?;
    let mut trial =
        Draft::new(subject).on(&path).transaction(slow_insert(HOLD_US)).role("w", 1, &["insert"], count(1)).build();
    (trial.executor, trial.runtime_threads, trial.probe_ms) = (executor, Some(1), PERIOD_MS);
    let result = subject.run(&trial)?.result;
    let longest = |histogram: &Histogram| histogram.max().map(|ns| ns as f64);
    let stall =
        result.operations.first().and_then(|o| longest(&o.service)).ok_or("the transaction was not measured")?;
    let held = HOLD_US as f64 * 1e3..;
    ensure!(held.contains(&stall), "a hold of 200 ms took {stall} ns");
    let Probe { lateness, .. } = result.probe.ok_or("a probe was asked for, and there is none")?;
    Ok((stall, longest(&lateness).ok_or("no timer was due in 200 ms")?))
}
