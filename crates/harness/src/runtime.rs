//! The asynchronous host program of a trial: a multi-threaded tokio runtime whose tasks are the workers.

use std::pin::Pin;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use litelab_protocol::Executor;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Barrier, oneshot};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use crate::clock::Clock;
use crate::conversation::exit_failed;
use crate::fault::Fault;
use crate::monitor::{Done, Finished, watch};
use crate::probe::Probed;
use crate::runtime_probe;
use crate::state::{MAX_BLOCKING_THREADS, TrialState};
use crate::threads::{self, panicked};
use crate::transaction::Transactions;
use crate::worker::Worker;

/// Longest wait for the probe of a runtime in which a worker hangs.
const PATIENCE: Duration = Duration::from_secs(1);

/// As [`run`], for calls that block. The executor of the trial determines where they run: in threads of the workers, in
/// the threads of the runtime, or in its pool of blocking threads.
pub fn run_blocking<H, E>(
    state: &'static TrialState,
    runtime: &Runtime,
    workers: Vec<(Worker, H)>,
    execute: E,
) -> Finished<H>
where
    H: Send + 'static,
    E: Fn(&mut Transactions, &mut H) -> Result<(), Fault> + Copy + Send + Sync + 'static,
{
    let inline = move |mut transactions: Box<Transactions>, mut handle: Box<H>| async move {
        execute(&mut transactions, &mut handle)?;
        Ok::<_, Fault>((transactions, handle))
    };
    let offload = move |mut transactions: Box<Transactions>, mut handle: Box<H>| async move {
        let call = move || {
            execute(&mut transactions, &mut handle)?;
            Ok::<_, Fault>((transactions, handle))
        };
        spawn_blocking(call).await.map_err(broken).flatten()
    };
    match state.trial.executor {
        Executor::Threads | Executor::Processes => threads::run(state, workers, execute),
        Executor::Inline => run(state, runtime, workers, inline, true),
        Executor::Offload | Executor::Dedicated => run(state, runtime, workers, offload, false),
    }
}

/// Starts all workers together, and waits until each has ended or its drain has passed. The calling thread is not part
/// of the runtime, so that it sends ticks while the runtime is blocked. A worker that cannot continue ends the process,
/// as under executor `threads`. `execute` and `never_waits` are those of [`Worker::run_async`].
pub fn run<H, E, F>(
    state: &'static TrialState,
    runtime: &Runtime,
    workers: Vec<(Worker, H)>,
    execute: E,
    never_waits: bool,
) -> Finished<H>
where
    H: Send + 'static,
    E: Fn(Box<Transactions>, Box<H>) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<(Box<Transactions>, Box<H>), Fault>> + Send + 'static,
{
    let start = Start::of(state, workers.len());
    let (send, ended) = mpsc::channel();
    for (worker, handle) in workers {
        let (send, failed, start) = (send.clone(), send.clone(), start.clone());
        let work = async move {
            let (clock, id) = (start.wait().await, worker.id);
            let ended = match worker.run_async(clock, Box::new(handle), execute, never_waits).await {
                Ok(None) => None,
                Ok(Some(handle)) => {
                    state.leave(id.role, clock);
                    Some(Done { id, handle: *handle })
                }
                Err(fault) if state.fail(id, clock) => return Err(fault),
                Err(_) => None,
            };
            // The receiver is dropped only when the process is about to end.
            let _sent = send.send(Ok(ended));
            Ok(())
        };
        let failed = move |fault| {
            let _sent = failed.send(Err(fault));
        };
        spawn(runtime, Box::pin(work), Box::new(failed));
    }
    drop(send);
    let (probe, clock) = Probe::start(state, runtime, &start);
    let mut finished = watch(state, clock, 0, &ended);
    if let Some(probed) = probe.and_then(|probe| probe.end(runtime, finished.hangs)) {
        finished.probed = probed;
    }
    finished
}

/// A worker from `go` to its end.
type Work = Pin<Box<dyn Future<Output = Result<(), Fault>> + Send>>;

/// Runs a worker as a task. `failed` takes its error or panic. Not generic, so that tokio's code of a task is compiled
/// once and not for each driver.
fn spawn(runtime: &Runtime, work: Work, failed: Box<dyn FnOnce(Fault) + Send>) {
    let task = runtime.spawn(work);
    runtime.spawn(async move {
        if let Err(fault) = task.await.map_err(broken).flatten() {
            failed(fault);
        }
    });
}

/// The common start of the workers, the probe and the first thread.
#[derive(Clone)]
struct Start(Arc<(Barrier, OnceLock<Clock>)>);

impl Start {
    fn of(state: &TrialState, workers: usize) -> Self {
        let probes = usize::from(state.trial.probe_ms > 0);
        Self(Arc::new((Barrier::new(workers + 1 + probes), OnceLock::new())))
    }

    /// Waits for all others.
    async fn wait(self) -> Clock {
        self.0.0.wait().await;
        *self.0.1.get_or_init(Clock::start)
    }
}

/// The running probe of the runtime.
struct Probe {
    task: JoinHandle<Probed>,
    /// Ends it; takes whether a worker hangs.
    stop: oneshot::Sender<bool>,
}

impl Probe {
    /// Starts the probe, if the trial has one, and waits for the start of all.
    fn start(state: &'static TrialState, runtime: &Runtime, start: &Start) -> (Option<Self>, Clock) {
        let probe = (state.trial.probe_ms > 0).then(|| {
            let start = start.clone();
            let (stop, stopped) = oneshot::channel();
            let task = runtime.spawn(async move { runtime_probe::run(state, start.wait().await, stopped).await });
            Self { task, stop }
        });
        (probe, runtime.block_on(start.clone().wait()))
    }

    /// Measurements of the probe; `None` if a worker that hangs prevents its end.
    fn end(self, runtime: &Runtime, hangs: bool) -> Option<Probed> {
        // Not received if the probe has panicked, which its result tells.
        let _received = self.stop.send(hangs);
        let probe = self.task;
        let measured = if hangs {
            // No timer of the runtime runs while calls hold all of its threads.
            let (report, reported) = mpsc::sync_channel(1);
            runtime.spawn(async move {
                let _given_up = report.send(probe.await);
            });
            reported.recv_timeout(PATIENCE).ok()
        } else {
            Some(runtime.block_on(probe))
        };
        measured.map(|probe| probe.map_err(broken).unwrap_or_else(|fault| exit_failed(fault)))
    }
}

/// Converts the error of a task that has panicked or was cancelled.
pub fn broken(error: JoinError) -> Fault {
    match error.try_into_panic() {
        Ok(panic) => panicked(&*panic),
        Err(error) => Fault::other(error),
    }
}

/// The runtime of a trial. Under `threads` and `processes` it only waits until libraries have opened and closed.
pub fn of_trial(state: &TrialState) -> Result<Runtime, Fault> {
    match state.trial.executor {
        Executor::Threads | Executor::Processes => waiting(),
        _ => with_threads(state.trial.runtime_threads, state.max_blocking_threads),
    }
}

/// A runtime as an application creates it, with tokio's timer and no other of its drivers. `threads` is the number of
/// threads that run tasks (default: the number of processors), `blocking` that of threads that run blocking calls
/// (default: tokio's).
pub fn with_threads(threads: Option<u32>, blocking: Option<u32>) -> Result<Runtime, Fault> {
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

/// A runtime in the calling thread, for awaited calls outside of a trial.
///
/// # Errors
/// A system without a timer for it.
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
