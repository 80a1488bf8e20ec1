//! The asynchronous host program of a trial: a multi-threaded tokio runtime whose tasks are the workers.

use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use litelab_protocol::Executor;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Barrier, Notify};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

use crate::clock::Clock;
use crate::conversation::exit_failed;
use crate::fault::Fault;
use crate::monitor::{Done, Finished, watch};
use crate::probe::Probed;
use crate::runtime_probe;
use crate::state::{MAX_BLOCKING_THREADS, TrialState};
use crate::threads::{self, panicked};
use crate::transaction::{Execution, Transactions};
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
    E: Fn(&mut Transactions, &mut H) -> Result<Execution, Fault> + Copy + Send + Sync + 'static,
{
    let inline = move |mut transactions: Box<Transactions>, mut handle: Box<H>| async move {
        let execution = execute(&mut transactions, &mut handle)?;
        Ok::<_, Fault>((transactions, handle, execution))
    };
    let offload = move |mut transactions: Box<Transactions>, mut handle: Box<H>| async move {
        let call = move || {
            let execution = execute(&mut transactions, &mut handle)?;
            Ok::<_, Fault>((transactions, handle, execution))
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
    F: Future<Output = Result<(Box<Transactions>, Box<H>, Execution), Fault>> + Send + 'static,
{
    let probes = state.trial.probe_ms > 0;
    let barrier = Arc::new((Barrier::new(workers.len() + 1 + usize::from(probes)), OnceLock::new()));
    let start = move || {
        let barrier = barrier.clone();
        async move {
            barrier.0.wait().await;
            *barrier.1.get_or_init(Clock::start)
        }
    };
    let (send, ended) = mpsc::channel();
    for (worker, handle) in workers {
        let (send, start) = (send.clone(), start());
        let task = runtime.spawn(async move {
            let (clock, id) = (start.await, worker.id);
            let ended = worker.run_async(clock, Box::new(handle), execute, never_waits).await;
            if !matches!(ended, Ok(None)) {
                state.leave(id.role, clock);
            }
            Ok::<_, Fault>(ended?.map(|handle| Done { id, handle: *handle }))
        });
        runtime.spawn(async move {
            let ended = task.await.map_err(broken).flatten();
            // The receiver is dropped only when the process is about to end.
            let _sent = send.send(ended);
        });
    }
    drop(send);
    let stop = Arc::new(Notify::new());
    let probe = probes.then(|| {
        let (start, stop) = (start(), stop.clone());
        runtime.spawn(async move { runtime_probe::run(state, start.await, &stop).await })
    });
    let clock = runtime.block_on(start());
    let mut finished = watch(state, clock, 0, &ended);
    stop.notify_one();
    if let Some(probed) = probe.and_then(|probe| measured(runtime, probe, finished.hangs)) {
        finished.probed = probed;
    }
    finished
}

/// Measurements of the probe; `None` if a worker that hangs prevents its end.
fn measured(runtime: &Runtime, probe: JoinHandle<Probed>, hangs: bool) -> Option<Probed> {
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
