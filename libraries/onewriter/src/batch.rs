//! Runs queued jobs in as few commits as possible.
//!
//! A failing closure must lose its own changes and no others. A closure that runs once gets a savepoint, for which
//! SQLite copies each page before it is changed; the first one of a commit needs none, since it can be rolled back with
//! the transaction. Closures that may run again need none either: if one of them fails, they are all rolled back, and
//! run again with a savepoint each.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use rusqlite::ffi;

use crate::counters::nanos;
use crate::error::{Error, Shared};
use crate::job::{Job, Kind, Queued, Wakes};
use crate::sync::lock;
use crate::writer::{After, Writer};

/// Number of closures that run with a savepoint each after one without has failed: where many fail, running them twice
/// costs more than the savepoints.
const CAREFUL: u32 = 256;
/// Number of sleeping threads up to which the writer wakes all.
const FEW: usize = 2;

/// Jobs taken from the queue, the oldest first.
pub type Jobs = VecDeque<Queued>;

/// Source of further jobs for a commit.
pub trait Supply {
    /// Returns up to `room` further jobs for a commit of `done` jobs so far, or none to end it.
    fn more(&self, done: usize, room: usize) -> Jobs;

    /// Called after a commit of `writes` jobs, before they are answered.
    fn committed(&self, writes: usize);
}

/// Jobs that ran in the open transaction.
#[derive(Default)]
struct Batch {
    done: Vec<Done>,
    /// Index of the first of the last jobs that can all be run again.
    again: usize,
    /// Whether a savepoint is open before that job. Without one they begin with the transaction.
    has_base: bool,
}

struct Done {
    job: Queued,
    is_kept: bool,
}

impl Batch {
    fn has_changes(&self) -> bool {
        self.done.iter().any(|done| done.is_kept)
    }
}

/// A batch is dropped with jobs in it if code that is no closure panics (a `tracing` subscriber's): none of them is
/// committed.
impl Drop for Batch {
    fn drop(&mut self) {
        refuse(&mut self.done, &Shared::Closed);
    }
}

impl Writer {
    /// Runs these jobs, and further ones that `supply` returns while there is room, and answers all of them.
    pub fn together(&mut self, mut jobs: Jobs, supply: &impl Supply) {
        while let Some(next) = jobs.front() {
            if next.kind() == Kind::Exclusive {
                let job = jobs.pop_front().expect("the next one");
                self.exclusively(&job);
                continue;
            }
            jobs = self.one_commit(jobs, supply);
            self.checkpointing.after_commit(&self.connection, &self.counters);
        }
    }

    fn exclusively(&mut self, job: &Queued) {
        if !job.begin(Instant::now()) {
            return;
        }
        let callers: Vec<usize> = job.callers().to_vec();
        self.apart(&callers, |connection| match connection {
            Ok(connection) => _ = job.run(connection),
            Err(error) => job.refuse(error),
        });
    }

    /// Runs one commit. Returns the jobs for which no time was left.
    fn one_commit(&mut self, mut jobs: Jobs, supply: &impl Supply) -> Jobs {
        let span = tracing::debug_span!("commit", writes = tracing::field::Empty, inline = false).entered();
        let (most, time) = self.options.batch;
        let started = Instant::now();
        let mut now = started;
        let mut batch = Batch::default();
        loop {
            if jobs.is_empty() {
                jobs = supply.more(batch.done.len(), most - batch.done.len());
            }
            let Some(job) = jobs.pop_front() else { break };
            if job.kind() == Kind::Exclusive {
                jobs.push_front(job);
                break;
            }
            // Until the transaction has begun, the caller can give up.
            if let Err(error) = self.enter(&mut batch) {
                // The remaining jobs would wait as long and get the same error.
                let (left, same) = jobs.drain(..).partition(|job| job.kind() == Kind::Exclusive);
                jobs = left;
                for job in std::iter::once(job).chain::<Jobs>(same) {
                    if job.begin(started) {
                        self.counters.failed.fetch_add(1, Relaxed);
                        job.refuse(error.clone().into());
                    }
                }
                break;
            }
            if batch.done.is_empty() {
                // It may have waited for another process.
                now = Instant::now();
            }
            if !job.begin(now) {
                continue;
            }
            self.counters.waits.add(nanos(now.saturating_duration_since(job.since())));
            self.one(job, &mut batch);
            now = Instant::now();
            if batch.done.len() >= most || now.saturating_duration_since(started) >= time {
                break;
            }
        }
        span.record("writes", batch.done.len());
        self.end(started, batch, supply);
        jobs
    }

