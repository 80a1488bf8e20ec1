//! The host probe in a runtime: a task with a timer that submits an empty job to the pool of blocking threads at each
//! due time.

use std::time::Duration;

use litelab_protocol::histogram::Histogram;
use tokio::runtime::{Handle, RuntimeMetrics};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::clock::Clock;
use crate::probe::{Probed, Prober};
use crate::state::TrialState;

/// Probes from `go` until `stop`. Delays during the warm-up are not recorded, but ticks report them.
pub async fn run(state: &TrialState, clock: Clock, stop: &Notify) -> Probed {
    let (trial, lag) = (state.trial, &state.counters.probe_lag);
    let warm = trial.warmup_ms.saturating_mul(1_000_000);
    let mut prober = Prober::new(trial.probe_ms, warm);
    let mut busy = Busy::new(Handle::current().metrics());
    let mut jobs = JoinSet::new();
    let mut pool_wait = Histogram::new();
    busy.note(clock.now(), warm);
    loop {
        let due = Instant::from_std(clock.go() + Duration::from_nanos(prober.due()));
        if timeout_at(due, stop.notified()).await.is_ok() {
            break;
        }
        // The runtime's clock and the trial's may differ by some parts in a million; by the runtime's the timer is due.
        let now = clock.now().max(prober.due());
        prober.note(now);
        lag.note(prober.take_longest(), prober.due());
        busy.note(now, warm);
        jobs.spawn_blocking(move || (now, clock.now()));
        while let Some(job) = jobs.try_join_next() {
            record(&mut pool_wait, job.ok(), warm);
        }
    }
    let now = clock.now();
    let utilization = busy.share(now);
    let lateness = prober.into_lateness(now);
    // The workers have ended, so the pool has no other work.
    while let Some(job) = jobs.join_next().await {
        record(&mut pool_wait, job.ok(), warm);
    }
    let timers = [("probe", lateness), ("pool_wait", pool_wait)].map(|(name, timer)| (name.to_owned(), timer));
    let gauges = utilization.map(|share| ("utilization".to_owned(), share)).into_iter().collect();
    Probed { timers: timers.into(), gauges }
}

/// Records the time from the submission of a job to its start.
fn record(wait: &mut Histogram, job: Option<(u64, u64)>, warm: u64) {
    if let Some((asked, ran)) = job.filter(|(asked, _)| *asked >= warm) {
        wait.record(ran.saturating_sub(asked));
    }
}

/// Busy share of the runtime's threads, from the end of the warm-up.
struct Busy {
    metrics: RuntimeMetrics,
    /// Nanoseconds from `go` to the first observation after the warm-up, and the busy time of the threads until then.
    since: Option<(u64, Duration)>,
}

impl Busy {
    fn new(metrics: RuntimeMetrics) -> Self {
        Self { metrics, since: None }
    }

    fn note(&mut self, now: u64, warm: u64) {
        if self.since.is_none() && now >= warm {
            self.since = Some((now, self.total()));
        }
    }

    /// The share; `None` without an observation after the warm-up, or if the runtime does not count (it needs atomic
    /// 64-bit integers). The runtime counts a thread's busy time when the thread next becomes idle, so the sum may
    /// slightly exceed the elapsed time; the share is at most 1.
    fn share(&self, now: u64) -> Option<f64> {
        let (from, before) = self.since.filter(|(from, _)| *from < now && cfg!(target_has_atomic = "64"))?;
        let whole = (now - from) as f64 * self.metrics.num_workers() as f64;
        Some((self.total().saturating_sub(before).as_nanos() as f64 / whole).min(1.0))
    }

    #[cfg(target_has_atomic = "64")]
    fn total(&self) -> Duration {
        (0..self.metrics.num_workers()).map(|worker| self.metrics.worker_total_busy_duration(worker)).sum()
    }

    #[cfg(not(target_has_atomic = "64"))]
    fn total(&self) -> Duration {
        Duration::ZERO
    }
}
