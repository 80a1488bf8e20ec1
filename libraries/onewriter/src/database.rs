//! The public handle of a database: opening, writing, reading and closing.

use std::fmt;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::checkpoint::{Checkpointing, Limits, Stop};
use crate::connection::{self, Purpose};
use crate::counters::{Counters, Live};
use crate::error::{Error, Result};
use crate::job::{Exclusive, Once, Repeatable};
use crate::nesting;
use crate::options::Options;
use crate::panics::guarded;
use crate::readers::Readers;
use crate::shared::Shared;
use crate::sync::{Mutex, lock};
use crate::tx::Tx;
use crate::wait::{self, Slot};
use crate::writer::Writer;

/// The open databases of this process by canonical path: two writers of one file would wait for each other.
static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// A database by its canonical path.
type Opened = (PathBuf, Weak<Last>);

/// An open database: one connection that writes and a pool of connections that read.
///
/// Clones share the same database. Writes that are queued when the last clone is dropped still run, in the background;
/// [`Database::close`] waits for them.
#[derive(Clone)]
pub struct Database {
    last: Arc<Last>,
    timeout: Option<Duration>,
}

/// Closes the queue when the last clone is dropped.
struct Last(Arc<Shared>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Database");
        shown.field("path", &self.shared().options.path).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Options {
    /// Opens the database in WAL mode and starts the writer and checkpoint threads. If the same file is open in this
    /// process already, this returns another handle of that database, and these options have no effect.
    ///
    /// # Errors
    /// If the database cannot be opened, or cannot use a write-ahead log (in-memory databases, some network file
    /// systems).
    pub fn open(self) -> Result<Database> {
        Database::open(self)
    }
}

impl Database {
    /// Opens the database, or returns the one of this process that has the same file.
    fn open(mut options: Options) -> Result<Self> {
        let opening = (&raw const OPENED).addr();
        if nesting::is_held(opening) {
            return Err(Error::Nested);
        }
        let _held = nesting::hold(&[opening]);
        let mut opened = lock(&OPENED);
        opened.retain(|(_, last)| last.strong_count() > 0);
        // A file that does not exist yet is not open.
        let same = canonical(&options.path);
        let known = opened.iter().find(|(path, _)| Some(path) == same.as_ref()).and_then(|(_, last)| last.upgrade());
        if let Some(last) = known {
            // SQLite would take the locks of the parent for its own.
            last.0.check_fork()?;
            if !last.0.queue.is_closed() {
                return Ok(Self { last, timeout: options.timeout });
            }
        }
        // Connections are opened later, too, when the working directory or a link may lead to another file.
        if let Some(path) = same.filter(|_| !is_uri(&options.path)).or_else(|| absolute(&options.path)) {
            options.path = path;
        }
        let (path, timeout) = (options.path.clone(), options.timeout);
        // A closure that sets up a connection may panic.
        let database = Self { last: Arc::new(Last(guarded(|| open_anew(options))?)), timeout };
        if let Some(path) = canonical(&path) {
            opened.retain(|(known, _)| *known != path);
            opened.push((path, Arc::downgrade(&database.last)));
        }
        Ok(database)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.last.0
    }

    /// Returns a handle of the same database whose calls give up with [`Error::Timeout`] if they have not begun within
    /// this time: writes wait in the queue, reads for a connection. What has begun is not interrupted
    /// ([`Options::max_write`], [`Options::max_read`]).
    ///
    /// With [`Duration::ZERO`] a call succeeds only if it can begin at once, which an asynchronous write, run by another
    /// thread, never can. Asynchronous calls are refused when their turn comes after the time; to stop waiting earlier,
    /// drop the future.
    #[must_use]
    pub fn with_timeout(&self, limit: Duration) -> Self {
        Self { last: self.last.clone(), timeout: Some(limit) }
    }

    fn deadline(&self, since: Instant) -> Option<Instant> {
        self.timeout.and_then(|limit| since.checked_add(limit))
    }

    /// Runs the closure in a transaction and returns its result after the commit.
    ///
    /// With [`Durability::Full`](crate::Durability::Full) the changes are on disk when this function returns. If the
    /// closure fails or panics, its own changes are rolled back, and no others.
    ///
    /// This function blocks. If no other write is in progress, the closure runs in the thread of the caller, otherwise
    /// in the writer thread. In asynchronous code use [`Database::write_async`].
    ///
    /// # Errors
    /// Those of the closure and of this crate: [`Error`].
    pub fn write<T, F>(&self, closure: F) -> Result<T>
    where
        F: FnOnce(&mut Tx<'_>) -> rusqlite::Result<T> + Send,
        T: Send,
    {
        self.write_with(|tx| Ok(closure(tx)?))
    }

    /// Like [`Database::write`], with errors of the application.
    ///
    /// ```
    /// # use onewriter::Options;
    /// # let db = Options::temporary()?.open()?;
    /// # db.write(|tx| tx.execute_batch("CREATE TABLE account(id INTEGER PRIMARY KEY, cents INTEGER);
    /// #     INSERT INTO account VALUES (1, 5)"))?;
    /// #[derive(Debug, thiserror::Error)]
    /// enum Refused {
    ///     #[error("there are {0} cents left")]
    ///     Funds(i64),
    ///     #[error(transparent)]
    ///     Database(#[from] onewriter::Error),
    ///     #[error(transparent)]
    ///     Sql(#[from] onewriter::rusqlite::Error),
    /// }
    ///
    /// let paid = db.write_with(|tx| {
    ///     let cents = tx.query_row("SELECT cents FROM account WHERE id = 1", [], |row| row.get(0))?;
    ///     if cents < 100 {
    ///         return Err(Refused::Funds(cents));
    ///     }
    ///     tx.execute("UPDATE account SET cents = cents - 100 WHERE id = 1", [])?;
    ///     Ok(())
    /// });
    /// assert!(matches!(paid, Err(Refused::Funds(5))));
    /// # Ok::<_, onewriter::Error>(())
    /// ```
    ///
    /// # Errors
    /// That of the closure, or an [`Error`] of this crate.
    pub fn write_with<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send,
        T: Send,
        E: From<Error> + Send,
    {
        let (shared, since) = (self.shared(), Instant::now());
        shared.check()?;
        match shared.sit(self.timeout) {
            Some(mut seated) => {
                seated.writer().alone(self.deadline(since), |connection| closure(&mut Tx::new(connection)))
            }
            None => shared.wait_for(Once(Some(closure)), since, self.deadline(since)),
        }
    }

    /// Like [`Database::write_with`], for a closure that may run more than once, which spares it a savepoint: a sixth to
    /// a third of the time of a short write.
    ///
    /// If a closure fails that was run without a savepoint, those that share its transaction and can be repeated are
    /// rolled back and run again, with a savepoint each. What counts for each is its last run. Use it for closures that
    /// seldom fail.
    ///
    /// # Errors
    /// As for [`Database::write_with`].
    pub fn write_repeatable<T, E, F>(&self, mut closure: F) -> Result<T, E>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send,
        T: Send,
        E: From<Error> + Send,
    {
        let (shared, since) = (self.shared(), Instant::now());
        shared.check()?;
        match shared.sit(self.timeout) {
            Some(mut seated) => {
                seated.writer().alone(self.deadline(since), |connection| closure(&mut Tx::new(connection)))
            }
            None => shared.wait_for(Repeatable(closure), since, self.deadline(since)),
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
    pub async fn write_async<T, F>(&self, closure: F) -> Result<T>
    where
        F: FnOnce(&mut Tx<'_>) -> rusqlite::Result<T> + Send + 'static,
        T: Send + 'static,
    {
        self.write_with_async(|tx| Ok(closure(tx)?)).await
    }

    /// Like [`Database::write_with`], for asynchronous code. A dropped future has the effect described at
    /// [`Database::write_async`].
    ///
    /// # Errors
    /// As for [`Database::write_with`].
    pub async fn write_with_async<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.shared().hand_over(Once(Some(closure)), self.deadline(Instant::now())).await
    }

    /// Like [`Database::write_repeatable`], for asynchronous code. A dropped future has the effect described at
    /// [`Database::write_async`].
    ///
    /// # Errors
    /// As for [`Database::write_with`].
    pub async fn write_repeatable_async<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.shared().hand_over(Repeatable(closure), self.deadline(Instant::now())).await
    }

    /// Runs the closure outside of a transaction while nothing else writes: for migrations, `VACUUM`, and whatever
    /// needs a `&mut Connection`. Writes of other callers that were queued earlier are done before it.
    ///
    /// The connection is opened for this call and closed after it, so no setting of it remains. Readers go on.
    ///
    /// # Errors
    /// That of the closure, or an [`Error`] of this crate.
    pub fn exclusive<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&mut Connection) -> Result<T, E> + Send,
        T: Send,
        E: From<Error> + Send,
    {
        let (shared, since) = (self.shared(), Instant::now());
        shared.check()?;
        match shared.sit(self.timeout) {
            Some(mut seated) => seated.writer().apart(&[], |opened| guarded(|| closure(opened?))),
            None => shared.wait_for(Exclusive(Some(closure)), since, self.deadline(since)),
        }
    }

    /// Like [`Database::exclusive`], for asynchronous code. A dropped future has the effect described at
    /// [`Database::write_async`].
    ///
    /// # Errors
    /// As for [`Database::exclusive`].
    pub async fn exclusive_async<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&mut Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.shared().hand_over(Exclusive(Some(closure)), self.deadline(Instant::now())).await
    }

    /// Runs the closure in a read transaction in this thread, with a read-only connection of the pool. All reads of the
    /// closure see the same snapshot, which contains all writes that were answered before the call. Blocks while all
    /// connections of the pool are in use.
    ///
    /// # Errors
    /// Those of the closure and of this crate: [`Error`].
    pub fn read<T>(&self, closure: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.read_with(|connection| Ok(closure(connection)?))
    }

    /// Like [`Database::read`], with errors of the application.
    ///
    /// # Errors
    /// That of the closure, or an [`Error`] of this crate.
    pub fn read_with<T, E: From<Error>>(&self, closure: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        let readers = self.readers()?;
        readers.lend(self.deadline(Instant::now()))?.read(closure)
    }

    /// Like [`Database::read`], for asynchronous code on any runtime. The closure runs in a thread of this crate, of
    /// which there are as many as concurrent reads of this kind, and must own its data.
    ///
    /// # Errors
    /// As for [`Database::read`].
    pub async fn read_async<T, F>(&self, closure: F) -> Result<T>
    where
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
        T: Send + 'static,
    {
        self.read_with_async(|connection| Ok(closure(connection)?)).await
    }

    /// Like [`Database::read_with`], for asynchronous code.
    ///
    /// # Errors
    /// As for [`Database::read_with`].
    pub async fn read_with_async<T, E, F>(&self, closure: F) -> Result<T, E>
    where
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let readers = self.readers()?;
        let deadline = self.deadline(Instant::now());
        let lease = readers.lend_async(deadline).await?;
        let answer = Arc::<Slot<Result<T, E>>>::default();
        let ended = Ends(answer.clone());
        let (span, callers) = (tracing::Span::current(), nesting::here());
        readers.run(move || {
            // The caller waits for it, and may hold a database.
            let _held = nesting::hold(&callers);
            // A caller that has gone gets no answer.
            let _gone = ended.0.fill(span.in_scope(|| lease.read(closure)));
        })?;
        poll_fn(|context| answer.poll(context.waker())).await.unwrap_or_else(|| Err(Error::Closed.into()))
    }

    /// Runs the closure once with each connection of the pool, one after the other, when all of them are idle: to check
    /// settings, or to fill caches.
    ///
    /// # Errors
    /// As for [`Database::read_with`]; the first error ends it.
    pub fn each_reader<T, E: From<Error>>(
        &self,
        mut closure: impl FnMut(&Connection) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let deadline = self.deadline(Instant::now());
        self.readers()?.lend_all(deadline)?.into_iter().map(|lease| lease.read(&mut closure)).collect()
    }

    fn readers(&self) -> Result<&Arc<Readers>> {
        let readers = &self.shared().readers;
        match self.shared().check() {
            // A write may read what was committed before it.
            Ok(()) | Err(Error::Nested) => readers.check().map(|()| readers),
            Err(error) => Err(error),
        }
    }

    /// Returns a snapshot of the counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let shared = self.shared();
        shared.counters.snapshot(shared.queue.depth(), shared.readers.oldest())
    }

    /// Runs the queued writes, checkpoints the log and closes the database for all clones. Later calls return
    /// [`Error::Closed`]. Connections in use for reading are closed when their closure ends. A reader, also one of
    /// another process, can prevent the checkpoint: the log then stays beside the file.
    ///
    /// # Errors
    /// If the final checkpoint fails; all committed writes are then still in the log. [`Error::Nested`] inside a closure
    /// of the same database; nothing is closed then.
    pub fn close(self) -> Result<()> {
        self.begin_close()?;
        wait::block(None, |waker| self.shared().poll_ended(waker)).unwrap_or(Err(Error::Closed))
    }

    /// Like [`Database::close`], for asynchronous code. A dropped future does not stop the close.
    ///
    /// # Errors
    /// As for [`Database::close`].
    pub async fn close_async(self) -> Result<()> {
        self.begin_close()?;
        poll_fn(|context| self.shared().poll_ended(context.waker())).await
    }

    fn begin_close(&self) -> Result<()> {
        self.shared().check()?;
        self.shared().readers.check()?;
        self.shared().close();
        Ok(())
    }
}

