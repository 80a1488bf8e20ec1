//! Ticks and the host probe.

use litelab_protocol::{Load, Trial, Until};

use super::{Found, passed};
use crate::conversation::Heard;
use crate::draft::{Draft, TABLE, count, insert, slow_insert};
use crate::error::{Result, ensure, timely};
use crate::subject::Subject;

/// A trial that is nearly idle for a third of a second must still send ticks: the engine detects a hung runner by the
/// absence of output. 15 ticks are due in 300 ms.
pub fn ticks(subject: &Subject<'_>) -> Found {
    let database = subject.database(TABLE)?;
    let mut trial = Draft::new(subject).on(&*database).transaction(slow_insert(0)).only(1, count(3));
    trial.roles[0].load = Load::Closed { think_us: 150_000 };
    let heard = told(subject, trial, 6, 0)?;
    passed(format!("{} ticks in {:.0} ms", heard.ticks.len(), heard.took.as_secs_f64() * 1e3))
}

/// Runs a trial with a tick every 20 ms. At least `least` ticks must come, in time and in order: a busy machine may
/// merge some. Those of an operation must add up to no more than its result, and to half of it except `rest`
/// transactions: those after the last tick may be missing.
pub fn told(subject: &Subject<'_>, mut trial: Trial, least: usize, rest: u64) -> Result<Heard> {
    trial.tick_ms = 20;
    let heard = subject.run(&trial)?;
    let (ticks, took) = (heard.ticks.len(), heard.took);
    timely!(ticks >= least, "{ticks} ticks were heard in {took:?}, one is due every 20 ms");
    // Three quarters of the trial's measured duration: on a busy machine a trial is longer than its pauses.
    let late = took.mul_f64(0.75);
    let early = heard.ticks.iter().filter(|(at, _)| *at < late).count();
    timely!(early >= 4, "its ticks came late: {early} of {ticks} before {late:?} of {took:?}");
    let mut last = 0;
    for (at, tick) in &heard.ticks {
        ensure!(tick.t_ms >= last, "a tick of {} ms follows one of {last} ms", tick.t_ms);
        let outside = at.as_millis() as u64;
        // Both clocks start at `go`, the runner's slightly later.
        ensure!(tick.t_ms <= outside + 1, "a tick says {} ms, and was heard {outside} ms after go", tick.t_ms);
        last = tick.t_ms;
    }
    for operation in &heard.result.operations {
        let (sum, all) = (heard.ticked_of(operation), (operation.committed, operation.empty));
        let what =
            format!("`{}`: ticks add up to {sum:?} done and in vain, the result says {all:?}", operation.transaction);
        ensure!(sum.0 <= all.0 && sum.1 <= all.1, "{what}");
        timely!(2 * sum.0 + rest >= all.0 && 2 * sum.1 + rest >= all.1, "{what}");
    }
    Ok(heard)
}

/// A trial of 150 ms with a probe of this period.
fn probed(subject: &Subject<'_>, probe_ms: u64) -> Result<Heard> {
    let database = subject.database(TABLE)?;
    let mut trial = Draft::new(subject).on(&*database).transaction(insert()).only(1, Until::Time { ms: 150 });
    trial.roles[0].load = Load::Closed { think_us: 1_000 };
    trial.probe_ms = probe_ms;
    subject.run(&trial)
}

/// Number of ticks that report the lag of the timers.
fn lags(heard: &Heard) -> usize {
    heard.ticks.iter().filter(|(_, tick)| tick.lag_ns.is_some()).count()
}

pub fn probe(subject: &Subject<'_>) -> Found {
    let heard = probed(subject, 10)?;
    let (told, ticks, result) = (lags(&heard), heard.ticks.len(), heard.result);
    let Some(probe) = result.timers.get("probe") else {
        return Err("a probe every 10 ms was asked for, and there is none".into());
    };
    ensure!(told == ticks, "a probe was asked for, and {told} of {ticks} ticks tell how late its timers ran");
    let timers = probe.count();
    // 15 timers are due. The last one may be cut off, and coarse timers merge.
    let most = result.elapsed_ns / 10_000_000 + 1;
    timely!((5..=most).contains(&timers), "a timer every 10 ms for 150 ms, and {timers} are recorded");
    let busy = result.gauges.get("utilization");
    ensure!(busy.is_none_or(|share| (0.0..=1.0).contains(share)), "its utilization is {busy:?}");
    let off = probed(subject, 0)?;
    ensure!(lags(&off) == 0, "no probe was asked for, and ticks tell how late its timers ran");
    ensure!(!off.result.timers.contains_key("probe"), "no probe was asked for, and there is one");
    passed(format!("{timers} timers in 150 ms"))
}
