//! Executor `threads`: each worker runs in its own thread. `processes` is the same in several processes.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, OnceLock, mpsc};
use std::thread;

use crate::clock::Clock;
use crate::conversation::exit_failed;
use crate::fault::Fault;
use crate::monitor::{Done, Ended, Finished, watch};
use crate::state::TrialState;
use crate::transaction::Transactions;
use crate::worker::Worker;

/// Starts all workers together, and waits until each has ended or its drain has passed. `execute` runs a transaction on
/// a worker's handle.
pub fn run<H, E>(state: &'static TrialState, workers: Vec<(Worker, H)>, execute: E) -> Finished<H>
where
    H: Send + 'static,
    E: Fn(&mut Transactions, &mut H) -> Result<(), Fault> + Copy + Send + 'static,
{
    let barrier = Arc::new((Barrier::new(workers.len() + 1), OnceLock::new()));
    let start = move || {
        barrier.0.wait();
        *barrier.1.get_or_init(Clock::start)
    };
    let (send, ended) = mpsc::channel();
    for (worker, handle) in workers {
        let (send, start) = (send.clone(), start.clone());
        thread::Builder::new()
            .spawn(move || {
                // The receiver is dropped only when the process is about to end.
                let _sent = send.send(work(state, worker, start(), handle, execute));
            })
            .unwrap_or_else(|error| exit_failed(Fault::Other(format!("a thread for a worker: {error}"))));
    }
    drop(send);
    watch(state, start(), state.trial.probe_ms, &ended)
}

/// Runs one worker from `go` to its end; a panic becomes a fault.
fn work<H>(
    state: &'static TrialState,
    mut worker: Worker,
    clock: Clock,
    mut handle: H,
    execute: impl Fn(&mut Transactions, &mut H) -> Result<(), Fault>,
) -> Ended<H> {
    let id = worker.id;
    let ended = catch_unwind(AssertUnwindSafe(|| worker.run(clock, &mut handle, execute)));
    match ended.unwrap_or_else(|panic| Err(panicked(&*panic))) {
        Ok(false) => Ok(None),
        Ok(true) => {
            state.leave(id.role, clock);
            Ok(Some(Done { id, handle }))
        }
        Err(fault) => {
            if state.fail(id, clock) {
                Err(fault)
            } else {
                Ok(None)
            }
        }
    }
}

/// Converts a panic to a fault, with its message.
pub fn panicked(panic: &(dyn Any + Send)) -> Fault {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Fault::Other(format!("panic: {}", text.unwrap_or("without a message")))
}
