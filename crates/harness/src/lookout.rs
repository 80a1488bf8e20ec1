//! What the first thread of a runner does while the workers work: the ticks, the host probe where they are threads, and the
//! drain.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use litelab_protocol::{Line, Probe, TickCount, TrialResult};

use crate::clock::Clock;
use crate::fault::Fault;
use crate::probe::Prober;
use crate::say;
use crate::stage::Stage;
use crate::worker::Done;

/// How a worker ended; none for one that was abandoned before.
pub type Ended<H> = Result<Option<Done<H>>, Fault>;

/// What is left when all workers have ended, or their drains have passed.
pub struct Left<H> {
    /// In the order in which they were made.
    pub done: Vec<Done<H>>,
    /// What the host probe saw, where it is not in a runtime.
    pub probe: Option<Probe>,
    /// Whether a worker has not ended: its thread still holds connections.
    pub hangs: bool,
}

/// Looks on until each worker has said how it ended, or its drain has passed. `probes` is the interval of the host probe in
/// milliseconds, 0 for none. A trial that cannot go on ends the process here: workers may hang on what the faulty one still
/// holds, and there is no result to wait for.
pub fn look_on<H>(stage: &Stage<'_>, clock: Clock, probes: u64, ended: &Receiver<Ended<H>>) -> Left<H> {
    let trial = stage.trial();
    let every = trial.tick_ms.max(1).saturating_mul(1_000_000);
    let mut prober = (probes > 0).then(|| Prober::new(probes, trial.warmup_ms.saturating_mul(1_000_000)));
    let (mut due, mut last) = (every, Vec::new());
    let mut done = Vec::new();
    let mut working = stage.count();
    let mut hangs = false;
    while working > 0 {
        let next = prober.as_ref().map_or(due, |prober| due.min(prober.due())).min(stage.next_drained());
        match ended.recv_timeout(Duration::from_nanos(next.saturating_sub(clock.now()))) {
            Ok(Ok(Some(worker))) => {
                done.push(worker);
                working -= 1;
                continue;
            }
            Ok(Ok(None)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Err(fault)) => give_up(fault),
            Err(RecvTimeoutError::Disconnected) => give_up(Fault::Other("a worker did not come to its end".into())),
        }
        let now = clock.now();
        if let Some(prober) = &mut prober {
            prober.note(now);
        }
        if now >= due {
            tick(stage, now, &mut prober, &mut last);
            due = (now / every + 1) * every;
        }
        let abandoned = stage.abandon(clock);
        working -= abandoned;
        hangs |= abandoned > 0;
    }
    // The rest, so that all ticks add up to the result.
    let now = clock.now();
    tick(stage, now, &mut prober, &mut last);
    done.sort_by_key(|done: &Done<H>| done.id.counters);
    let lateness = prober.map(|prober| prober.into_lateness(now));
    let probe = lateness.map(|lateness| Probe { lateness, pool_wait: None, utilization: None, scheduler: None });
    Left { done, probe, hangs }
}

fn tick(stage: &Stage<'_>, now: u64, prober: &mut Option<Prober>, last: &mut Vec<TickCount>) {
    let trial = stage.trial();
    let lag = match prober {
        Some(prober) => Some(prober.take_longest()),
        // It is in the runtime.
        None => (trial.probe_ms > 0).then(|| stage.beat().take(now, trial.probe_ms.saturating_mul(1_000_000))),
    };
    // A core that does not listen any more is no reason to end the trial here.
    let _told = say(&Line::Tick(stage.board().tick(trial, now / 1_000_000, lag, last)));
}

/// Ends the process with this as its last line.
pub fn give_up(fault: Fault) -> ! {
    // Nobody is left to tell where even this cannot be written.
    let _told = say(&Line::Failed(fault.into_failed()));
    std::process::exit(1)
}

/// Ends the process with this result, whatever a worker's thread still does.
pub fn end_now(result: TrialResult) -> ! {
    let told = say(&Line::Result(Box::new(result)));
    std::process::exit(i32::from(told.is_err()))
}
