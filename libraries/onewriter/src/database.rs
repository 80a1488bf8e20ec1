//! The database as its callers see it.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::checkpoint::Checkpointing;
use crate::connection::{self, Purpose};
use crate::counters::{Counters, Live};
use crate::error::Error;
use crate::job::{Answer, Job, Keeping, job};
use crate::options::Options;
use crate::queue::{Leave, Queue};
use crate::readers::Readers;
use crate::sync::lock;
use crate::writer::{Jobs, Supply, Writer, is_inside};

/// So few jobs are sooner done by a caller that is writing anyway than handed to the writer's thread, which would have to be
/// woken for them.
const FEW: usize = 1;

/// A commit as short as this has no disk to wait for: writes of a few callers are done before one of them has fallen asleep and
/// been woken again.
const SHORT: Duration = Duration::from_micros(50);
/// For so long a caller looks for a short write's answer.
const LOOK_OUT: Duration = Duration::from_micros(200);
/// Where nobody has come for so long, nobody is on the way: a thread is woken, and has its next write ready, in less.
const GAP: Duration = Duration::from_micros(30);

/// An open database: one connection that writes, a pool of others that read. Clones are the same database; when the last one
/// is dropped, writes that wait are still done, in the background ([`Database::close`] waits for them).
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
    _last: Arc<Last>,
}

struct Shared {
    queue: Queue<Writer, Box<dyn Job>>,
    /// As many permits as jobs have room in the queue.
    room: Semaphore,
    readers: Arc<Readers>,
    counters: Arc<Live>,
    writes: usize,
}

/// Closes the queue when nobody can write any more.
struct Last {
    shared: Arc<Shared>,
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    writer: JoinHandle<Result<(), Error>>,
    checkpoints: JoinHandle<()>,
}

impl Database {
    pub(crate) fn open(options: Options) -> Result<Self, Error> {
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
        let checkpoints = Builder::new().name("onewriter-ckpt".into());
        let checkpoints = checkpoints.spawn(move || background.run(&beside, &counters)).map_err(no_thread)?;
        let served = shared.clone();
        let writer = Builder::new().name("onewriter".into()).spawn(move || served.serve()).map_err(no_thread)?;
        let last = Last { shared: shared.clone(), threads: Mutex::new(Some(Threads { writer, checkpoints })) };
        Ok(Self { shared, _last: Arc::new(last) })
    }

    /// Runs the closure in a transaction and returns what it returned, when that has been committed: with
    /// [`Durability::Full`](crate::Durability::Full) it is on the disk then. Where the closure fails or panics, its changes,
    /// and nobody else's, are taken back.
    ///
    /// The thread waits; where nobody else is writing, it writes itself. In asynchronous code use [`Database::write_async`].
    ///
    /// # Errors
    /// The closure's own, and [`Error`] for what it cannot know.
    pub fn write<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send,
        T: Send,
        E: From<Error> + Send,
    {
        self.written(Keeping::Guarded, closure)
    }

