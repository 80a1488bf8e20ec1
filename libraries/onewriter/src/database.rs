//! The public handle of a database, and the coordination of its callers with the writer thread.

use std::cell::Cell;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::checkpoint::Checkpointing;
use crate::connection::{self, Purpose};
use crate::counters::{Counters, Live};
use crate::error::Error;
use crate::job::{Answer, Job, Keeping, job, quiet};
use crate::nesting;
use crate::options::Options;
use crate::queue::Queue;
use crate::readers::Readers;
use crate::sync::lock;
use crate::writer::{Jobs, Supply, Writer};

/// Commit time below which a commit does not wait for a disk: the writes of a few callers are done sooner than a thread
/// falls asleep and wakes again.
const SHORT: Duration = Duration::from_micros(50);
/// Time for which a caller polls for the answer of a short write before it sleeps.
const LOOK_OUT: Duration = Duration::from_micros(200);
/// Time without a new job after which the writer stops waiting for more: a woken thread submits its next write sooner.
const GAP: Duration = Duration::from_micros(30);

/// The open databases of this process by canonical path: two writers of one file would wait for each other.
static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// A database by its canonical path.
type Opened = (PathBuf, Weak<Shared>, Weak<Last>);

/// An open database: one connection that writes and a pool of connections that read.
///
/// Clones share the same database. Writes that are queued when the last clone is dropped still run, in the background;
/// [`Database::close`] waits for them.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
    _last: Arc<Last>,
}

struct Shared {
    queue: Queue<Writer, Box<dyn Job>>,
    /// Free places in the queue.
    room: Semaphore,
    readers: Arc<Readers>,
    counters: Arc<Live>,
    writes: usize,
}

/// Closes the queue when the last clone is dropped.
struct Last {
    shared: Arc<Shared>,
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    writer: JoinHandle<Result<(), Error>>,
    checkpoints: JoinHandle<()>,
}

impl Database {
    /// Opens the database, or returns the one of this process that has the same file.
    pub(crate) fn open(options: Options) -> Result<Self, Error> {
        let mut opened = lock(&OPENED);
        opened.retain(|(_, _, last)| last.strong_count() > 0);
        // A file that does not exist yet is not open.
        let same = options.path.canonicalize().ok();
        let known = opened.iter().find(|(path, ..)| Some(path) == same.as_ref());
        if let Some((_, shared, last)) = known
            && let (Some(shared), Some(last)) = (shared.upgrade(), last.upgrade())
            && !shared.queue.is_closed()
        {
            return Ok(Self { shared, _last: last });
        }
        let path = options.path.clone();
        let database = Self::open_anew(options)?;
        if let Ok(path) = path.canonicalize() {
            opened.retain(|(known, ..)| *known != path);
            opened.push((path, Arc::downgrade(&database.shared), Arc::downgrade(&database._last)));
        }
        Ok(database)
    }

    fn open_anew(options: Options) -> Result<Self, Error> {
        if options.readers == 0 {
            let what = "at least one reader is needed, and `readers` is 0".into();
            return Err(Error::Open { path: options.path, what });
        }
        let counters = Arc::new(Live::default());
        let readers = Arc::new(Readers::new(options.readers));
        let (checkpointing, background) = Checkpointing::new(options.checkpoints, readers.clone());
        let writer = Writer::open(&options, counters.clone(), checkpointing)?;
        let beside = connection::open(&options, Purpose::Checkpoint)?;
        readers.open(&options)?;
        let shared = Arc::new(Shared {
            queue: Queue::new(writer),
            room: Semaphore::new(options.queue.min(Semaphore::MAX_PERMITS)),
            readers,
            counters: counters.clone(),
            writes: options.writes,
        });
        let no_thread = |error: std::io::Error| Error::Open { path: options.path.clone(), what: error.to_string() };
        let max_read = options.max_read;
        let checkpoints = Builder::new().name("onewriter-ckpt".into());
        let checkpoints = checkpoints.spawn(move || background.run(&beside, &counters, max_read)).map_err(no_thread)?;
        let served = shared.clone();
        let writer = Builder::new().name("onewriter".into()).spawn(move || served.serve()).map_err(no_thread)?;
        let last = Last { shared: shared.clone(), threads: Mutex::new(Some(Threads { writer, checkpoints })) };
        Ok(Self { shared, _last: Arc::new(last) })
    }

