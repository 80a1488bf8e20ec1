//! The database as its callers see it.

use std::pin::{Pin, pin};
use std::sync::atomic::Ordering::Relaxed;
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
use crate::writer::{Jobs, Writer, is_inside};

/// So few jobs are sooner done by a caller that is writing anyway than handed to the writer's thread, which would have to be
/// woken for them.
const FEW: usize = 1;

/// A write as short as this is waited for without sleeping: about what a thread takes to fall asleep and be woken.
const SHORT: Duration = Duration::from_micros(50);
/// For so long a caller looks for a short write's answer, and the writer's thread for further writes.
const LOOK_OUT: Duration = Duration::from_micros(100);
/// How often the writer's thread stands back, at most, for callers that are likely to write again.
const STAND_BACK: u32 = 4;

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
        match self.shared.queue.sit() {
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
        let (job, answer) = job(Keeping::Guarded, closure);
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
        let (job, answer) = job(Keeping::Unguarded, closure);
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
        answer.await.unwrap_or_else(|_| Err(Error::Closed.into()))
    }

    /// The same in a thread that waits, and so can lend the closure what it has.
    fn wait_for<T, E, F>(&self, keeping: Keeping, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send,
        T: Send,
        E: From<Error> + Send,
    {
        let (job, answer) = job(keeping, closure);
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

    /// Whether a write takes no longer than a thread takes to fall asleep and be woken.
    fn is_short(&self) -> bool {
        self.counters.usual_ns.load(Relaxed) < SHORT.as_nanos() as u64
    }

    /// A caller that has written leaves the seat.
    fn leave(&self, writer: Writer) {
        if let Leave::Stay(mut writer, jobs) = self.queue.leave(writer, FEW) {
            self.room.add_permits(jobs.len());
            writer.together(jobs.into(), |_| Jobs::new());
            let Leave::Left = self.queue.leave(writer, 0) else { unreachable!("no job is few enough") };
        }
    }

    /// The writer's thread.
    fn serve(&self) -> Result<(), Error> {
        loop {
            match self.queue.wait() {
                Ok(mut writer) => {
                    let mut jobs = self.take(self.writes);
                    while !jobs.is_empty() {
                        let shared = writer.together(jobs, |room| self.take(room));
                        self.stand_back(shared);
                        jobs = self.take(self.writes);
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

    /// Lets those run who have just been answered, so that their next writes share a commit, too: with fewer processors than
    /// callers, each would otherwise write alone as soon as it has one, while the others wait for theirs. Where nobody else
    /// has something to do, this takes a microsecond.
    fn stand_back(&self, shared: usize) {
        let started = Instant::now();
        let mut times = 0;
        while self.queue.depth() < shared.div_ceil(2) && times < STAND_BACK && started.elapsed() < LOOK_OUT {
            thread::yield_now();
            times += 1;
        }
    }

    fn close(&self) {
        self.queue.close();
        self.room.close();
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