    /// Begins a transaction if none is open.
    fn enter(&mut self, batch: &mut Batch) -> Result<(), Shared> {
        if self.connection.is_autocommit() {
            // A savepoint of ours can roll back as well: it makes virtual tables write what they hold in memory, as FTS5
            // does, and the disk may be full.
            let cause = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ABORT_ROLLBACK), None);
            refuse(&mut batch.done, &Shared::RolledBack(Arc::new(cause)));
            self.begin(None)?;
            (batch.again, batch.has_base) = (batch.done.len(), false);
        }
        Ok(())
    }

    /// Runs one job after those of the batch.
    fn one(&mut self, job: Queued, batch: &mut Batch) {
        let is_first = !batch.has_changes();
        let is_repeatable = job.kind() == Kind::Repeatable;
        if is_first {
            let is_kept = self.first(&*job, batch);
            batch.done.push(Done { job, is_kept });
            batch.again = batch.done.len() - usize::from(is_repeatable && is_kept);
        } else if is_repeatable && self.careful == 0 {
            self.again_if_it_fails(job, batch);
        } else {
            self.careful = self.careful.saturating_sub(1);
            if std::mem::take(&mut batch.has_base)
                && let Err(error) = self.execute(&self.sql.release)
            {
                // It is still open, and what is before it cannot be told from what is after it.
                self.roll_back();
                let error = Shared::RolledBack(Arc::new(error));
                refuse(&mut batch.done, &error);
                job.refuse(error.into());
                batch.done.push(Done { job, is_kept: false });
                return;
            }
            let is_kept = self.guarded(&*job, batch);
            batch.done.push(Done { job, is_kept });
            batch.again = batch.done.len();
        }
    }

    /// Runs a job to which the whole transaction belongs. Returns whether its changes are kept.
    fn first(&mut self, job: &dyn Job, batch: &mut Batch) -> bool {
        match self.run_job(job) {
            (_, After::Kept) => return true,
            (_, After::TakenBack) => {}
            (_, After::ForeignKey) => job.refuse(Error::ForeignKey),
            (ok, After::Lost(cause)) => self.lost(job, ok, cause, batch),
        }
        self.roll_back();
        false
    }

    /// Runs a job in a savepoint. Returns whether its changes are kept.
    fn guarded(&mut self, job: &dyn Job, batch: &mut Batch) -> bool {
        if let Err(error) = self.execute(&self.sql.savepoint) {
            job.refuse(error.into());
            return false;
        }
        match self.run_job(job) {
            (_, After::Kept) => match self.execute(&self.sql.release) {
                Ok(()) => return true,
                Err(error) => job.refuse(error.into()),
            },
            (_, After::TakenBack) => {}
            (_, After::ForeignKey) => job.refuse(Error::ForeignKey),
            (ok, After::Lost(cause)) => {
                self.lost(job, ok, cause, batch);
                return false;
            }
        }
        self.back_to_savepoint(batch);
        false
    }

    /// Rolls back to the savepoint, and ends it.
    fn back_to_savepoint(&mut self, batch: &mut Batch) {
        let back = self.execute(&self.sql.rollback_to).and_then(|()| self.execute(&self.sql.release));
        if let Err(error) = back {
            // The transaction now contains changes that no caller requested.
            self.roll_back();
            refuse(&mut batch.done, &Shared::RolledBack(Arc::new(error)));
        }
    }

    /// Runs a job that may run again, without a savepoint of its own. If it fails, all that can be run again from the
    /// last point to which SQLite can go back are rolled back and run again.
    fn again_if_it_fails(&mut self, job: Queued, batch: &mut Batch) {
        if batch.again == batch.done.len() {
            // The one before cannot be run again, so this is the point to go back to.
            if let Err(error) = self.execute(&self.sql.savepoint) {
                job.refuse(error.into());
                batch.done.push(Done { job, is_kept: false });
                batch.again = batch.done.len();
                return;
            }
            batch.has_base = true;
        }
        match self.run_job(&*job) {
            (_, After::Kept) => batch.done.push(Done { job, is_kept: true }),
            (ok, After::Lost(cause)) => {
                self.lost(&*job, ok, cause, batch);
                batch.done.push(Done { job, is_kept: false });
            }
            (_, After::TakenBack | After::ForeignKey) => {
                batch.done.push(Done { job, is_kept: true });
                self.run_again(batch);
            }
        }
    }

    fn run_again(&mut self, batch: &mut Batch) {
        self.careful = CAREFUL;
        if std::mem::take(&mut batch.has_base) {
            self.back_to_savepoint(batch);
        } else {
            self.roll_back();
        }
        let again = batch.done.split_off(batch.again);
        for Done { job, is_kept } in again {
            // Those of the batch before are refused if going back has failed.
            if !is_kept {
                batch.done.push(Done { job, is_kept });
                continue;
            }
            self.counters.repeated.fetch_add(1, Relaxed);
            let is_kept = match self.enter(batch) {
                Err(error) => {
                    job.refuse(error.into());
                    false
                }
                Ok(()) if batch.has_changes() => self.guarded(&*job, batch),
                Ok(()) => self.first(&*job, batch),
            };
            batch.done.push(Done { job, is_kept });
        }
        batch.again = batch.done.len();
    }

    fn run_job(&mut self, job: &dyn Job) -> (bool, After) {
        // Most callers hold no database.
        let callers = job.callers().to_vec();
        let ok = self.run(&callers, |connection| job.run(connection));
        (ok, self.state_after(ok))
    }

    /// SQLite has rolled back the transaction while this job ran.
    fn lost(&mut self, job: &dyn Job, ok: bool, cause: Arc<rusqlite::Error>, batch: &mut Batch) {
        if ok {
            job.refuse(Error::RolledBack(cause.clone()));
        }
        refuse(&mut batch.done, &Shared::RolledBack(cause));
    }

    /// Commits the changes that are kept, and answers all jobs.
    fn end(&mut self, started: Instant, mut batch: Batch, supply: &impl Supply) {
        let kept = batch.done.iter().filter(|done| done.is_kept).count() as u64;
        if kept > 0
            && let Err(error) = self.commit(kept)
        {
            refuse(&mut batch.done, &Shared::Commit(error));
        }
        let done = std::mem::take(&mut batch.done);
        self.roll_back();
        self.counters.took(started.elapsed());
        supply.committed(done.len());
        self.answer(done);
    }

    fn answer(&self, done: Vec<Done>) {
        let failed = done.iter().filter(|done| !done.is_kept).count() as u64;
        self.counters.failed.fetch_add(failed, Relaxed);
        let blocked = done.iter().filter(|done| done.job.blocks()).count();
        let wakes = (blocked > FEW).then(Arc::<Wakes>::default);
        // Held until all are in it: a thread that is awake takes its answer, and two others, at once.
        let mut sleeping = wakes.as_ref().map(|wakes| lock(&wakes.0));
        for Done { job, .. } in &done {
            match (job.answer(wakes.as_ref().filter(|_| job.blocks())), &mut sleeping) {
                (Some(waker), Some(sleeping)) if job.blocks() => sleeping.push(waker),
                (Some(waker), _) => waker.wake(),
                (None, _) => {}
            }
        }
        if let Some(mut sleeping) = sleeping {
            // The one that has waited longest is woken first.
            sleeping.reverse();
        }
        if let Some(wakes) = &wakes {
            wakes.wake(FEW);
        }
    }
}

/// Replaces the results of the jobs whose changes were rolled back.
fn refuse(done: &mut [Done], error: &Shared) {
    for done in done {
        if std::mem::take(&mut done.is_kept) {
            done.job.refuse(error.clone().into());
        }
    }
}
