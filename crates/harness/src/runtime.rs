//! The asynchronous host program of a trial: a tokio runtime of several threads, whose tasks are the workers.

use std::sync::{Arc, OnceLock};

use litelab_protocol::{Executor, Trial};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Barrier, Notify};
use tokio::task::{JoinError, JoinSet};

use crate::clock::{Rate, Tuning};
use crate::fault::Fault;
use crate::pulse;
use crate::record::Board;
use crate::stage::Stage;
use crate::tasks::{self, Way};
use crate::threads::{give_up, panicked};
use crate::watch::Watch;
use crate::worker::{Done, Ended, Worker};

/// An option beside the driver's, under [`Executor::Offload`] alone: size of the runtime's pool of blocking threads. Its own
/// default is 512.
const MAX_BLOCKING_THREADS: &str = "max_blocking_threads";

/// The program, before its workers start.
///
/// Tasks live as long as they like, so what they borrow has to be there for ever. It is leaked: a process runs one trial.
pub struct Program {
    pub trial: &'static Trial,
    pub stage: &'static Stage<'static>,
    pub runtime: Runtime,
    watch: Watch,
    tuning: Tuning,
}

/// The program while they work.
pub struct Running {
    pub runtime: Runtime,
    trial: &'static Trial,
    stage: &'static Stage<'static>,
    watch: Watch,
    rate: Option<Rate>,
}

impl Program {
    /// To be made while the process has one thread, and no database is open.
    pub fn begin(trial: &Trial) -> Result<Self, Fault> {
        let mut trial = trial.clone();
        let blocking = blocking_threads(&mut trial)?;
        let trial: &'static Trial = Box::leak(Box::new(trial));
        let board = Board::new(trial)?;
        // The one that looks on has no part in the runtime, so the probe is left to a task of it.
        let watch = Watch::begin(trial, &board, 0)?;
        let tuning = Tuning::begin();
        let stage: &'static Stage<'static> = Box::leak(Box::new(Stage::new(trial, board)?));
        let runtime = runtime(trial.runtime_threads, blocking)?;
        Ok(Self { trial, stage, runtime, watch, tuning })
    }

    /// All is open.
    pub fn ready(self) -> Running {
        let Self { trial, stage, runtime, watch, tuning } = self;
        Running { runtime, trial, stage, watch, rate: tuning.finish() }
    }
}

impl Running {
    /// Starts all workers together, and waits until the last has ended. One that cannot go on ends the process, as among
    /// threads.
    pub fn work<W: Way>(self, workers: Vec<Worker<'static, W>>) -> Result<(Runtime, Ended<W>), Fault> {
        let Self { runtime, trial, stage, watch, rate } = self;
        let probes = trial.probe_ms > 0;
        let barrier = Arc::new(Barrier::new(workers.len() + 1 + usize::from(probes)));
        let go = Arc::new(OnceLock::new());
        let start = move || {
            let (barrier, go) = (barrier.clone(), go.clone());
            async move {
                barrier.wait().await;
                *go.get_or_init(|| crate::clock::Clock::start(rate))
            }
        };
        let (mut done, probe) = runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for worker in workers {
                let start = start();
                tasks.spawn(async move {
                    let clock = start.await;
                    let role = worker.id.role;
                    let ended = tasks::run(worker, clock).await;
                    stage.leave(role, clock);
                    ended
                });
            }
            let stop = Arc::new(Notify::new());
            let pulse = probes.then(|| {
                let (start, stop) = (start(), stop.clone());
                tokio::spawn(async move { pulse::run(trial, start.await, &stop, stage.beat()).await })
            });
            let clock = start().await;
            watch.start(clock).unwrap_or_else(|fault| give_up(&watch, fault));
            let mut done = Vec::new();
            while let Some(ended) = tasks.join_next().await {
                let ended = ended.map_err(broken).flatten();
                done.push(ended.unwrap_or_else(|fault| give_up(&watch, fault)));
            }
            stop.notify_one();
            let probe = match pulse {
                Some(pulse) => Some(pulse.await.map_err(broken).unwrap_or_else(|fault| give_up(&watch, fault))),
                None => None,
            };
            (done, probe)
        });
        done.sort_by_key(|done: &Done<W>| done.id.counters);
        watch.finish()?;
        Ok((runtime, (done, probe)))
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
