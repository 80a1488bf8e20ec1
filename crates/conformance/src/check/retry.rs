//! Retries: on which errors, how often, and with which values.

use std::time::Duration;

use litelab_protocol::Trial;
use litelab_protocol::codes::is_busy;

use super::{Found, errors, passed};
use crate::conversation::Heard;
use crate::database::CheckDatabase;
use crate::dialect::{impatient, locked_out};
use crate::draft::{Draft, TABLE, count, insert, slow_insert};
use crate::error::{Result, ensure, timely, tries};
use crate::subject::Subject;

/// Pause between attempts while the suite holds the lock, in microseconds.
const BACKOFF_US: u64 = 2_000;

pub fn retry(subject: &Subject<'_>) -> Found {
    // Three attempts and no more; an error that is not listed; no retry at all.
    let busy = locked_out(subject.dialect());
    let other = subject.by("SQLITE_LOCKED", "serialization_failure", "ER_LOCK_DEADLOCK");
    for (attempts, on, seen) in [(3, busy, 3), (3, other, 1), (1, busy, 1)] {
        let (_, heard) = locked(subject, (attempts, on), None)?;
        // Two transactions, neither of which can succeed.
        let (due, failed) = (2 * seen, heard.first().failed);
        ensure!(
            heard.errors(busy) == (due, 0) && failed == 2,
            "{attempts} tries on {on:?}: {due} errors and 2 failures are due, and it counts {:?} (seen, cured) and {failed}",
            heard.errors(busy)
        );
        let told = (heard.ticked(|count| count.errors), heard.ticked(|count| count.busy));
        // In PostgreSQL, a lock timeout is not counted as a conflict of two transactions.
        let of_busy = if is_busy(subject.dialect(), busy) { due } else { 0 };
        ensure!(
            told == (due, of_busy),
            "{due} times {busy} are due, and its ticks tell of {} errors, {} of them busy",
            told.0,
            told.1
        );
    }
    let seen = tries(|tried| cured(subject, tried))?;
    tries(|_| backoff(subject))?;
    tries(|_| stale(subject))?;
    passed(format!("{seen} errors cured, limits kept"))
}

/// A lock that is released during the trial. Each try holds it longer, because on a busy machine the runner may start
/// after the release. Returns the number of errors.
fn cured(subject: &Subject<'_>, tried: u32) -> Result<u64> {
    let held = Duration::from_millis(120 << (2 * tried.min(3)));
    let busy = locked_out(subject.dialect());
    let (database, heard) = locked(subject, (100_000, busy), Some(held))?;
    let operation = heard.first();
    let (seen, cured) = heard.errors(busy);
    ensure!(
        operation.failed == 0 && operation.committed == 2,
        "the lock was released, and it still counts {operation:?}"
    );
    timely!(seen > 0, "its lock was held for {held:?}, and it counts no error");
    ensure!(cured == seen, "all its errors were cured by a retry, and it counts {seen}, {cured} of them cured");
    let longest = operation.service.max().unwrap_or_default();
    // Half of the pauses: a timer may be early, and some round to whole milliseconds.
    let paused = seen * BACKOFF_US * 1_000;
    ensure!(
        longest > paused / 2,
        "service is over all tries, with pauses of {paused} ns, and its longest is {longest} ns"
    );
    // A retry that drew new values would leave a gap.
    let ids = database.integers("SELECT id FROM t ORDER BY id")?;
    ensure!(ids == [0, 1], "rows 0 and 1 are due after its retries, and there are {ids:?}");
    Ok(seen)
}

fn stale(subject: &Subject<'_>) -> Result {
    let Some(code) = errors::stale(subject.dialect()) else { return Ok(()) };
    let on = subject.by("SQLITE_BUSY", code, code);
    let heard = errors::snapshot(subject, errors::snapshot_draft(subject).retries(1_000, &[on]), 150, 400)?;
    let (seen, cured) = heard.errors(code);
    let told = heard.ticked(|count| count.busy);
    ensure!(told >= seen, "{code} was seen {seen} times, and its ticks tell of {told} that are busy");
    let what = format!("`{on}` stands for {code}, too, and of that it counts {seen}, {cured} of them cured");
    ensure!(heard.first().committed == 1 && cured == seen, "{what}");
    // The snapshot was not stale if the runner read after the suite's last write.
    timely!(seen >= 1, "{what}");
    Ok(())
}

/// Runs two inserts while the suite holds a lock: for the time `held`, or until the trial has ended.
fn locked(
    subject: &Subject<'_>,
    (attempts, on): (u32, &str),
    held: Option<Duration>,
) -> Result<(Box<dyn CheckDatabase>, Heard)> {
    let database = subject.database(TABLE)?;
    let draft = impatient_draft(subject, &*database).transaction(slow_insert(0)).retries(attempts, &[on]);
    let mut trial: Trial = draft.only(1, count(2));
    (trial.retry.backoff_us, trial.retry.max_backoff_us) = (BACKOFF_US, BACKOFF_US);
    let heard = subject.run_locked(&trial, &*database, held)?;
    Ok((database, heard))
}

/// A trial whose connections do not wait for a lock.
fn impatient_draft(subject: &Subject<'_>, on: &dyn CheckDatabase) -> Draft {
    let (patience, none) = impatient(subject.dialect());
    Draft::new(subject).on(on).setting(patience, none)
}

/// Pauses of 10, 20, 30 and 30 ms between five attempts.
fn backoff(subject: &Subject<'_>) -> Result {
    let database = subject.database(TABLE)?;
    let draft = impatient_draft(subject, &*database).transaction(insert());
    let mut trial = draft.retries(5, &[locked_out(subject.dialect())]).only(1, count(1));
    (trial.retry.backoff_us, trial.retry.multiplier, trial.retry.max_backoff_us) = (10_000, 2.0, 30_000);
    let took = subject.run_locked(&trial, &*database, None)?.result.elapsed_ns / 1_000_000;
    ensure!(took >= 88, "its pauses are 10 + 20 + 30 + 30 ms, and all took {took} ms");
    timely!(took < 600, "its pauses are 10 + 20 + 30 + 30 ms, and all took {took} ms");
    Ok(())
}
