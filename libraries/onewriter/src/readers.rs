//! The pool of read-only connections.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::authorize::{self, INSIDE, OUTSIDE};
use crate::connection::{self, Purpose};
use crate::error::Error;
use crate::nesting;
use crate::options::Options;
use crate::panics::guarded;
use crate::sql::Prepared;
use crate::sync::{Condvar, Mutex, lock, wait_timeout};
use crate::wait::{self, Slot};
use crate::watch::Watch;

/// A pool that serves waiting callers in order of arrival.
pub struct Readers {
    state: Mutex<State>,
    /// Of each connection, by its number.
    watches: Mutex<Vec<Arc<Watch>>>,
    /// Held by a caller that takes all connections: two of them would wait for each other.
    all: Mutex<()>,
    /// Reads of asynchronous callers, for the threads that run them.
    work: Mutex<Work>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Reader>,
    waiting: VecDeque<Arc<Slot<Reader>>>,
    is_closed: bool,
}

#[derive(Default)]
struct Work {
    reads: VecDeque<Box<dyn FnOnce() + Send>>,
    /// Threads that wait for a read.
    idle: usize,
}

struct Reader {
    begin: Prepared,
    rollback: Prepared,
    connection: Connection,
    /// Mode of the authorizer.
    inside: Arc<AtomicU8>,
    watch: Arc<Watch>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        connection::finalize_statements(&self.connection);
    }
}

/// Time after which a thread that runs reads of asynchronous callers ends if there are none.
const IDLE: Duration = Duration::from_secs(10);

/// A borrowed connection, returned to the pool on drop.
pub struct Lease {
    readers: Arc<Readers>,
    reader: Option<Reader>,
}

