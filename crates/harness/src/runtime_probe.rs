//! The host probe in a runtime: a task with a timer that submits an empty job to the pool of blocking threads at each
//! due time.

use std::collections::BTreeSet;
use std::time::Duration;

use litelab_protocol::histogram::Histogram;
use tokio::runtime::{Handle, RuntimeMetrics};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::clock::Clock;
use crate::probe::{Probed, Prober};
use crate::state::TrialState;

/// Probes from `go` until `stop`, which tells whether a worker hangs. Delays during the warm-up are not recorded, but
/// ticks report them.
pub async fn run(state: &TrialState, clock: Clock, mut stop: oneshot::Receiver<bool>) -> Probed {
    let (trial, lag) = (state.trial, &state.counters.probe_lag);
    let warm = trial.warmup_ms.saturating_mul(1_000_000);
    let mut prober = Prober::new(trial.probe_ms, warm);
    let mut busy = Busy::new(Handle::current().metrics());
    let mut jobs = JoinSet::new();
    // Submission times of the jobs that have not run.
    let mut waiting = BTreeSet::new();
    let mut pool_wait = Histogram::new();
    busy.note(clock.now(), warm);
    let hangs = loop {
        let due = Instant::from_std(clock.go() + Duration::from_nanos(prober.due()));
        if let Ok(hangs) = timeout_at(due, &mut stop).await {
            break hangs.unwrap_or_default();
        }
        // The runtime's clock and the trial's may differ by some parts in a million; by the runtime's the timer is due.
        let now = clock.now().max(prober.due());
        prober.note(now);
        lag.note(prober.take_longest(), prober.due());
        busy.note(now, warm);
        jobs.spawn_blocking(move || (now, clock.now()));
        waiting.insert(now);
        while let Some(job) = jobs.try_join_next() {
            record(&mut pool_wait, &mut waiting, job.ok(), warm);
        }
    };
    let now = clock.now();
    let utilization = busy.share(now);
    let lateness = prober.into_lateness(now);
    // Workers that hang may hold all threads of the pool. Otherwise it has no other work: the workers have ended.
    while let Some(job) = if hangs { jobs.try_join_next() } else { jobs.join_next().await } {
        record(&mut pool_wait, &mut waiting, job.ok(), warm);
    }
    waiting.range(warm..).for_each(|asked| pool_wait.record(now.saturating_sub(*asked)));
    let timers = [("probe", lateness), ("pool_wait", pool_wait)].map(|(name, timer)| (name.to_owned(), timer));
    let gauges = utilization.map(|share| ("utilization".to_owned(), share)).into_iter().collect();
    Probed { timers: timers.into(), gauges }
}

/// Records the time from the submission of a job to its start.
fn record(wait: &mut Histogram, waiting: &mut BTreeSet<u64>, job: Option<(u64, u64)>, warm: u64) {
    let Some((asked, ran)) = job else { return };
    waiting.remove(&asked);
    if asked >= warm {
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