/// Ends the wait of an asynchronous reader when its closure was dropped or has panicked.
struct Ends<T>(Arc<Slot<T>>);

impl<T> Drop for Ends<T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The canonical path of a database file that exists. SQLite knows the path of a URI.
fn canonical(path: &Path) -> Option<PathBuf> {
    if !is_uri(path) {
        return path.canonicalize().ok();
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(path, flags).ok()?;
    Path::new(connection.path()?).canonicalize().ok()
}

fn is_uri(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with("file:"))
}

/// The path of a file that does not exist yet; `None` for a URI and for a database in memory.
fn absolute(path: &Path) -> Option<PathBuf> {
    let is_name = !is_uri(path) && path != Path::new(":memory:") && !path.as_os_str().is_empty();
    is_name.then(|| std::path::absolute(path).ok()).flatten()
}

fn open_anew(mut options: Options) -> Result<Arc<Shared>> {
    let wrong = |options: &Options, source| Error::Open { path: options.path.clone(), source };
    if options.readers == 0 {
        return Err(wrong(&options, "at least one reader is needed, and `readers` is 0".into()));
    }
    let temporary = options.temporary.take();
    let options = Arc::new(options);
    let counters = Arc::new(Live::default());
    let readers = Arc::new(Readers::new());
    let stop = Arc::new(Stop::new(options.stop_after_failed_sync));
    let (checkpointing, background) = Checkpointing::new(options.checkpoints, readers.clone(), stop.clone());
    let writer = Writer::open(&options, counters.clone(), checkpointing, stop)?;
    let beside = connection::open(&options, Purpose::Checkpoint)?;
    readers.open(&options)?;
    let limits = Limits { read: options.max_read, write: writer.limit() };
    let checkpoints = Builder::new().name("onewriter-ckpt".into());
    let checkpoints = checkpoints.spawn(move || background.run(&beside, &counters, &limits));
    let checkpoints = checkpoints.map_err(|error| wrong(&options, error.into()))?;
    let shared = Arc::new(Shared::new(writer, readers, temporary));
    let served = shared.clone();
    let serve = Builder::new().name("onewriter".into()).spawn(move || served.serve(checkpoints));
    serve.map_err(|error| wrong(&options, error.into()))?;
    Ok(shared)
}