impl Readers {
    /// Creates the pool without connections: the writer must create the file first.
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            watches: Mutex::default(),
            all: Mutex::default(),
            work: Mutex::default(),
            arrived: Condvar::new(),
        }
    }

    /// Opens all connections of the pool.
    pub fn open(&self, options: &Options) -> Result<(), Error> {
        for _ in 0..options.readers {
            let mut connection = connection::open(options, Purpose::Read)?;
            let inside = Arc::new(AtomicU8::new(OUTSIDE));
            authorize::set(&mut connection, inside.clone(), "".into(), Arc::default())?;
            let watch = Arc::new(Watch::new(&connection));
            lock(&self.watches).push(watch.clone());
            let (begin, rollback) = (Prepared::new(&connection, "BEGIN")?, Prepared::new(&connection, "ROLLBACK")?);
            lock(&self.state).idle.push(Reader { begin, rollback, connection, inside, watch });
        }
        Ok(())
    }

    /// Age of the oldest read in progress.
    pub fn oldest(&self) -> Option<Duration> {
        lock(&self.watches).iter().filter_map(|watch| watch.age()).max()
    }

    /// Interrupts the reads that have taken longer than this.
    pub fn interrupt(&self, limit: Duration) {
        lock(&self.watches).iter().for_each(|watch| watch.interrupt_after(limit));
    }

    /// Identifies the pool among what a thread holds.
    fn address(&self) -> usize {
        (&raw const *self).addr()
    }

    /// Refuses a call inside a closure that reads, which could wait for its own connection.
    pub fn check(&self) -> Result<(), Error> {
        if nesting::is_held(self.address()) { Err(Error::Nested) } else { Ok(()) }
    }

    /// Takes an idle connection, or a place in the queue for one.
    fn ask(&self) -> Result<Result<Reader, Arc<Slot<Reader>>>, Error> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(Error::Closed);
        }
        if let Some(reader) = state.idle.pop() {
            return Ok(Ok(reader));
        }
        let place = Arc::<Slot<Reader>>::default();
        state.waiting.push_back(place.clone());
        Ok(Err(place))
    }

    fn lease(self: &Arc<Self>, reader: Reader) -> Lease {
        Lease { readers: self.clone(), reader: Some(reader) }
    }

    /// Waits for an idle connection.
    pub fn lend(self: &Arc<Self>, deadline: Option<Instant>) -> Result<Lease, Error> {
        let place = match self.ask()? {
            Ok(reader) => return Ok(self.lease(reader)),
            Err(place) => place,
        };
        match wait::block(deadline, |waker| place.poll(waker)) {
            Some(reader) => reader.map(|reader| self.lease(reader)).ok_or(Error::Closed),
            None => {
                self.forget(&place);
                place.end().map(|reader| self.lease(reader)).ok_or(Error::Timeout)
            }
        }
    }

    /// Waits for an idle connection without blocking the thread. One that is lent after the deadline is too late.
    pub async fn lend_async(self: &Arc<Self>, deadline: Option<Instant>) -> Result<Lease, Error> {
        let place = match self.ask()? {
            Ok(reader) => return Ok(self.lease(reader)),
            Err(place) => place,
        };
        let reader = Place { readers: self, place, waits: true }.await.ok_or(Error::Closed)?;
        let lease = self.lease(reader);
        if deadline.is_some_and(|deadline| deadline < Instant::now()) { Err(Error::Timeout) } else { Ok(lease) }
    }

    /// Waits for all connections of the pool.
    pub fn lend_all(self: &Arc<Self>, deadline: Option<Instant>) -> Result<Vec<Lease>, Error> {
        let _all = lock(&self.all);
        let count = lock(&self.watches).len();
        (0..count).map(|_| self.lend(deadline)).collect()
    }

    /// Runs a read in a thread of its own, and starts one if none is idle. There are as many as connections at most,
    /// because each read has one.
    pub fn run(self: &Arc<Self>, read: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let mut work = lock(&self.work);
        work.reads.push_back(Box::new(read));
        if work.idle >= work.reads.len() {
            drop(work);
            self.arrived.notify_one();
            return Ok(());
        }
        let readers = self.clone();
        let started = Builder::new().name("onewriter-read".into()).spawn(move || readers.serve());
        if started.is_err() {
            work.reads.pop_back();
            return Err(Error::Closed);
        }
        Ok(())
    }

    /// Main loop of a thread that reads.
    fn serve(&self) {
        let mut work = lock(&self.work);
        loop {
            if let Some(read) = work.reads.pop_front() {
                drop(work);
                read();
                work = lock(&self.work);
                continue;
            }
            let started = Instant::now();
            work.idle += 1;
            while work.reads.is_empty() && started.elapsed() < IDLE && !lock(&self.state).is_closed {
                work = wait_timeout(&self.arrived, work, IDLE);
            }
            work.idle -= 1;
            if work.reads.is_empty() {
                return;
            }
        }
    }

    /// Takes a caller that gives up out of the queue, which may not move for long.
    fn forget(&self, place: &Arc<Slot<Reader>>) {
        lock(&self.state).waiting.retain(|waiting| !Arc::ptr_eq(waiting, place));
    }

    /// Gives the connection to the caller that has waited longest.
    fn give_back(&self, mut reader: Reader) {
        loop {
            let mut state = lock(&self.state);
            if state.is_closed {
                return;
            }
            let Some(place) = state.waiting.pop_front() else {
                state.idle.push(reader);
                return;
            };
            // The waker may be code of the application, and call this crate.
            drop(state);
            match place.fill(reader) {
                Ok(()) => return,
                // The caller no longer waits.
                Err(back) => reader = back,
            }
        }
    }

    /// Rejects new reads. Borrowed connections are closed when they are returned.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        let (idle, waiting) = (std::mem::take(&mut state.idle), std::mem::take(&mut state.waiting));
        drop(state);
        drop(idle);
        for place in waiting {
            drop(place.end());
        }
        let _work = lock(&self.work);
        self.arrived.notify_all();
    }
}

/// A place in the queue for a connection.
struct Place<'a> {
    readers: &'a Readers,
    place: Arc<Slot<Reader>>,
    waits: bool,
}

impl Future for Place<'_> {
    type Output = Option<Reader>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.place.poll(context.waker());
        self.waits = polled.is_pending();
        polled
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.waits {
            self.readers.forget(&self.place);
        }
        if let Some(reader) = self.place.end() {
            self.readers.give_back(reader);
        }
    }
}

impl Lease {
    /// Runs the closure in a transaction, so that all its reads see the same snapshot.
    pub fn read<T, E: From<Error>>(self, closure: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        let Some(Reader { begin, connection, inside, watch, .. }) = &self.reader else {
            return Err(Error::Closed.into());
        };
        watch.begin();
        begin.run(connection).map_err(Error::from)?;
        let _held = nesting::hold(&[self.readers.address()]);
        inside.store(INSIDE, Relaxed);
        // The drop of the lease ends the transaction, also after a panic in a conversion.
        guarded(|| closure(connection))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(reader) = self.reader.take() else { return };
        reader.inside.store(OUTSIDE, Relaxed);
        // From here on nothing interrupts the connection.
        reader.watch.end();
        // A statement left running would keep its snapshot.
        connection::end_statements(&reader.connection);
        if !reader.connection.is_autocommit() {
            // A transaction that only read has nothing to lose, and a failure is found by the next `BEGIN`.
            let _ended = reader.rollback.run(&reader.connection);
        }
        self.readers.give_back(reader);
    }
}
