//! The pool of read-only connections.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rusqlite::{Connection, InterruptHandle};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::authorize::{self, GUARDED, OUTSIDE};
use crate::connection::{self, Purpose};
use crate::error::Error;
use crate::job::guarded;
use crate::nesting;
use crate::options::Options;
use crate::sync::lock;

/// A pool that serves waiting callers in order of arrival.
pub struct Readers {
    idle: Mutex<Vec<Reader>>,
    /// One permit for each idle connection.
    free: Semaphore,
    /// Start of the current read of each connection, in nanoseconds since `opened` and at least 1; 0 if it is idle.
    since: Box<[AtomicU64]>,
    /// Of each connection, in the order of `since`.
    interrupts: Mutex<Vec<InterruptHandle>>,
    opened: Instant,
}

struct Reader {
    connection: Connection,
    /// Mode of the authorizer.
    inside: Arc<AtomicU8>,
    number: usize,
}

impl Drop for Reader {
    fn drop(&mut self) {
        connection::finalize_statements(&self.connection);
    }
}

/// A borrowed connection, returned to the pool on drop.
pub struct Lease {
    readers: Arc<Readers>,
    reader: Option<Reader>,
}

impl Readers {
    /// Creates the pool without connections: the writer must create the file first.
    pub fn new(readers: usize) -> Self {
        Self {
            idle: Mutex::new(Vec::with_capacity(readers)),
            free: Semaphore::new(0),
            interrupts: Mutex::new(Vec::with_capacity(readers)),
            since: (0..readers).map(|_| AtomicU64::new(0)).collect(),
            opened: Instant::now(),
        }
    }

    /// Opens all connections of the pool.
    pub fn open(&self, options: &Options) -> Result<(), Error> {
        for number in 0..self.since.len() {
            let mut connection = connection::open(options, Purpose::Read)?;
            let inside = Arc::new(AtomicU8::new(OUTSIDE));
            authorize::set(&mut connection, inside.clone(), "".into(), Arc::default())?;
            lock(&self.interrupts).push(connection.get_interrupt_handle());
            lock(&self.idle).push(Reader { connection, inside, number });
        }
        self.free.add_permits(self.since.len());
        Ok(())
    }

    /// Age of the oldest read in progress.
    pub fn oldest(&self) -> Option<Duration> {
        let since = self.since.iter().map(|since| since.load(Relaxed)).filter(|since| *since > 0).min()?;
        Some(self.opened.elapsed().saturating_sub(Duration::from_nanos(since)))
    }

    /// Interrupts the reads that have taken longer than this.
    pub fn interrupt(&self, limit: Duration) {
        // A connection that is lent stays with its read as long as this lock is held.
        let _lent = lock(&self.idle);
        let now = u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        for (since, interrupt) in self.since.iter().zip(lock(&self.interrupts).iter()) {
            let since = since.load(Relaxed);
            if since > 0 && now.saturating_sub(since) > limit {
                interrupt.interrupt();
            }
        }
    }

    /// Identifies the pool among what a thread holds.
    fn address(&self) -> usize {
        self.since.as_ptr().addr()
    }

    /// Refuses a call inside a closure that reads, which could wait for its own connection.
    pub fn check(&self) -> Result<(), Error> {
        if nesting::is_held(self.address()) { Err(Error::Nested) } else { Ok(()) }
    }

    /// Waits for an idle connection.
    pub async fn lend(self: &Arc<Self>) -> Result<Lease, Error> {
        self.free.acquire().await.map(SemaphorePermit::forget).map_err(|_| Error::Closed)?;
        let Some(reader) = lock(&self.idle).pop() else { return Err(Error::Closed) };
        let now = u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.since[reader.number].store(now.max(1), Relaxed);
        Ok(Lease { readers: self.clone(), reader: Some(reader) })
    }

    /// Waits until all connections are idle, and takes them.
    pub async fn lend_all(self: &Arc<Self>) -> Result<Vec<Lease>, Error> {
        let all = u32::try_from(self.since.len()).unwrap_or(u32::MAX);
        self.free.acquire_many(all).await.map(SemaphorePermit::forget).map_err(|_| Error::Closed)?;
        let now = u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let lend = |reader: Reader| {
            self.since[reader.number].store(now.max(1), Relaxed);
            Lease { readers: self.clone(), reader: Some(reader) }
        };
        Ok(lock(&self.idle).drain(..).map(lend).collect())
    }

    /// Rejects new reads. Borrowed connections are closed when they are returned.
    pub fn close(&self) {
        self.free.close();
        lock(&self.idle).clear();
    }
}

impl Lease {
    /// Runs the closure in a transaction, so that all its reads see the same snapshot.
    pub fn read<T, E: From<Error>>(self, closure: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        let Some(Reader { connection, inside, .. }) = &self.reader else { return Err(Error::Closed.into()) };
        connection::execute(connection, "BEGIN").map_err(Error::from)?;
        let _held = nesting::hold(&[self.readers.address()]);
        inside.store(GUARDED, Relaxed);
        // The drop of the lease ends the transaction, also after a panic in a conversion.
        guarded(closure, connection)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(reader) = self.reader.take() else { return };
        reader.inside.store(OUTSIDE, Relaxed);
        // A statement left running would keep its snapshot.
        connection::end_statements(&reader.connection);
        if !reader.connection.is_autocommit() {
            // A transaction that only read has nothing to lose, and a failure is found by the next `BEGIN`.
            let _ended = connection::execute(&reader.connection, "ROLLBACK");
        }
        self.readers.since[reader.number].store(0, Relaxed);
        let mut idle = lock(&self.readers.idle);
        if !self.readers.free.is_closed() {
            idle.push(reader);
            self.readers.free.add_permits(1);
        }
    }
}