    /// Runs the closure in a transaction and returns its result after the commit.
    ///
    /// With [`Durability::Full`](crate::Durability::Full) the changes are on disk when this function returns. If the
    /// closure fails or panics, its own changes are rolled back, and no others.
    ///
    /// This function blocks. If no other write is in progress, the closure runs in the thread of the caller. In
    /// asynchronous code use [`Database::write_async`].
    ///
    /// # Errors
    /// The error of the closure, or an [`Error`] of this crate.
    pub fn write<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send,
        T: Send,
        E: From<Error> + Send,
    {
        self.written(Keeping::Guarded, closure)
    }

    /// Like [`Database::write`], but without the savepoint that isolates a closure from the others in the same commit.
    /// The savepoint takes a sixth of the time of a short write.
    ///
    /// Use it for closures that fail only before their first change: a single statement, which SQLite rolls back on its
    /// own however many rows it changes, or several statements that only a full or failing disk can stop. Reads before
    /// and after are allowed.
    ///
    /// If the closure fails or panics after it has changed rows or the schema, or leaves a deferred foreign key
    /// violated, the whole transaction is rolled back: the other writes in it return [`Error::LeftHalf`], and none of
    /// their changes is in the database. Incremental blob writes are not among the changes that are detected: SQLite
    /// counts no row for them.
    ///
    /// # Errors
    /// As for [`Database::write`].
    pub fn write_unguarded<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send,
        T: Send,
        E: From<Error> + Send,
    {
        self.written(Keeping::Unguarded, closure)
    }

    fn written<T, E, F>(&self, keeping: Keeping, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send,
        T: Send,
        E: From<Error> + Send,
    {
        self.shared.check()?;
        match self.shared.sit() {
            Some(mut seated) => seated.writer().alone(closure),
            None => self.shared.wait_for(keeping, closure),
        }
    }

    /// Like [`Database::write`], for asynchronous code on any runtime. The closure runs in the writer thread and must
    /// own its data.
    ///
    /// If the future is dropped before the closure has started, the closure does not run; if it is dropped later, the
    /// changes are kept.
    ///
    /// # Errors
    /// As for [`Database::write`].
    pub async fn write_async<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.shared.check()?;
        let (job, answer) = job(Keeping::Guarded, false, closure);
        self.shared.hand_over(job, answer).await?
    }

    /// Like [`Database::write_unguarded`], for asynchronous code. A dropped future has the effect described at
    /// [`Database::write_async`].
    ///
    /// # Errors
    /// As for [`Database::write`].
    pub async fn write_unguarded_async<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.shared.check()?;
        let (job, answer) = job(Keeping::Unguarded, false, closure);
        self.shared.hand_over(job, answer).await?
    }

    /// Runs the closure in a read transaction in this thread, with a read-only connection of the pool. All reads of the
    /// closure see the same snapshot. Blocks while all connections of the pool are in use.
    ///
    /// # Errors
    /// The error of the closure, or an [`Error`] of this crate.
    pub fn read<T, E: From<Error>>(&self, closure: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        self.shared.readers.check()?;
        pollster::block_on(self.shared.readers.lend())?.read(closure)
    }

    /// Runs the closure once with each connection of the pool, one after the other, when all of them are idle: to check
    /// settings, or to fill caches.
    ///
    /// # Errors
    /// As for [`Database::read`]; the first error ends it.
    pub fn each_reader<T, E: From<Error>>(
        &self,
        mut closure: impl FnMut(&Connection) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        self.shared.readers.check()?;
        let leases = pollster::block_on(self.shared.readers.lend_all())?;
        leases.into_iter().map(|lease| lease.read(&mut closure)).collect()
    }

    /// Like [`Database::read`], in a thread of tokio's blocking pool.
    ///
    /// # Errors
    /// As for [`Database::read`].
    ///
    /// # Panics
    /// If called outside a tokio runtime.
    pub async fn read_async<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.shared.readers.check()?;
        let lease = self.shared.readers.lend().await?;
        let read = tokio::task::spawn_blocking(move || lease.read(closure));
        read.await.unwrap_or_else(|_| Err(Error::Closed.into()))
    }

    /// Returns a snapshot of the counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.counters.snapshot(self.shared.queue.depth(), self.shared.readers.oldest())
    }

    /// Runs the queued writes, checkpoints the log and closes the database for all clones. Later calls return
    /// [`Error::Closed`]. Connections in use for reading are closed when their closure ends.
    ///
    /// # Errors
    /// If the final checkpoint fails; all committed writes are then still in the log. [`Error::Nested`] inside a closure
    /// of the same database; nothing is closed then.
    pub fn close(self) -> Result<(), Error> {
        self.shared.check()?;
        self.shared.readers.check()?;
        self.shared.close();
        // An earlier call on another clone has taken the threads.
        let Some(threads) = lock(&self._last.threads).take() else { return Ok(()) };
        let closed = threads.writer.join().unwrap_or(Err(Error::Closed));
        let _panicked = threads.checkpoints.join();
        closed
    }
}

