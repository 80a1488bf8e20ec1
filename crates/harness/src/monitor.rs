//! Work of a runner's first thread while the workers run: ticks, the host probe if the workers are threads, and drains.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use litelab_protocol::{Message, TickCount, TrialResult};

use crate::clock::Clock;
use crate::conversation::{exit_failed, exit_with, send};
use crate::fault::Fault;
use crate::probe::{Probed, Prober};
use crate::state::TrialState;
use crate::worker::Id;

/// Shortest time between two looks at drains, in nanoseconds.
const AGAIN: u64 = 10_000_000;

/// A worker that has ended, with its handle of a connection.
pub struct Done<H> {
    pub id: Id,
    pub handle: H,
}

/// Result of a worker; `None` if it was abandoned before.
pub type Ended<H> = Result<Option<Done<H>>, Fault>;

/// State after each worker has ended or its drain has passed.
pub struct Finished<H> {
    /// Workers by database, role and place in the role.
    pub done: Vec<Done<H>>,
    pub probed: Probed,
    /// Whether a worker has not ended, so that its thread still holds a connection.
    pub hangs: bool,
}

impl<H> Finished<H> {
    /// Returns the workers and the result of the trial, extended by `add`. If a worker hangs, the process ends here
    /// with the result.
    pub fn result(self, state: &'static TrialState, add: impl FnOnce(&mut TrialResult)) -> (Vec<Done<H>>, TrialResult) {
        let mut result = state.result(self.probed);
        add(&mut result);
        if self.hangs {
            exit_with(result);
        }
        (self.done, result)
    }
}

/// Waits until each worker has ended or its drain has passed. `probe_ms` is the interval of the host probe in
/// milliseconds; 0 disables it. A trial that cannot continue ends the process here: workers may hang on a lock that the
/// failed one still holds, and there is no result to wait for.
pub fn watch<H>(state: &'static TrialState, clock: Clock, probe_ms: u64, ended: &Receiver<Ended<H>>) -> Finished<H> {
    let trial = state.trial;
    let every = trial.tick_ms.max(1).saturating_mul(1_000_000);
    let mut prober = (probe_ms > 0).then(|| Prober::new(probe_ms, trial.warmup_ms.saturating_mul(1_000_000)));
    let (mut due, mut last) = (every, Vec::new());
    let mut done = Vec::new();
    let mut working = state.count();
    let mut hangs = false;
    while working > 0 {
        // After a drain a worker between two transactions may still be about to end.
        let drained = state.next_drained().max(clock.now() + AGAIN);
        let next = prober.as_ref().map_or(due, |prober| due.min(prober.due())).min(drained);
        match ended.recv_timeout(Duration::from_nanos(next.saturating_sub(clock.now()))) {
            Ok(Ok(Some(worker))) => {
                let at = done.partition_point(|other: &Done<H>| other.id.counters < worker.id.counters);
                done.insert(at, worker);
                working -= 1;
                continue;
            }
            Ok(Ok(None)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Err(fault)) => exit_failed(fault),
            Err(RecvTimeoutError::Disconnected) => exit_failed(Fault::Other("a worker did not come to its end".into())),
        }
        let now = clock.now();
        if let Some(prober) = &mut prober {
            prober.note(now);
        }
        if now >= due {
            tick(state, now, &mut prober, &mut last);
            due = (now / every + 1) * every;
        }
        let abandoned = state.abandon(clock, hangs);
        working -= abandoned;
        hangs |= abandoned > 0;
    }
    // A last tick, so that all ticks add up to the result.
    let now = clock.now();
    tick(state, now, &mut prober, &mut last);
    let timers = prober.map(|prober| ("probe".to_owned(), prober.into_lateness(now))).into_iter().collect();
    Finished { done, probed: Probed { timers, ..Probed::default() }, hangs }
}

fn tick(state: &'static TrialState, now: u64, prober: &mut Option<Prober>, last: &mut Vec<TickCount>) {
    let (trial, counters) = (state.trial, &state.counters);
    let lag = match prober {
        Some(prober) => Some(prober.take_longest()),
        // The probe runs in the runtime.
        None => (trial.probe_ms > 0).then(|| counters.probe_lag.take(now, trial.probe_ms.saturating_mul(1_000_000))),
    };
    if send(&Message::Tick(counters.tick(trial, now / 1_000_000, lag, last))).is_err() {
        // The core has ended: no process takes the result, and the databases may be deleted.
        std::process::exit(1);
    }
}
