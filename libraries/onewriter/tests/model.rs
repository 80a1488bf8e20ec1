//! The queue under a model checker, which explores the interleavings of the threads: no job is lost, no thread waits
//! forever, two threads never write concurrently, and the jobs of one thread run in the order in which it pushed them.
//!
//! A separate test program, because the queue takes the primitives of the model checker from `crate::sync`.

mod sync {
    use std::time::Duration;

    pub use loom::sync::{Condvar, Mutex, MutexGuard};

    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().expect("no panic under a lock")
    }

    /// The model checker knows no time: the wait ends at once, or after another thread has run.
    pub fn wait_timeout<'a, T>(_: &Condvar, guard: MutexGuard<'a, T>, _: Duration) -> MutexGuard<'a, T> {
        guard
    }
}

#[path = "../src/queue.rs"]
#[expect(dead_code, reason = "whether it is closed is for callers")]
mod queue;

use loom::sync::Arc;
use loom::thread;
use queue::Queue;

/// The executed jobs, in order.
type Seat = Vec<(usize, usize)>;
type Job = (usize, usize);

/// The main loop of the writer thread, as in `Database`.
fn serve(queue: &Queue<Seat, Job>) -> Seat {
    loop {
        match queue.wait() {
            Ok(mut seat) => {
                loop {
                    let jobs = queue.take(2);
                    if jobs.is_empty() {
                        queue.gather(2, std::time::Duration::ZERO, 1);
                        if queue.depth() == 0 {
                            break;
                        }
                    }
                    seat.extend(jobs);
                }
                queue.leave(seat);
            }
            Err(seat) => return seat,
        }
    }
}

/// A write as in `Database::write`. Returns whether the job was accepted.
fn write(queue: &Queue<Seat, Job>, job: Job) -> bool {
    match queue.sit() {
        Some(mut seat) => {
            seat.push(job);
            queue.leave(seat);
            true
        }
        None => queue.push(job).is_ok(),
    }
}

fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(check);
}

fn callers(callers: usize, each: usize, closes_early: bool) {
    let queue = Arc::new(Queue::new(Seat::new(), usize::MAX));
    let server = thread::spawn({
        let queue = queue.clone();
        move || serve(&queue)
    });
    let threads: Vec<_> = (0..callers)
        .map(|caller| {
            let queue = queue.clone();
            thread::spawn(move || (0..each).filter(|at| write(&queue, (caller, *at))).count())
        })
        .collect();
    if closes_early {
        queue.close();
    }
    let accepted: Vec<usize> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    queue.close();
    let done = server.join().expect("no panic");
    assert_eq!(done.len(), accepted.iter().sum::<usize>(), "everything accepted is done, once");
    for (caller, accepted) in accepted.iter().enumerate() {
        let own: Vec<usize> = done.iter().filter(|(by, _)| *by == caller).map(|(_, at)| *at).collect();
        assert_eq!(own, (0..*accepted).collect::<Vec<_>>(), "in its order");
        assert!(closes_early || *accepted == each);
    }
}

#[test]
fn two_callers_and_the_writer() {
    model(3, || callers(2, 2, false));
}

#[test]
fn closing_while_two_write() {
    model(3, || callers(2, 1, true));
}

/// Negative control: the checker explores unusual interleavings and refutes a property that holds in most of them only.
#[test]
#[should_panic(expected = "the first caller is always first")]
fn an_order_that_nobody_promised_is_refuted() {
    model(3, || {
        let queue = Arc::new(Queue::new(Seat::new(), usize::MAX));
        let server = thread::spawn({
            let queue = queue.clone();
            move || serve(&queue)
        });
        let second = thread::spawn({
            let queue = queue.clone();
            move || write(&queue, (1, 0))
        });
        write(&queue, (0, 0));
        second.join().expect("no panic");
        queue.close();
        let done = server.join().expect("no panic");
        assert_eq!(done, [(0, 0), (1, 0)], "the first caller is always first");
    });
}
