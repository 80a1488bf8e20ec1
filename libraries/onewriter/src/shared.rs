//! What the handles of a database and its threads share, and how they take turns with the writer.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::batch::{Jobs, Supply};
use crate::counters::Live;
use crate::error::Error;
use crate::fork::Process;
use crate::job::{Call, Job, Pending, Queued, Work};
use crate::nesting;
use crate::options::Options;
use crate::panics::quiet;
use crate::queue::{Queue, Refused};
use crate::readers::Readers;
use crate::sync::{Mutex, lock};
use crate::temporary::Temporary;
use crate::wait;
use crate::writer::Writer;

/// Commit time below which a commit does not wait for a disk: the writes of a few callers are done sooner than a thread
/// falls asleep and wakes again.
const SHORT: Duration = Duration::from_micros(50);
/// Time without a new job after which the writer stops waiting for more: a woken thread submits its next write sooner.
const GAP: Duration = Duration::from_micros(50);

pub struct Shared {
    pub queue: Queue<Writer, Queued>,
    pub readers: Arc<Readers>,
    pub counters: Arc<Live>,
    pub options: Arc<Options>,
    process: Process,
    ended: Mutex<Ended>,
    /// Removed when the database is closed.
    temporary: Mutex<Option<Arc<Temporary>>>,
}

/// Whether the threads have ended.
#[derive(Default)]
struct Ended {
    /// The result of the close, until a caller has taken it.
    result: Option<Result<(), Error>>,
    is_ended: bool,
    waiting: Vec<Waker>,
}

impl Shared {
    pub fn new(writer: Writer, readers: Arc<Readers>, temporary: Option<Arc<Temporary>>) -> Self {
        let (counters, options) = (writer.counters.clone(), writer.options.clone());
        Self {
            queue: Queue::new(writer, options.max_queue),
            readers,
            counters,
            options,
            process: Process::this(),
            ended: Mutex::default(),
            temporary: Mutex::new(temporary),
        }
    }

    /// Runs the work for a blocked caller, so that it may borrow from it.
    pub fn wait_for<W, T, E>(&self, work: W, since: Instant, deadline: Option<Instant>) -> Result<T, E>
    where
        W: Work<T, E>,
        T: Send,
        E: From<Error> + Send,
    {
        let call = Arc::new(Call::new(work, true, since, deadline));
        let job: Arc<dyn Job + '_> = call.clone();
        // SAFETY: the borrows of the work outlive this call, and this call outlives the use of the work. It returns
        // after an answer or after it has taken the work back; `Call` drops the work before either, and then has no
        // value of the types `W`, `T` and `E` any more. A panic in between aborts the process.
        #[expect(unsafe_code, reason = "what borrows from a thread that waits cannot be said to the compiler")]
        let job = unsafe { std::mem::transmute::<Arc<dyn Job + '_>, Arc<dyn Job + 'static>>(job) };
        let stays = Stays;
        let result = match self.queue.push(Queued(job)) {
            Ok(waiting) => self.look_out(waiting, &*call, deadline),
            Err(refused) => Err(withdrawn(&*call, refused)),
        };
        std::mem::forget(stays);
        // The conversion of an error may panic.
        result?
    }

    /// Waits for the answer.
    fn look_out<W, T, E>(
        &self,
        waiting: usize,
        call: &Call<W, T, E>,
        deadline: Option<Instant>,
    ) -> Result<Result<T, E>, Error>
    where
        W: Work<T, E>,
        T: Send,
        E: From<Error> + Send,
    {
        if waiting <= 2 && !self.options.spin.is_zero() && self.is_short() {
            let started = Instant::now();
            while started.elapsed() < self.options.spin {
                if let Poll::Ready(answer) = call.poll(Waker::noop()) {
                    return answer;
                }
                // With more callers than processors, polling does not delay the writer.
                thread::yield_now();
            }
        }
        if let Some(answer) = wait::block(deadline, |waker| call.poll(waker)) {
            return answer;
        }
        if quiet(|| call.withdraw()).unwrap_or(true) {
            return Err(Error::Timeout);
        }
        wait::block(None, |waker| call.poll(waker)).unwrap_or(Err(Error::Closed))
    }

