//! The pool of read-only connections.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::connection::{self, Purpose};
use crate::error::Error;
use crate::job::guarded;
use crate::options::Options;
use crate::sync::lock;

/// A pool that serves waiting callers in order of arrival.
pub struct Readers {
    idle: Mutex<Vec<Reader>>,
    /// One permit for each idle connection.
    free: Semaphore,
    /// Start of the current read of each connection, in nanoseconds since `opened` and at least 1; 0 if it is idle.
    since: Box<[AtomicU64]>,
    opened: Instant,
}

struct Reader {
    connection: Connection,
    number: usize,
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
            since: (0..readers).map(|_| AtomicU64::new(0)).collect(),
            opened: Instant::now(),
        }
    }

    /// Opens all connections of the pool.
    pub fn open(&self, options: &Options) -> Result<(), Error> {
        for number in 0..self.since.len() {
            let connection = connection::open(options, Purpose::Read)?;
            lock(&self.idle).push(Reader { connection, number });
        }
        self.free.add_permits(self.since.len());
        Ok(())
    }

    /// Age of the oldest read in progress.
    pub fn oldest(&self) -> Option<Duration> {
        let since = self.since.iter().map(|since| since.load(Relaxed)).filter(|since| *since > 0).min()?;
        Some(self.opened.elapsed().saturating_sub(Duration::from_nanos(since)))
    }

    /// Waits for an idle connection.
    pub async fn lend(self: &Arc<Self>) -> Result<Lease, Error> {
        self.free.acquire().await.map(SemaphorePermit::forget).map_err(|_| Error::Closed)?;
        let Some(reader) = lock(&self.idle).pop() else { return Err(Error::Closed) };
        let now = u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.since[reader.number].store(now.max(1), Relaxed);
        Ok(Lease { readers: self.clone(), reader: Some(reader) })
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
        let Some(Reader { connection, .. }) = &self.reader else { return Err(Error::Closed.into()) };
        connection::execute(connection, "BEGIN").map_err(Error::from)?;
        let result = guarded(closure, connection);
        if !connection.is_autocommit() {
            connection::execute(connection, "COMMIT").map_err(Error::from)?;
        }
        result
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(reader) = self.reader.take() else { return };
        self.readers.since[reader.number].store(0, Relaxed);
        let mut idle = lock(&self.readers.idle);
        if !self.readers.free.is_closed() {
            idle.push(reader);
            self.readers.free.add_permits(1);
        }
    }
}
