//! The writer connection and commit batching.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ffi};

use crate::authorize::{self, COMMITTING, GUARDED, OUTSIDE, Seen, UNGUARDED};
use crate::checkpoint::Checkpointing;
use crate::connection::{self, Purpose};
use crate::counters::Live;
use crate::error::Error;
use crate::job::{Job, Keeping, Rest, guarded, quiet};
use crate::nesting;
use crate::options::Options;

/// The writer connection. Used through the seat of [`crate::queue`] by one thread at a time.
pub struct Writer {
    connection: Connection,
    sql: Statements,
    /// What is running: [`OUTSIDE`] of closures, a [`GUARDED`] or an [`UNGUARDED`] one, or [`COMMITTING`].
    inside: Arc<AtomicU8>,
    /// Whether SQLite has rolled back since the last `BEGIN`. A savepoint after that begins a transaction as well.
    rolled_back: Arc<AtomicBool>,
    seen: Arc<Seen>,
    checkpointing: Checkpointing,
    counters: Arc<Live>,
    /// Longest wait for another process that writes: the busy timeout of the connection.
    patience: Duration,
    max_log: Option<u64>,
    external: bool,
    /// Value of `PRAGMA schema_version`, unless a closure may have changed it.
    schema: Option<i64>,
    writes: usize,
    time: Duration,
}

/// Pause between attempts to begin while another process writes.
const STEP: Duration = Duration::from_micros(300);

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

/// Jobs taken from the queue, the oldest first.
pub type Jobs = VecDeque<Box<dyn Job>>;

/// Jobs that ran in the open transaction, each with whether its changes are part of it.
type Done = Vec<(Box<dyn Job>, bool)>;

