//! The executor `threads`: each worker in a thread of its own. `processes` is the same, in several processes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Barrier, OnceLock, mpsc};
use std::thread;

use litelab_protocol::Line;

use crate::clock::{Clock, Rate};
use crate::fault::Fault;
use crate::say;
use crate::stage::Stage;
use crate::watch::Watch;
use crate::worker::{Done, Ended, Route, Worker};

/// Starts all workers together, and waits until the last has ended. The only worker of a process works in its only
/// thread.
pub fn run<H: Route + Send>(
    stage: &Stage<'_>,
    workers: Vec<Worker<'_, H>>,
    rate: Option<Rate>,
    watch: Watch,
) -> Result<Ended<H>, Fault> {
    let mut done = match <[Worker<'_, H>; 1]>::try_from(workers) {
        Ok([worker]) => {
            let clock = Clock::start(rate);
            watch.start(clock)?;
            vec![work(stage, worker, clock)?]
        }
        Err(workers) => together(stage, workers, rate, &watch)?,
    };
    done.sort_by_key(|done: &Done<_>| done.id.counters);
    Ok((done, watch.finish()?))
}

/// A trial that cannot go on ends the process here: workers may hang on what the faulty one still holds, and there is no
/// result to wait for.
fn together<H: Route + Send>(
    stage: &Stage<'_>,
    workers: Vec<Worker<'_, H>>,
    rate: Option<Rate>,
    watch: &Watch,
) -> Result<Vec<Done<H>>, Fault> {
    let barrier = Barrier::new(workers.len() + 1);
    let go = OnceLock::new();
    let start = || {
        barrier.wait();
        *go.get_or_init(|| Clock::start(rate))
    };
    thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for worker in workers {
            let (send, start) = (send.clone(), &start);
            thread::Builder::new()
                .spawn_scoped(scope, move || {
                    // The receiver is gone only when the process is about to end.
                    let _sent = send.send(work(stage, worker, start()));
                })
                .unwrap_or_else(|error| give_up(watch, Fault::Other(format!("a thread for a worker: {error}"))));
        }
        drop(send);
        watch.start(start()).unwrap_or_else(|fault| give_up(watch, fault));
        Ok(receive.iter().map(|ended| ended.unwrap_or_else(|fault| give_up(watch, fault))).collect())
    })
}

/// One worker from `go` to its end; a panic is a fault.
fn work<H: Route>(stage: &Stage<'_>, worker: Worker<'_, H>, clock: Clock) -> Result<Done<H>, Fault> {
    let role = worker.id.role;
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let ended = worker.run(clock);
        stage.leave(role, clock);
        ended
    }));
    ended.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// A panic as a fault.
pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Fault {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Fault::Other(format!("panic: {}", text.unwrap_or("without a message")))
}

/// Ends the process with this as its last line.
pub fn give_up(watch: &Watch, fault: Fault) -> ! {
    watch.leave();
    // Nobody is left to tell where even this cannot be written.
    let _told = say(&Line::Failed(fault.into_failed()));
    std::process::exit(1)
}
