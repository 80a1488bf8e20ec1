//! The asynchronous host program of a trial: a tokio runtime of several threads, whose tasks are the workers.

use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use litelab_protocol::{Executor, Probe, Trial};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Barrier, Notify};
use tokio::task::{JoinError, JoinHandle};

use crate::clock::Clock;
use crate::fault::Fault;
use crate::lookout::{Left, give_up, look_on};
use crate::pulse;
use crate::stage::Stage;
use crate::tasks::{self, Way};
use crate::threads::panicked;
use crate::worker::Worker;

/// An option beside the driver's, under [`Executor::Offload`] alone: size of the runtime's pool of blocking threads. Its own
/// default is 512.
const MAX_BLOCKING_THREADS: &str = "max_blocking_threads";

/// How long is waited for the probe of a runtime in which a worker hangs.
const PATIENCE: Duration = Duration::from_secs(1);

/// The program.
///
/// Tasks live as long as they like, so what they borrow has to be there for ever. It is leaked: a process runs one trial.
pub struct Program {
    pub trial: &'static Trial,
    pub stage: &'static Stage<'static>,
    pub runtime: Runtime,
}

impl Program {
    /// With no workers yet.
    pub fn begin(trial: &Trial) -> Result<Self, Fault> {
        let mut trial = trial.clone();
        let blocking = blocking_threads(&mut trial)?;
        let trial: &'static Trial = Box::leak(Box::new(trial));
        let stage: &'static Stage<'static> = Box::leak(Box::new(Stage::new(trial)?));
        Ok(Self { trial, stage, runtime: runtime(trial.runtime_threads, blocking)? })
    }

    /// Starts all workers together, and waits until the last has ended, or its drain has passed. This thread has no part in the
    /// runtime: it looks on while the runtime is held up, too. One that cannot go on ends the process, as among threads.
    pub fn work<W: Way>(&self, workers: Vec<Worker<'static, W>>) -> Left<W> {
        let Self { trial, stage, runtime } = self;
        let (trial, stage): (&'static Trial, &'static Stage<'static>) = (trial, stage);
        let probes = trial.probe_ms > 0;
        let barrier = Arc::new(Barrier::new(workers.len() + 1 + usize::from(probes)));
        let go = Arc::new(OnceLock::new());
        let start = move || {
            let (barrier, go) = (barrier.clone(), go.clone());
            async move {
                barrier.wait().await;
                *go.get_or_init(Clock::start)
            }
        };
        let (send, ended) = mpsc::channel();
        for worker in workers {
            let (send, start) = (send.clone(), start());
            let task = runtime.spawn(async move {
                let clock = start.await;
                let role = worker.id.role;
                let ended = tasks::run(worker, clock).await;
                if !matches!(ended, Ok(None)) {
                    stage.leave(role, clock);
                }
                ended
            });
            runtime.spawn(async move {
                let ended = task.await.map_err(broken).flatten();
                // The receiver is gone only when the process is about to end.
                let _sent = send.send(ended);
            });
        }
        drop(send);
        let stop = Arc::new(Notify::new());
        let pulse = probes.then(|| {
            let (start, stop) = (start(), stop.clone());
            runtime.spawn(async move { pulse::run(trial, start.await, &stop, stage.beat()).await })
        });
        let clock = runtime.block_on(start());
        let mut left = look_on(stage, clock, 0, &ended);
        stop.notify_one();
        left.probe = pulse.and_then(|pulse| self.seen(pulse, left.hangs));
        left
    }

    /// What the probe saw; nothing where a worker that hangs keeps it from telling.
    fn seen(&self, pulse: JoinHandle<Probe>, hangs: bool) -> Option<Probe> {
        let seen = async {
            match hangs {
                true => tokio::time::timeout(PATIENCE, pulse).await.ok(),
                false => Some(pulse.await),
            }
        };
        self.runtime.block_on(seen).map(|seen| seen.map_err(broken).unwrap_or_else(|fault| give_up(fault)))
    }
}

/// A task that did not come to its end.
pub fn broken(error: JoinError) -> Fault {
    match error.try_into_panic() {
        Ok(panic) => panicked(&*panic),
        Err(error) => Fault::other(error),
    }
}

/// As an application makes it, with a timer and no more of tokio's drivers. `threads` are those that run tasks: as many as
/// there are processors, unless it says.
pub fn runtime(threads: Option<u32>, blocking: Option<u32>) -> Result<Runtime, Fault> {
    let mut builder = Builder::new_multi_thread();
    builder.enable_time();
    if let Some(threads) = threads {
        builder.worker_threads(positive(threads, "runtime_threads")?);
    }
    if let Some(threads) = blocking {
        builder.max_blocking_threads(positive(threads, MAX_BLOCKING_THREADS)?);
    }
    builder.build().map_err(|e| Fault::Other(format!("the runtime: {e}")))
}

/// A runtime that runs in the thread that waits for it, for what has to be awaited outside of a trial.
///
/// # Errors
/// Where the system has no timer for it.
pub fn waiting() -> Result<Runtime, Fault> {
    Builder::new_current_thread().enable_time().build().map_err(|e| Fault::Other(format!("the runtime: {e}")))
}

fn positive(threads: u32, name: &str) -> Result<usize, Fault> {
    if threads == 0 {
        Err(Fault::Other(format!("{name}: a runtime needs at least one thread")))
    } else {
        Ok(threads as usize)
    }
}

/// Takes the option out of those that the driver sees.
fn blocking_threads(trial: &mut Trial) -> Result<Option<u32>, Fault> {
    if trial.executor != Executor::Offload {
        return Ok(None);
    }
    let Some(value) = trial.connection.options.remove(MAX_BLOCKING_THREADS) else { return Ok(None) };
    match value.as_u64().and_then(|threads| u32::try_from(threads).ok()) {
        Some(threads) => Ok(Some(threads)),
        None => Err(Fault::Other(format!("option `{MAX_BLOCKING_THREADS}`: {value} is no number of threads"))),
    }
}
