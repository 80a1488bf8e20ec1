//! The writer connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ffi};

use crate::authorize::{self, COMMITTING, INSIDE, OUTSIDE, Seen};
use crate::checkpoint::{Checkpointing, Stop, truncate_now};
use crate::connection::{self, Purpose};
use crate::counters::Live;
use crate::error::{Error, Shared};
use crate::nesting;
use crate::options::Options;
use crate::panics::guarded;
use crate::sql::{Prepared, Statements};
use crate::watch::Watch;

/// The writer connection. Used through the seat of [`crate::queue`] by one thread at a time.
pub struct Writer {
    pub connection: Connection,
    pub sql: Statements,
    /// What is running: [`OUTSIDE`] of closures, [`INSIDE`] one, or [`COMMITTING`].
    inside: Arc<AtomicU8>,
    /// Whether SQLite has rolled back since the last `BEGIN`. A savepoint after that begins a transaction as well.
    rolled_back: Arc<AtomicBool>,
    seen: Arc<Seen>,
    pub checkpointing: Checkpointing,
    stop: Arc<Stop>,
    pub counters: Arc<Live>,
    /// Watched if a limit for closures is set.
    watch: Option<Arc<Watch>>,
    /// Longest wait for another process that writes: the busy timeout of the connection.
    patience: Duration,
    pub options: Arc<Options>,
    /// Number of closures that still run with a savepoint after one that ran without it has failed.
    pub careful: u32,
}

/// Pause between attempts to begin while another process writes.
const STEP: Duration = Duration::from_micros(300);

/// State of the transaction after a closure.
pub enum After {
    /// It contains changes to keep.
    Kept,
    /// The closure failed, so its changes are to be rolled back.
    TakenBack,
    /// It would fail at the commit because of a deferred foreign key.
    ForeignKey,
    /// It no longer exists: SQLite rolled it back.
    Lost(Arc<rusqlite::Error>),
}

impl Writer {
    pub fn open(
        options: &Arc<Options>,
        counters: Arc<Live>,
        checkpointing: Checkpointing,
        stop: Arc<Stop>,
    ) -> Result<Self, Error> {
        let mut connection = connection::open(options, Purpose::Write)?;
        let inside = Arc::new(AtomicU8::new(OUTSIDE));
        let sql = Statements::prepare(&connection)?;
        let seen = Arc::<Seen>::default();
        authorize::set(&mut connection, inside.clone(), sql.name.clone(), seen.clone())?;
        // A closure that goes on after SQLite has rolled back would write outside of any transaction, and so would a
        // statement that outlives its closure.
        let flag = inside.clone();
        connection.commit_hook(Some(move || flag.load(Relaxed) != COMMITTING))?;
        let rolled_back = Arc::<AtomicBool>::default();
        let flag = rolled_back.clone();
        connection.rollback_hook(Some(move || flag.store(true, Relaxed)))?;
        count_frames(&mut connection, &counters)?;
        let watch = options.max_write.map(|_| Arc::new(Watch::new(&connection)));
        Ok(Self {
            sql,
            inside,
            rolled_back,
            seen,
            checkpointing,
            stop,
            counters,
            watch,
            patience: connection::busy_timeout(&connection)?,
            options: options.clone(),
            connection,
            careful: 0,
        })
    }

    /// The watch of the running closure, and its limit.
    pub fn limit(&self) -> Option<(Duration, Arc<Watch>)> {
        self.options.max_write.zip(self.watch.clone())
    }