impl Shared {
    fn take(&self, most: usize) -> Jobs {
        let jobs = self.queue.take(most);
        self.room.add_permits(jobs.len());
        jobs.into()
    }

    /// Waits for a free place, appends the job to the queue and waits for its answer.
    async fn hand_over<T, E>(&self, job: Box<dyn Job>, answer: Answer<T, E>) -> Result<Result<T, E>, Error> {
        let Ok(place) = self.room.acquire().await else { return Err(refused(job)) };
        place.forget();
        self.queue.push(job).map_err(refused)?;
        let (result, rest) = answer.await.map_err(|_| Error::Closed)?;
        // Pass on the answers of the callers still asleep, who have waited as long, before returning this one.
        drop(rest);
        Ok(result)
    }

    /// Like [`Shared::hand_over`], but blocks, so that the closure may borrow from the caller.
    fn wait_for<T, E, F>(&self, keeping: Keeping, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send,
        T: Send,
        E: From<Error> + Send,
    {
        let (job, answer) = job(keeping, !self.is_short(), closure);
        // SAFETY: the borrows of the closure outlive this call, and this call outlives the closure. It returns after
        // the answer has arrived or its sender has been dropped; `Write` drops its closure before either. There is no
        // other way out: it awaits nothing but these two, and a panic aborts the process.
        #[expect(unsafe_code, reason = "what borrows from a thread that waits cannot be said to the compiler")]
        let job = unsafe { std::mem::transmute::<Box<dyn Job + '_>, Box<dyn Job + 'static>>(job) };
        let stays = Stays;
        let answered = pin!(self.hand_over(job, answer));
        let result = self.look_out(answered);
        std::mem::forget(stays);
        // The conversion of an error may panic.
        result?
    }

    /// Waits for the answer. For a short write it polls first instead of sleeping, and yields between polls: with more
    /// callers than processors, the polling threads do not delay the writer.
    fn look_out<R>(&self, mut answered: Pin<&mut impl Future<Output = R>>) -> R {
        let started = Instant::now();
        while self.is_short() && started.elapsed() < LOOK_OUT {
            if let Poll::Ready(result) = answered.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return result;
            }
            thread::yield_now();
        }
        pollster::block_on(answered)
    }

    /// Whether the answer is likely to arrive before a thread could fall asleep and wake again.
    fn is_short(&self) -> bool {
        let usual = |counter: &AtomicU64| Duration::from_nanos(counter.load(Relaxed));
        usual(&self.counters.usual_commit_ns) < SHORT && usual(&self.counters.usual_ns) < LOOK_OUT
    }

