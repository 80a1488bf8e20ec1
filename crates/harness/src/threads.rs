//! The executor `threads`: each worker in a thread of its own. `processes` is the same, in several processes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Barrier, OnceLock, mpsc};
use std::thread;

use litelab_protocol::Probe;

use crate::clock::Clock;
use crate::fault::Fault;
use crate::lookout::{Ended, end_now, give_up, look_on};
use crate::stage::Stage;
use crate::worker::{Done, Route, Worker};

/// Starts all workers together, and waits until the last has ended. Where one hangs beyond its drain the process ends here.
pub fn run<H: Route + Send>(stage: &Stage<'_>, workers: Vec<Worker<'_, H>>) -> (Vec<Done<H>>, Option<Probe>) {
    let barrier = Barrier::new(workers.len() + 1);
    let go = OnceLock::new();
    let start = || {
        barrier.wait();
        *go.get_or_init(Clock::start)
    };
    thread::scope(|scope| {
        let (send, ended) = mpsc::channel();
        for worker in workers {
            let (send, start) = (send.clone(), &start);
            thread::Builder::new()
                .spawn_scoped(scope, move || {
                    // The receiver is gone only when the process is about to end.
                    let _sent = send.send(work(stage, worker, start()));
                })
                .unwrap_or_else(|error| give_up(Fault::Other(format!("a thread for a worker: {error}"))));
        }
        drop(send);
        let left = look_on(stage, start(), stage.trial().probe_ms, &ended);
        if left.hangs {
            end_now(stage.result(left.probe));
        }
        (left.done, left.probe)
    })
}

/// One worker from `go` to its end; a panic is a fault.
fn work<H: Route>(stage: &Stage<'_>, worker: Worker<'_, H>, clock: Clock) -> Ended<H> {
    let role = worker.id.role;
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let ended = worker.run(clock);
        if !matches!(ended, Ok(None)) {
            stage.leave(role, clock);
        }
        ended
    }));
    ended.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// A panic as a fault.
pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Fault {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Fault::Other(format!("panic: {}", text.unwrap_or("without a message")))
}