    /// As [`Database::write`], for a closure that fails, if it does, before it has changed anything: one statement, which SQLite
    /// takes back by itself, however many rows it is of; or several that only a full or failing disk could stop. It is spared
    /// the savepoint that keeps a closure apart from those whose commit it shares, and that costs a short one a sixth of its
    /// time.
    ///
    /// It may read before and after. If it does fail or panic when it has changed rows or the schema, or leaves a deferred
    /// reference open, everything in the transaction is taken back with it: the others that shared it are told
    /// [`Error::LeftHalf`], and nothing of them is in the database.
    ///
    /// # Errors
    /// As for `write`.
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
        if is_inside(&self.shared.counters) {
            return Err(Error::Nested.into());
        }
        match self.shared.sit() {
            Some(mut writer) => {
                let result = writer.alone(closure);
                self.shared.leave(writer);
                result
            }
            None => self.shared.wait_for(keeping, closure),
        }
    }

    /// As [`Database::write`], on any runtime and with a closure that owns what it uses: runs in the writer's thread. Where the
    /// future is dropped before its turn, the closure does not run; after that its changes are kept.
    ///
    /// # Errors
    /// As for `write`.
    pub async fn write_async<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (job, answer) = job(Keeping::Guarded, false, closure);
        self.shared.hand_over(job, answer).await
    }

    /// [`Database::write_unguarded`], awaited as [`Database::write_async`] is.
    ///
    /// # Errors
    /// As for `write`.
    pub async fn write_unguarded_async<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (job, answer) = job(Keeping::Unguarded, false, closure);
        self.shared.hand_over(job, answer).await
    }

    /// Runs the closure on a connection that only reads, in this thread; all that it reads is of one moment. Where all
    /// connections are reading, it waits for one.
    ///
    /// # Errors
    /// The closure's own, and [`Error`] for what it cannot know.
    pub fn read<T, E: From<Error>>(&self, closure: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        pollster::block_on(self.shared.readers.lend())?.read(closure)
    }

    /// As [`Database::read`], in a thread of tokio's for work that blocks.
    ///
    /// # Errors
    /// As for `read`.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn read_async<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let lease = self.shared.readers.lend().await?;
        let read = tokio::task::spawn_blocking(move || lease.read(closure));
        read.await.unwrap_or_else(|_| Err(Error::Closed.into()))
    }

    /// What the layer has done so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.counters.snapshot(self.shared.queue.depth(), self.shared.readers.oldest())
    }

    /// Does what waits, answers everyone, carries the log over and closes, for all clones: later calls return
    /// [`Error::Closed`]. Connections that are reading are closed when they have done.
    ///
    /// # Errors
    /// Where the last checkpoint fails; everything answered is safe in the log then.
    pub fn close(self) -> Result<(), Error> {
        self.shared.close();
        // A second clone that closes has nothing to wait for.
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

    /// When there is room, puts the job behind all others and waits for its answer.
    async fn hand_over<T, E: From<Error>>(&self, job: Box<dyn Job>, answer: Answer<T, E>) -> Result<T, E> {
        self.room.acquire().await.map(SemaphorePermit::forget).map_err(|_| Error::Closed)?;
        self.queue.push(job).map_err(|_| Error::Closed)?;
        let (result, rest) = answer.await.map_err(|_| Error::Closed)?;
        // They have waited as long, and sleep.
        drop(rest);
        result
    }

    /// The same in a thread that waits, and so can lend the closure what it has.
    fn wait_for<T, E, F>(&self, keeping: Keeping, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send,
        T: Send,
        E: From<Error> + Send,
    {
        let (job, answer) = job(keeping, !self.is_short(), closure);
        // SAFETY: the closure's borrows outlive this call, and this call outlives the closure. It returns when there is an
        // answer, or when the sending end of the answer is gone; `Write` drops its closure before either. It cannot be left
        // in another way: it awaits nothing but the two, and a panic would end the process.
        #[expect(unsafe_code, reason = "what borrows from a thread that waits cannot be said to the compiler")]
        let job = unsafe { std::mem::transmute::<Box<dyn Job + '_>, Box<dyn Job + 'static>>(job) };
        let stays = Stays;
        let answered = pin!(self.hand_over(job, answer));
        let result = self.look_out(answered);
        std::mem::forget(stays);
        result
    }

    /// Waits for the answer, and for a short one without being put to sleep. Whoever has something to do goes first: with more
    /// callers than processors the writer does not wait for those that only look.
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

    /// Whether an answer is likely to come before a thread has fallen asleep and been woken.
    fn is_short(&self) -> bool {
        let usual = |counter: &AtomicU64| Duration::from_nanos(counter.load(Relaxed));
        usual(&self.counters.usual_commit_ns) < SHORT && usual(&self.counters.usual_ns) < LOOK_OUT
    }

    /// The seat, for a caller that is alone, or where a commit costs so little that it does not matter: else others are on
    /// their way, and would wait for a commit of which they have nothing.
    fn sit(&self) -> Option<Writer> {
        let is_alone = self.counters.crowd.load(Relaxed) <= 1;
        if is_alone || self.is_short() { self.queue.sit() } else { None }
    }

    /// A caller that has written leaves the seat.
    fn leave(&self, writer: Writer) {
        if let Leave::Stay(mut writer, jobs) = self.queue.leave(writer, FEW) {
            self.room.add_permits(jobs.len());
            writer.together(jobs.into(), &());
            let Leave::Left = self.queue.leave(writer, 0) else { unreachable!("no job is few enough") };
        }
    }

    /// The writer's thread.
    fn serve(&self) -> Result<(), Error> {
        loop {
            match self.queue.wait() {
                Ok(mut writer) => {
                    let crowd = Crowd::new(self);
                    let mut jobs = self.take(self.writes);
                    while !jobs.is_empty() {
                        writer.together(jobs, &crowd);
                        jobs = crowd.more(0, self.writes);
                    }
                    let Leave::Left = self.queue.leave(writer, 0) else { unreachable!("no job is few enough") };
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

/// Those who write at the same time, as the writer's thread sees them. Those who have just been answered are likely to write
/// again, and share a commit with the others if it waits for them: before it commits for fewer than there were, and before it
/// leaves its seat; as long as they keep coming, and no longer than half of what the commit takes that they would need else.
struct Crowd<'a> {
    shared: &'a Shared,
    /// For so long yet, in this commit.
    patience: Cell<Duration>,
}

impl<'a> Crowd<'a> {
    fn new(shared: &'a Shared) -> Self {
        let crowd = Self { shared, patience: Cell::default() };
        crowd.rest();
        crowd
    }

    /// It has patience again.
    fn rest(&self) {
        let commit = self.shared.counters.usual_commit_ns.load(Relaxed);
        self.patience.set(Duration::from_nanos(commit / 2));
    }

    /// All that there were are among these.
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
            // Who is to come may have to run on this processor.
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

/// Ends the process where a panic would leave a call whose borrows are lent.
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