    /// Runs the work for an asynchronous caller.
    pub async fn hand_over<W, T, E>(&self, work: W, deadline: Option<Instant>) -> Result<T, E>
    where
        W: Work<T, E> + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.check()?;
        let call = Arc::new(Call::new(work, false, Instant::now(), deadline));
        if let Err(refused) = self.queue.push(Queued(call.clone())) {
            return Err(withdrawn(&*call, refused).into());
        }
        Pending(call).await?
    }

    /// Whether a commit takes less time than a thread needs to fall asleep and wake again.
    fn is_short(&self) -> bool {
        let usual = |counter: &AtomicU64| Duration::from_nanos(counter.load(Relaxed));
        usual(&self.counters.usual_commit_ns) < SHORT
    }

    /// Acquires the writer for this caller if no other caller is expected, if one is and commits are cheap, or if the
    /// caller does not wait. Otherwise returns `None`: other callers are likely to follow and would wait for a commit
    /// that does not include their writes.
    pub fn sit(&self, timeout: Option<Duration>) -> Option<Seated<'_>> {
        let few = if self.is_short() { 2 } else { 1 };
        let now = timeout.is_some_and(|limit| limit.is_zero());
        let writer = if now || self.counters.crowd.load(Relaxed) <= few { self.queue.sit()? } else { return None };
        Some(Seated { shared: self, writer: Some(writer), _held: nesting::hold(&[self.address()]) })
    }

    /// Identifies the database among those that a thread holds.
    fn address(&self) -> usize {
        Arc::as_ptr(&self.counters).addr()
    }

    /// Refuses a call that would wait for itself, or that comes from a forked child.
    pub fn check(&self) -> Result<(), Error> {
        match () {
            () if self.process.is_forked() => Err(Error::Forked),
            () if nesting::is_held(self.address()) => Err(Error::Nested),
            () => Ok(()),
        }
    }

    /// Refuses a call that comes from a forked child.
    pub fn check_fork(&self) -> Result<(), Error> {
        if self.process.is_forked() { Err(Error::Forked) } else { Ok(()) }
    }

    /// Main loop of the writer thread. A panic of code that is not a closure (a `tracing` subscriber's) ends it: those
    /// who wait then get [`Error::Closed`].
    pub fn serve(&self, checkpoints: JoinHandle<()>) {
        let held = nesting::hold(&[self.address()]);
        wait::wake_in_time();
        let result = quiet(|| self.serve_all()).unwrap_or_else(|| {
            self.queue.close();
            self.readers.close();
            drop(self.queue.take(usize::MAX));
            Err(Error::Closed)
        });
        drop(held);
        let _panicked = checkpoints.join();
        drop(lock(&self.temporary).take());
        let mut ended = lock(&self.ended);
        (ended.result, ended.is_ended) = (Some(result), true);
        let waiting = std::mem::take(&mut ended.waiting);
        drop(ended);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn serve_all(&self) -> Result<(), Error> {
        loop {
            match self.queue.wait() {
                Ok(mut writer) => {
                    let most = self.options.batch.0;
                    let crowd = Crowd { shared: self, has_waited: Cell::new(false) };
                    let mut jobs = self.queue.take(most);
                    while !jobs.is_empty() {
                        writer.together(jobs, &crowd);
                        jobs = crowd.more(0, most);
                    }
                    self.queue.leave(writer);
                }
                Err(writer) => {
                    self.readers.close();
                    return writer.close();
                }
            }
        }
    }

    /// Rejects new calls. Those that wait still run.
    pub fn close(&self) {
        if !self.process.is_forked() {
            self.queue.close();
        }
    }

    /// Whether the threads have ended, with the result of the close for the first who asks.
    pub fn poll_ended(&self, waker: &Waker) -> Poll<Result<(), Error>> {
        let mut ended = lock(&self.ended);
        if ended.is_ended {
            return Poll::Ready(ended.result.take().unwrap_or(Ok(())));
        }
        if !ended.waiting.iter().any(|known| known.will_wake(waker)) {
            ended.waiting.push(waker.clone());
        }
        Poll::Pending
    }
}

/// The error of a job that the queue has not accepted, after its work was dropped.
fn withdrawn<W, T, E>(call: &Call<W, T, E>, refused: Refused<Queued>) -> Error
where
    W: Work<T, E>,
    T: Send,
    E: From<Error> + Send,
{
    let _dropped = quiet(|| call.withdraw());
    match refused {
        Refused::Closed(_) => Error::Closed,
        Refused::Full(_) => Error::QueueFull,
    }
}

/// A caller that holds the writer, and releases it when this is dropped, also by a panic in a conversion or a drop of
/// the caller's types.
pub struct Seated<'a> {
    shared: &'a Shared,
    writer: Option<Writer>,
    _held: nesting::Held,
}

impl Seated<'_> {
    pub const fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().expect("present until the drop")
    }
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            if thread::panicking() {
                writer.abandon();
            }
            self.shared.queue.leave(writer);
        }
    }
}

/// Decides how long the writer thread waits for further jobs before a commit.
///
/// Callers that have just received an answer are likely to write again and can share the next commit if the writer
/// waits for them. It sleeps before a commit with fewer writes than there were concurrent callers as long as jobs keep
/// arriving, at most half of the time of the commit that this saves. Before a commit that waits for no disk it polls.
struct Crowd<'a> {
    shared: &'a Shared,
    /// Whether it has waited for the current commit.
    has_waited: Cell<bool>,
}

impl Supply for Crowd<'_> {
    fn more(&self, done: usize, room: usize) -> Jobs {
        let queue = &self.shared.queue;
        let mut jobs = queue.take(room);
        let expected = usize::try_from(self.shared.counters.crowd.load(Relaxed)).unwrap_or(usize::MAX);
        let missing = expected.saturating_sub(done).min(room);
        if !jobs.is_empty() || missing == 0 || self.has_waited.replace(true) {
            return jobs;
        }
        let patience = Duration::from_nanos(self.shared.counters.usual_commit_ns.load(Relaxed) / 2);
        if self.shared.is_short() {
            let started = Instant::now();
            while expected > 2 && jobs.is_empty() && started.elapsed() < patience {
                // The thread of the next caller may need this processor.
                thread::yield_now();
                jobs = queue.take(room);
            }
            return jobs;
        }
        let gaps = (patience.as_nanos() / GAP.as_nanos()).max(1);
        queue.gather(missing, GAP, u32::try_from(gaps).unwrap_or(u32::MAX));
        queue.take(room)
    }

    fn committed(&self, writes: usize) {
        self.shared.counters.met((writes + self.shared.queue.depth()) as u64);
        self.has_waited.set(false);
    }
}

/// Aborts the process if a panic unwinds through a call whose borrows are in use by the writer thread.
struct Stays;

impl Drop for Stays {
    fn drop(&mut self) {
        std::process::abort();
    }
}
