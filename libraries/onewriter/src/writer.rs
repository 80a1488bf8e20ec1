//! The connection that writes, and what one commit is.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::checkpoint::Checkpointing;
use crate::connection::{self, Purpose};
use crate::counters::Live;
use crate::error::Error;
use crate::job::{Job, Keeping, Rest, guarded};
use crate::options::Options;

/// The seat of [`crate::queue`]: whoever holds it writes.
pub struct Writer {
    connection: Connection,
    /// A closure runs.
    inside: Arc<AtomicBool>,
    checkpointing: Checkpointing,
    counters: Arc<Live>,
    /// `PRAGMA schema_version`, as long as nothing can have changed it.
    schema: Option<i64>,
    writes: usize,
    time: Duration,
}

/// Jobs taken from the queue, the oldest first.
pub type Jobs = VecDeque<Box<dyn Job>>;

/// Done in the transaction that is open, and whether their changes are in it.
type Done = Vec<(Box<dyn Job>, bool)>;

thread_local! {
    /// The database whose closure this thread runs: the address of its counters.
    static WRITING: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread is inside a closure of the database with these counters.
pub fn is_inside(counters: &Arc<Live>) -> bool {
    WRITING.get() == Arc::as_ptr(counters).addr()
}

impl Writer {
    pub fn open(options: &Options, counters: Arc<Live>, checkpointing: Checkpointing) -> Result<Self, Error> {
        let mut connection = connection::open(options, Purpose::Write)?;
        let inside = Arc::new(AtomicBool::new(false));
        let flag = inside.clone();
        connection.authorizer(Some(move |context: AuthContext<'_>| authorize(flag.load(Relaxed), &context)))?;
        let live = counters.clone();
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, frames: i32| {
            live.wal_frames.store(frames.try_into().unwrap_or_default(), Relaxed);
            Ok(())
        }))?;
        Ok(Self {
            connection,
            inside,
            checkpointing,
            counters,
            schema: None,
            writes: options.writes,
            time: options.time,
        })
    }

    /// One closure with a commit of its own.
    pub fn alone<T, E: From<Error>>(&mut self, closure: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        let span = tracing::debug_span!("commit", writes = 1, inline = true).entered();
        let started = Instant::now();
        if let Err(error) = self.begin() {
            return self.failed(Err(error.into()));
        }
        let result = self.run(|connection| guarded(closure, connection));
        let result = match self.state_after(result.is_ok()) {
            After::Kept => self.commit(1).map(|()| result).map_err(Error::Commit),
            After::TakenBack => Ok(result),
            After::ForeignKey => Err(Error::ForeignKey),
            After::Lost(cause) => match result {
                // The closure knows best what SQLite told it.
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

    /// Does these jobs, and those that are supplied while there is room for them, with as few commits as may be. All of them
    /// are answered.
    pub fn together(&mut self, mut jobs: Jobs, supply: &impl Supply) {
        while !jobs.is_empty() {
            jobs = self.one_commit(jobs, supply);
            self.checkpointing.after_commit(&self.connection, &self.counters);
        }
    }

    /// Returns the jobs for which no time was left.
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
                continue;
            }
            if self.connection.is_autocommit()
                && let Err(error) = self.begin()
            {
                // The others would wait as long for the same answer.
                for job in std::iter::once(job).chain(jobs.drain(..)) {
                    self.counters.failed.fetch_add(1, Relaxed);
                    job.answer(Some(error.clone()), Rest::default());
                }
                break;
            }
            let kept = self.one(&mut *job, &mut done);
            done.push((job, kept));
            if done.len() >= self.writes || started.elapsed() >= self.time {
                break;
            }
        }
        span.record("writes", done.len());
        self.end(started, done, supply);
        jobs
    }

    /// One job beside those done. Whether its changes are in the transaction.
    fn one(&mut self, job: &mut dyn Job, done: &mut Done) -> bool {
        let guard = match job.keeping() {
            // It can be taken back by rolling back everything.
            _ if !done.iter().any(|(_, kept)| *kept) => Guard::Alone,
            Keeping::Guarded => Guard::Savepoint,
            Keeping::Unguarded => Guard::None { changes: self.connection.total_changes() },
        };
        if let Err(error) = self.before(guard) {
            job.refuse(error.into());
            return false;
        }
        let ok = self.run(|connection| job.run(connection));
        match self.state_after(ok) {
            After::Kept => match guard {
                Guard::Alone | Guard::None { .. } => return true,
                Guard::Savepoint => match connection::execute(&self.connection, "RELEASE onewriter") {
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
            // What is in the transaction now, nobody asked for.
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
                connection::execute(&self.connection, "SAVEPOINT onewriter")?;
            }
            Guard::None { .. } if self.schema.is_some() => {}
            Guard::None { .. } => self.schema = Some(connection::schema_version(&self.connection)?),
        }
        Ok(())
    }

    /// Takes back a job and nothing else.
    fn take_back(&mut self, guard: Guard) -> Result<(), Error> {
        let execute =
            |sql| connection::execute(&self.connection, sql).map_err(|error| Error::RolledBack(Arc::new(error)));
        match guard {
            Guard::Alone => execute("ROLLBACK"),
            Guard::Savepoint => execute("ROLLBACK TO onewriter").and_then(|()| execute("RELEASE onewriter")),
            // SQLite has done so, unless there was a change before the one that failed.
            Guard::None { changes } => {
                let schema = connection::schema_version(&self.connection).ok();
                let is_as_before = self.connection.total_changes() == changes && schema == self.schema;
                if is_as_before { Ok(()) } else { Err(Error::LeftHalf) }
            }
        }
    }

    /// Commits what is kept, and answers.
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
        connection::execute(&self.connection, "BEGIN IMMEDIATE").map_err(|error| {
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) {
                self.counters.busy.fetch_add(1, Relaxed);
            }
            Error::Begin(Arc::new(error))
        })
    }

    fn commit(&mut self, writes: u64) -> Result<(), Arc<rusqlite::Error>> {
        let started = Instant::now();
        connection::execute(&self.connection, "COMMIT").map_err(Arc::new)?;
        self.counters.committed(writes, started.elapsed());
        Ok(())
    }

    /// Where a transaction is still open.
    fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            // It fails only where SQLite has rolled back by itself.
            let _gone = connection::execute(&self.connection, "ROLLBACK");
        }
    }

    fn run<R>(&mut self, closure: impl FnOnce(&Connection) -> R) -> R {
        let outer = WRITING.replace(Arc::as_ptr(&self.counters).addr());
        self.inside.store(true, Relaxed);
        let result = closure(&self.connection);
        self.inside.store(false, Relaxed);
        WRITING.set(outer);
        result
    }

    fn state_after(&self, ok: bool) -> After {
        if self.connection.is_autocommit() {
            return After::Lost(Arc::new(connection::last_error(&self.connection)));
        }
        match ok {
            true if connection::has_deferred_violations(&self.connection) => After::ForeignKey,
            true => After::Kept,
            false => After::TakenBack,
        }
    }

    /// Carries the log over into the file, as far as readers allow, and closes.
    pub fn close(self) -> Result<(), Error> {
        connection::pragma(&self.connection, "PRAGMA wal_checkpoint(TRUNCATE)")?;
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

/// Where the writer's jobs come from.
pub trait Supply {
    /// Up to so many further ones for a commit that is to be of so many as yet, or none.
    fn more(&self, done: usize, room: usize) -> Jobs;

    /// A commit of so many has ended, and they are about to be answered.
    fn committed(&self, writes: usize);
}

/// No further ones.
impl Supply for () {
    fn more(&self, _: usize, _: usize) -> Jobs {
        Jobs::new()
    }

    fn committed(&self, _: usize) {}
}

/// What keeps a closure apart from those with which it shares a transaction.
#[derive(Clone, Copy)]
enum Guard {
    /// There are none so far.
    Alone,
    Savepoint,
    /// Nothing but SQLite's own of each statement; so many rows had been changed before.
    None {
        changes: u64,
    },
}

/// What a closure has left.
enum After {
    /// Changes to keep.
    Kept,
    /// Changes that it does not want itself.
    TakenBack,
    /// Changes that the commit would refuse.
    ForeignKey,
    /// No transaction: SQLite rolled back everything by itself.
    Lost(Arc<rusqlite::Error>),
}

/// Those done so far are not in the database after all.
fn refuse(done: &mut Done, error: &Error) {
    for (job, kept) in done {
        if std::mem::take(kept) {
            job.refuse(error.clone());
        }
    }
}

/// A closure shares its transaction, so it may neither begin nor end one; savepoints of its own are its business. Nor may it
/// take checkpoints, or the rules of the log, from this layer.
fn authorize(inside: bool, context: &AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Transaction { .. } if inside => Authorization::Deny,
        AuthAction::Pragma { pragma_name, pragma_value: Some(_) }
            if inside && ["wal_autocheckpoint", "journal_mode", "locking_mode"].contains(&pragma_name) =>
        {
            Authorization::Deny
        }
        _ => Authorization::Allow,
    }
}