    /// Acquires the writer for this caller if no other caller is expected or if commits are cheap. Otherwise returns
    /// `None`: other callers are likely to follow and would wait for a commit that does not include their writes.
    fn sit(&self) -> Option<Seated<'_>> {
        let is_alone = self.counters.crowd.load(Relaxed) <= 1;
        let writer = if is_alone || self.is_short() { self.queue.sit()? } else { return None };
        Some(Seated { shared: self, writer: Some(writer), _held: nesting::hold(&[self.address()]) })
    }

    /// Identifies the database among those that a thread holds.
    fn address(&self) -> usize {
        Arc::as_ptr(&self.counters).addr()
    }

    /// Refuses a call that would wait for itself.
    fn check(&self) -> Result<(), Error> {
        if nesting::is_held(self.address()) { Err(Error::Nested) } else { Ok(()) }
    }

    /// Main loop of the writer thread. A panic of code that is not a closure (a `tracing` subscriber's) ends it: those
    /// who wait then get [`Error::Closed`].
    fn serve(&self) -> Result<(), Error> {
        let _held = nesting::hold(&[self.address()]);
        quiet(|| self.serve_all()).unwrap_or_else(|| {
            self.close();
            self.readers.close();
            for job in self.take(usize::MAX) {
                let _dropped = quiet(|| drop(job));
            }
            Err(Error::Closed)
        })
    }

    fn serve_all(&self) -> Result<(), Error> {
        loop {
            match self.queue.wait() {
                Ok(mut writer) => {
                    let crowd = Crowd::new(self);
                    let mut jobs = self.take(self.writes);
                    while !jobs.is_empty() {
                        writer.together(jobs, &crowd);
                        jobs = crowd.more(0, self.writes);
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

    fn close(&self) {
        self.queue.close();
        self.room.close();
    }
}

/// Drops a job that the closed queue has not accepted.
fn refused(job: Box<dyn Job>) -> Error {
    let _dropped = quiet(|| drop(job));
    Error::Closed
}

/// A caller that holds the writer, and releases it when this is dropped, also by a panic in a conversion or a drop of
/// the caller's types.
struct Seated<'a> {
    shared: &'a Shared,
    writer: Option<Writer>,
    _held: nesting::Held,
}

impl Seated<'_> {
    const fn writer(&mut self) -> &mut Writer {
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

/// Decides how long the writer thread waits for further jobs before a commit and before it releases the writer.
///
/// Callers that have just received an answer are likely to write again and can share the next commit if the writer
/// waits for them. It waits before a commit with fewer writes than there were concurrent callers, and before it
/// releases the writer, as long as jobs keep arriving, and at most half of the time of the commit that this saves.
struct Crowd<'a> {
    shared: &'a Shared,
    /// Remaining wait time for the current commit.
    patience: Cell<Duration>,
}

impl<'a> Crowd<'a> {
    fn new(shared: &'a Shared) -> Self {
        let crowd = Self { shared, patience: Cell::default() };
        crowd.rest();
        crowd
    }

    /// Resets the remaining wait time.
    fn rest(&self) {
        let commit = self.shared.counters.usual_commit_ns.load(Relaxed);
        self.patience.set(Duration::from_nanos(commit / 2));
    }

    /// Whether the commit includes as many writes as there are expected callers.
    fn is_there(&self, done: usize) -> bool {
        done as u64 >= self.shared.counters.crowd.load(Relaxed)
    }
}

impl Supply for Crowd<'_> {
    fn more(&self, done: usize, room: usize) -> Jobs {
        let mut jobs = self.shared.take(room);
        if room == 0 || self.is_there(done) {
            return jobs;
        }
        let started = Instant::now();
        let patience = self.patience.get().min(GAP);
        while jobs.is_empty() && started.elapsed() < patience {
            // The thread of the next caller may need this processor.
            thread::yield_now();
            jobs = self.shared.take(room);
        }
        let left = if jobs.is_empty() { Duration::ZERO } else { self.patience.get().saturating_sub(started.elapsed()) };
        self.patience.set(left);
        jobs
    }

    fn committed(&self, writes: usize) {
        self.shared.counters.met((writes + self.shared.queue.depth()) as u64);
        self.rest();
    }
}

/// Aborts the process if a panic unwinds through a call whose borrows are in use by the writer thread.
struct Stays;

impl Drop for Stays {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        self.shared.close();
    }
}