    /// Runs one closure in a commit of its own, which has begun by `deadline`.
    pub fn alone<T, E: From<Error>>(
        &mut self,
        deadline: Option<Instant>,
        closure: impl FnOnce(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let span = tracing::debug_span!("commit", writes = 1, inline = true).entered();
        let started = Instant::now();
        if let Err(error) = self.begin(deadline) {
            let is_busy = matches!(&error, Shared::Begin(cause) if is_busy(cause));
            let is_late = is_busy && deadline.is_some_and(|at| at <= Instant::now());
            return self.failed(Err(if is_late { Error::Timeout } else { error.into() }.into()));
        }
        let result = self.run(&[], |connection| guarded(|| closure(connection)));
        let result = match self.state_after(result.is_ok()) {
            After::Kept => self.commit(1).map(|()| result).map_err(Error::Commit),
            After::TakenBack => Ok(result),
            After::ForeignKey => Err(Error::ForeignKey),
            After::Lost(cause) => match result {
                // The error of the closure is the more precise one.
                Err(own) => return self.failed(Err(own)),
                Ok(_) => Err(Error::RolledBack(cause)),
            },
        };
        self.roll_back();
        drop(span);
        self.counters.inline.fetch_add(1, Relaxed);
        self.counters.took(started.elapsed());
        self.checkpointing.after_commit(&self.connection, &self.counters);
        self.failed(result.unwrap_or_else(|error| Err(error.into())))
    }

    fn failed<T, E>(&self, result: Result<T, E>) -> Result<T, E> {
        if result.is_err() {
            self.counters.failed.fetch_add(1, Relaxed);
        }
        result
    }

    /// Runs a closure outside of a transaction, with a connection that is closed after it: whatever it sets or leaves
    /// there concerns no other caller.
    pub fn apart<R>(&mut self, callers: &[usize], closure: impl FnOnce(Result<&mut Connection, Error>) -> R) -> R {
        let open = || {
            if let Some(cause) = self.stop.cause() {
                return Err(Error::Stopped(cause.clone()));
            }
            let mut connection = connection::open(&self.options, Purpose::Exclusive)?;
            count_frames(&mut connection, &self.counters)?;
            Ok(connection)
        };
        let opened = open();
        let _held = nesting::hold(callers);
        let mut opened = match opened {
            Ok(connection) => connection,
            Err(error) => return closure(Err(error)),
        };
        let result = closure(Ok(&mut opened));
        let last = rusqlite::Error::SqliteFailure(ffi::Error::new(connection::last_code(&opened)), None);
        self.stop.note(&Arc::new(last));
        connection::finalize_statements(&opened);
        drop(opened);
        self.checkpointing.after_commit(&self.connection, &self.counters);
        result
    }

    /// Begins a transaction. With a deadline, it waits no longer for another process.
    pub fn begin(&mut self, deadline: Option<Instant>) -> Result<(), Shared> {
        if let Some(cause) = self.stop.cause() {
            return Err(Shared::Stopped(cause.clone()));
        }
        if let Some(most) = self.options.max_log
            && let Some(frames) = self.checkpointing.full(&self.connection, &self.counters, most)
        {
            return Err(Shared::LogFull { frames });
        }
        self.begin_between_others(deadline).map_err(|error| {
            if is_busy(&error) {
                self.counters.busy.fetch_add(1, Relaxed);
            }
            Shared::Begin(Arc::new(error))
        })
    }

    /// Waits for another process that writes, in shorter steps than SQLite's busy handler, whose pauses grow to 100 ms:
    /// a process that writes without a pause would leave no gap that such a step meets.
    fn begin_between_others(&self, deadline: Option<Instant>) -> rusqlite::Result<()> {
        self.connection.busy_timeout(Duration::ZERO)?;
        let mut began = self.execute(&self.sql.begin);
        if matches!(&began, Err(error) if is_busy(error)) {
            let patient = Instant::now() + self.patience;
            let until = deadline.map_or(patient, |deadline| deadline.min(patient));
            while matches!(&began, Err(error) if is_busy(error)) && Instant::now() < until {
                std::thread::sleep(STEP);
                began = self.execute(&self.sql.begin);
            }
        }
        self.connection.busy_timeout(self.patience)?;
        // A `BEGIN` that waits for an attached database is rolled back in the one that it has locked.
        self.rolled_back.store(false, Relaxed);
        began
    }

    pub fn commit(&mut self, writes: u64) -> Result<(), Arc<rusqlite::Error>> {
        let started = Instant::now();
        self.inside.store(COMMITTING, Relaxed);
        let committed = self.execute(&self.sql.commit);
        self.inside.store(OUTSIDE, Relaxed);
        committed.map_err(|error| {
            let error = Arc::new(error);
            self.stop.note(&error);
            error
        })?;
        self.counters.committed(writes, started.elapsed());
        Ok(())
    }

    /// Ends what a closure has left whose error could not be converted.
    pub fn abandon(&mut self) {
        connection::end_statements(&self.connection);
        self.roll_back();
    }

    /// Rolls back the transaction if one is open.
    pub fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            // Fails only if SQLite has already rolled back.
            let _gone = self.execute(&self.sql.rollback);
        }
    }

    /// Runs a statement of this crate.
    pub fn execute(&self, statement: &Prepared) -> rusqlite::Result<()> {
        statement.run(&self.connection)
    }

    /// Runs the closure under the rules of the authorizer, on behalf of `callers`.
    pub fn run<R>(&mut self, callers: &[usize], closure: impl FnOnce(&mut Connection) -> R) -> R {
        struct Inside<'a>(&'a AtomicU8, Option<&'a Watch>);
        impl Drop for Inside<'_> {
            fn drop(&mut self) {
                self.0.store(OUTSIDE, Relaxed);
                self.1.iter().for_each(|watch| watch.end());
            }
        }
        connection::forget_last_row(&self.connection);
        let _held = nesting::hold(callers);
        self.watch.iter().for_each(|watch| watch.begin());
        self.inside.store(INSIDE, Relaxed);
        let _inside = Inside(&self.inside, self.watch.as_deref());
        closure(&mut self.connection)
    }

    /// Ends what the closure left running, and looks what has become of its transaction.
    pub fn state_after(&mut self, ok: bool) -> After {
        let code = connection::last_code(&self.connection);
        connection::end_statements(&self.connection);
        let (savepoints, defers) = self.seen.take();
        if self.rolled_back.load(Relaxed) || self.connection.is_autocommit() {
            // The closure may have begun another transaction with a savepoint.
            self.roll_back();
            self.forget(&savepoints);
            let succeeded = matches!(code, ffi::SQLITE_OK | ffi::SQLITE_ROW | ffi::SQLITE_DONE);
            let cause = ffi::Error::new(if succeeded { ffi::SQLITE_ABORT_ROLLBACK } else { code });
            return After::Lost(Arc::new(rusqlite::Error::SqliteFailure(cause, None)));
        }
        if ok {
            savepoints.iter().for_each(|name| connection::release(&self.connection, name));
        }
        self.forget(&savepoints);
        let violates = connection::has_deferred_violations(&self.connection);
        if defers && let Err(error) = connection::pragma(&self.connection, "PRAGMA defer_foreign_keys = OFF") {
            self.roll_back();
            return After::Lost(Arc::new(error));
        }
        match ok {
            true if violates => After::ForeignKey,
            true => After::Kept,
            false => After::TakenBack,
        }
    }

    /// Empties the statement cache if it has the statement of a savepoint, which would pass the authorizer unseen.
    fn forget(&self, savepoints: &[String]) {
        if !savepoints.is_empty() && connection::is_prepared(&self.connection, "savepoint", &self.sql.name) {
            self.connection.flush_prepared_statement_cache();
        }
    }

    /// Checkpoints the log as far as readers allow, and closes the connection.
    ///
    /// # Errors
    /// If the checkpoint fails.
    pub fn close(self) -> Result<(), Error> {
        connection::finalize_statements(&self.connection);
        if self.stop.cause().is_some() {
            self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        } else if !self.options.checkpoints.is_external() {
            // A reader can prevent it. Waiting for that one would keep out the writers of other processes, such as the
            // one that takes the place of this one.
            if let Err(error) = truncate_now(&self.connection) {
                if let Some(cause) = error.sqlite_error() {
                    self.stop.note(&Arc::new(rusqlite::Error::SqliteFailure(*cause, None)));
                }
                return Err(error.into());
            }
        }
        Ok(())
    }
}

/// Closes the connection: a prepared statement, as this crate has some, would keep it open.
impl Drop for Writer {
    fn drop(&mut self) {
        connection::finalize_statements(&self.connection);
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

/// Keeps the number of frames in the log.
fn count_frames(connection: &mut Connection, counters: &Arc<Live>) -> rusqlite::Result<()> {
    let live = counters.clone();
    connection.wal_hook(Some(move |wal: &mut rusqlite::hooks::Wal, frames: i32| {
        // Attached databases have logs of their own.
        if wal.name() == c"main" {
            live.wal_frames.store(frames.try_into().unwrap_or_default(), Relaxed);
            live.logged.fetch_add(1, Relaxed);
        }
        Ok(())
    }))
}