impl Writer {
    pub fn open(options: &Options, counters: Arc<Live>, checkpointing: Checkpointing) -> Result<Self, Error> {
        let mut connection = connection::open(options, Purpose::Write)?;
        let inside = Arc::new(AtomicU8::new(OUTSIDE));
        let sql = Statements::new();
        let seen = Arc::<Seen>::default();
        authorize::set(&mut connection, inside.clone(), sql.name.clone(), seen.clone())?;
        // A closure that goes on after SQLite has rolled back would write outside of any transaction, and so would a
        // statement that outlives its closure.
        let flag = inside.clone();
        connection.commit_hook(Some(move || flag.load(Relaxed) != COMMITTING))?;
        let rolled_back = Arc::<AtomicBool>::default();
        let flag = rolled_back.clone();
        connection.rollback_hook(Some(move || flag.store(true, Relaxed)))?;
        let live = counters.clone();
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, frames: i32| {
            live.wal_frames.store(frames.try_into().unwrap_or_default(), Relaxed);
            Ok(())
        }))?;
        Ok(Self {
            sql,
            inside,
            rolled_back,
            seen,
            checkpointing,
            counters,
            patience: connection::busy_timeout(&connection)?,
            max_log: options.max_log,
            external: options.checkpoints.is_external(),
            connection,
            schema: None,
            writes: options.writes,
            time: options.time,
        })
    }

    /// Runs one closure in a commit of its own.
    pub fn alone<T, E: From<Error>>(&mut self, closure: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        let span = tracing::debug_span!("commit", writes = 1, inline = true).entered();
        let started = Instant::now();
        if let Err(error) = self.begin() {
            return self.failed(Err(error.into()));
        }
        let result = self.run(GUARDED, &[], |connection| guarded(closure, connection));
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

    /// Runs these jobs, and further ones that `supply` returns while there is room, in as few commits as possible.
    /// Answers all of them.
    pub fn together(&mut self, mut jobs: Jobs, supply: &impl Supply) {
        while !jobs.is_empty() {
            jobs = self.one_commit(jobs, supply);
            self.checkpointing.after_commit(&self.connection, &self.counters);
        }
    }

    /// Runs one commit. Returns the jobs for which no time was left.
    fn one_commit(&mut self, mut jobs: Jobs, supply: &impl Supply) -> Jobs {
        let span = tracing::debug_span!("commit", writes = tracing::field::Empty, inline = false).entered();
        let started = Instant::now();
        let mut done = Done::new();
        loop {
            if jobs.is_empty() {
                jobs = supply.more(done.len(), self.writes - done.len());
            }
            let Some(mut job) = jobs.pop_front() else { break };
            if !job.wanted() {
                let _dropped = quiet(|| drop(job));
                continue;
            }
            if self.connection.is_autocommit()
                && let Err(error) = self.begin()
            {
                // The remaining jobs would wait as long and get the same error.
                for job in std::iter::once(job).chain(jobs.drain(..)) {
                    self.counters.failed.fetch_add(1, Relaxed);
                    job.answer(Some(error.clone()), Rest::default());
                }
                break;
            }
            let savepoint = self.seen.savepoint.load(Relaxed);
            let kept = self.one(&mut *job, &mut done);
            done.push((job, kept));
            // The first savepoint of a closure may still be open, with none of this crate around it.
            let is_open = self.seen.savepoint.load(Relaxed) != savepoint;
            if is_open || done.len() >= self.writes || started.elapsed() >= self.time {
                break;
            }
        }
        span.record("writes", done.len());
        self.end(started, done, supply);
        jobs
    }

    /// Runs one job after those in `done`. Returns whether its changes are in the transaction.
    fn one(&mut self, job: &mut dyn Job, done: &mut Done) -> bool {
        let guard = match job.keeping() {
            // Rolling back the transaction takes back this job only.
            _ if !self.seen.savepoint.load(Relaxed) && !done.iter().any(|(_, kept)| *kept) => Guard::Alone,
            Keeping::Guarded => Guard::Savepoint,
            Keeping::Unguarded => Guard::None { changes: self.connection.total_changes() },
        };
        if let Err(error) = self.before(guard) {
            job.refuse(error.into());
            return false;
        }
        let mode = if matches!(guard, Guard::None { .. }) { UNGUARDED } else { GUARDED };
        let callers = job.callers().to_vec();
        let ok = self.run(mode, &callers, |connection| job.run(connection));
        match self.state_after(ok) {
            After::Kept => match guard {
                Guard::Alone | Guard::None { .. } => return true,
                Guard::Savepoint => match self.execute(&self.sql.release) {
                    Ok(()) => return true,
                    Err(error) => job.refuse(error.into()),
                },
            },
            After::TakenBack => {}
            After::ForeignKey => job.refuse(Error::ForeignKey),
            After::Lost(cause) => {
                if ok {
                    job.refuse(Error::RolledBack(cause.clone()));
                }
                refuse(done, &Error::RolledBack(cause));
                return false;
            }
        }
        if let Err(error) = self.take_back(guard) {
            // The transaction now contains changes that no caller requested.
            self.roll_back();
            refuse(done, &error);
        }
        false
    }

    fn before(&mut self, guard: Guard) -> rusqlite::Result<()> {
        match guard {
            Guard::Alone => self.schema = None,
            Guard::Savepoint => {
                self.schema = None;
                self.execute(&self.sql.savepoint)?;
            }
            Guard::None { .. } if self.schema.is_some() && !self.seen.schema.swap(false, Relaxed) => {}
            Guard::None { .. } => self.schema = Some(connection::schema_version(&self.connection)?),
        }
        Ok(())
    }

    /// Rolls back the changes of one job only.
    fn take_back(&mut self, guard: Guard) -> Result<(), Error> {
        let execute = |sql| self.execute(sql).map_err(|error| Error::RolledBack(Arc::new(error)));
        match guard {
            Guard::Alone => execute(&self.sql.rollback),
            Guard::Savepoint => execute(&self.sql.rollback_to).and_then(|()| execute(&self.sql.release)),
            // SQLite has rolled back the failed statement; the check finds earlier changes.
            Guard::None { changes } => {
                let schema = connection::schema_version(&self.connection).ok();
                let is_as_before = self.connection.total_changes() == changes && schema == self.schema;
                if is_as_before { Ok(()) } else { Err(Error::LeftHalf) }
            }
        }
    }

    /// Commits the changes that are kept, and answers all jobs.
    fn end(&mut self, started: Instant, mut done: Done, supply: &impl Supply) {
        let kept = done.iter().filter(|(_, kept)| *kept).count() as u64;
        if kept > 0
            && let Err(error) = self.commit(kept)
        {
            refuse(&mut done, &Error::Commit(error));
        }
        self.roll_back();
        self.counters.took(started.elapsed());
        supply.committed(done.len());
        let mut asleep = Vec::new();
        for (job, kept) in done {
            if !kept {
                self.counters.failed.fetch_add(1, Relaxed);
            }
            if job.sleeps() {
                asleep.push(job);
            } else {
                job.answer(None, Rest::default());
            }
        }
        asleep.reverse();
        drop(Rest::new(asleep));
    }

    fn begin(&mut self) -> Result<(), Error> {
        if let Some(most) = self.max_log
            && let Some(frames) = self.checkpointing.full(&self.connection, &self.counters, most)
        {
            return Err(Error::LogFull { frames });
        }
        self.begin_between_others().map_err(|error| {
            if is_busy(&error) {
                self.counters.busy.fetch_add(1, Relaxed);
            }
            Error::Begin(Arc::new(error))
        })
    }

    /// Waits for another process that writes, in shorter steps than SQLite's busy handler, whose pauses grow to 100 ms:
    /// a process that writes without a pause would leave no gap that such a step meets.
    fn begin_between_others(&self) -> rusqlite::Result<()> {
        self.rolled_back.store(false, Relaxed);
        self.connection.busy_timeout(Duration::ZERO)?;
        let mut began = self.execute(&self.sql.begin);
        if matches!(&began, Err(error) if is_busy(error)) {
            let started = Instant::now();
            while matches!(&began, Err(error) if is_busy(error)) && started.elapsed() < self.patience {
                std::thread::sleep(STEP);
                began = self.execute(&self.sql.begin);
            }
        }
        self.connection.busy_timeout(self.patience)?;
        began
    }

    fn commit(&mut self, writes: u64) -> Result<(), Arc<rusqlite::Error>> {
        let started = Instant::now();
        self.inside.store(COMMITTING, Relaxed);
        let committed = self.execute(&self.sql.commit);
        self.inside.store(OUTSIDE, Relaxed);
        committed.map_err(Arc::new)?;
        self.counters.committed(writes, started.elapsed());
        Ok(())
    }

    /// Ends what a closure has left whose error could not be converted.
    pub fn abandon(&mut self) {
        connection::end_statements(&self.connection);
        self.roll_back();
    }

    /// Rolls back the transaction if one is open.
    fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            // Fails only if SQLite has already rolled back.
            let _gone = self.execute(&self.sql.rollback);
        }
    }

    /// Runs a statement of this crate.
    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        connection::execute(&self.connection, sql)
    }

    /// Runs the closure in a mode of the authorizer, on behalf of `callers`.
    fn run<R>(&mut self, mode: u8, callers: &[usize], closure: impl FnOnce(&Connection) -> R) -> R {
        struct Inside<'a>(&'a AtomicU8);
        impl Drop for Inside<'_> {
            fn drop(&mut self) {
                self.0.store(OUTSIDE, Relaxed);
            }
        }
        connection::forget_last_row(&self.connection);
        let _held = nesting::hold(callers);
        self.inside.store(mode, Relaxed);
        let _inside = Inside(&self.inside);
        closure(&self.connection)
    }

    /// Ends what the closure left running, and looks what has become of its transaction.
    fn state_after(&mut self, ok: bool) -> After {
        let code = connection::last_code(&self.connection);
        connection::end_statements(&self.connection);
        if self.rolled_back.load(Relaxed) || self.connection.is_autocommit() {
            // The closure may have begun another transaction with a savepoint.
            self.roll_back();
            let succeeded = matches!(code, ffi::SQLITE_OK | ffi::SQLITE_ROW | ffi::SQLITE_DONE);
            let cause = ffi::Error::new(if succeeded { ffi::SQLITE_ABORT_ROLLBACK } else { code });
            return After::Lost(Arc::new(rusqlite::Error::SqliteFailure(cause, None)));
        }
        match ok {
            true if connection::has_deferred_violations(&self.connection) => After::ForeignKey,
            true => After::Kept,
            false => After::TakenBack,
        }
    }

    /// Checkpoints the log as far as readers allow, and closes the connection.
    pub fn close(self) -> Result<(), Error> {
        connection::finalize_statements(&self.connection);
        if self.external {
            return self.connection.close().map_err(|(_, error)| error.into());
        }
        connection::pragma(&self.connection, "PRAGMA wal_checkpoint(TRUNCATE)")?;
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

/// Source of further jobs for a commit.
pub trait Supply {
    /// Returns up to `room` further jobs for a commit of `done` jobs so far, or none to end it.
    fn more(&self, done: usize, room: usize) -> Jobs;

    /// Called after a commit of `writes` jobs, before they are answered.
    fn committed(&self, writes: usize);
}

/// Supplies no further jobs.
impl Supply for () {
    fn more(&self, _: usize, _: usize) -> Jobs {
        Jobs::new()
    }

    fn committed(&self, _: usize) {}
}

/// The statements of this crate. Each contains a random number, so that a closure cannot find them in the
/// statement cache, where they would pass without asking the authorizer.
struct Statements {
    /// Name of the savepoint.
    name: Arc<str>,
    begin: String,
    commit: String,
    rollback: String,
    savepoint: String,
    release: String,
    rollback_to: String,
}

impl Statements {
    fn new() -> Self {
        let name = format!("onewriter_{:016x}", RandomState::new().hash_one(0));
        Self {
            begin: format!("BEGIN IMMEDIATE /* {name} */"),
            commit: format!("COMMIT /* {name} */"),
            rollback: format!("ROLLBACK /* {name} */"),
            savepoint: format!("SAVEPOINT {name}"),
            release: format!("RELEASE {name}"),
            rollback_to: format!("ROLLBACK TO {name}"),
            name: name.into(),
        }
    }
}

/// Mechanism that isolates a closure from the others in its transaction.
#[derive(Clone, Copy)]
enum Guard {
    /// None is needed: no other job in the transaction has changes.
    Alone,
    Savepoint,
    /// Only SQLite's rollback of a failed statement. `changes` is the count of changed rows before the closure.
    None {
        changes: u64,
    },
}

/// State of the transaction after a closure.
enum After {
    /// It contains changes to keep.
    Kept,
    /// The closure failed, so its changes are to be rolled back.
    TakenBack,
    /// It would fail at the commit because of a deferred foreign key.
    ForeignKey,
    /// It no longer exists: SQLite rolled it back.
    Lost(Arc<rusqlite::Error>),
}

/// Replaces the results of the jobs whose changes were rolled back.
fn refuse(done: &mut Done, error: &Error) {
    for (job, kept) in done {
        if std::mem::take(kept) {
            job.refuse(error.clone());
        }
    }
}
