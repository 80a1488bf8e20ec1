//! Retries: on which errors, how often, and with which values.

use std::time::Duration;

use litelab_protocol::codes::is_busy;

use super::{Found, NO_DATABASE, Wrong, ensure, errors, passed, skipped, timely, tries};
use crate::conversation::Heard;
use crate::dialect::{impatient, locked_out};
use crate::draft::{Draft, TABLE, count, insert, slow_insert};
use crate::place::CheckDatabase;
use crate::subject::Subject;

/// Pause between attempts while the suite holds the lock, in microseconds.
const BACKOFF_US: u64 = 2_000;

pub fn retry(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    // Three attempts and no more; an error that is not listed; no retry at all.
    let busy = locked_out(subject.dialect());
    let other = subject.by("SQLITE_LOCKED", "serialization_failure", "ER_LOCK_DEADLOCK");
    for (attempts, on, seen) in [(3, vec![busy], 3), (3, vec![other], 1), (1, vec![busy], 1)] {
        let (_, Heard { ticks, result, .. }) =
            locked(subject, &format!("limit-{attempts}-{}", on[0]), (attempts, &on), FOREVER)?;
        let operation = &result.operations[0];
        let errors = operation.errors.get(busy).cloned().unwrap_or_default();
        // Two transactions, neither of which can succeed.
        ensure!(
            (errors.seen, errors.cured) == (2 * seen, 0) && operation.failed == 2,
            "{attempts} tries on {on:?}: {} errors and 2 failures are due, and it counts {errors:?} and {}",
            2 * seen,
            operation.failed
        );
        let counts = || ticks.iter().flat_map(|(_, tick)| &tick.counts);
        let told: (u64, u64) = (counts().map(|c| c.errors).sum(), counts().map(|c| c.busy).sum());
        // In PostgreSQL, a lock timeout is not counted as a conflict of two transactions.
        let of_busy = if is_busy(subject.dialect(), busy) { 2 * seen } else { 0 };
        ensure!(
            told == (2 * seen, of_busy),
            "{} times {busy} are due, and its ticks tell of {} errors, {} of them busy",
            2 * seen,
            told.0,
            told.1
        );
    }
    let seen = tries(|tried| cured(subject, tried))?;
    tries(|tried| backoff(subject, tried))?;
    tries(|tried| stale(subject, tried))?;
    passed(format!("{seen} errors cured, limits kept"))
}

/// A lock that is released during the trial. Each retry holds it longer, because on a busy machine the runner may start
/// after the release. Returns the number of errors.
fn cured(subject: &Subject<'_>, tried: u32) -> Result<u64, Wrong> {
    let held = Duration::from_millis(120 << (2 * tried.min(3)));
    let busy = locked_out(subject.dialect());
    let (place, Heard { result, .. }) = locked(subject, &format!("cured-{tried}"), (100_000, &[busy]), held)?;
    let operation = &result.operations[0];
    let errors = operation.errors.get(busy).cloned().unwrap_or_default();
    ensure!(
        operation.failed == 0 && operation.committed == 2,
        "the lock was released, and it still counts {operation:?}"
    );
    timely!(errors.seen > 0, "its lock was held for {held:?}, and it counts no error");
    ensure!(errors.cured == errors.seen, "all its errors were cured by a retry, and it counts {errors:?}");
    let longest = operation.service.max().unwrap_or_default();
    // Half of the pauses: a timer may be early, and some round to whole milliseconds.
    let paused = errors.seen * BACKOFF_US * 1_000;
    ensure!(
        longest > paused / 2,
        "service is over all tries, with pauses of {paused} ns, and its longest is {longest} ns"
    );
    // A retry that drew new values would leave a gap.
    let ids = place.integers("SELECT id FROM t ORDER BY id")?;
    ensure!(ids == [0, 1], "rows 0 and 1 are due after its retries, and there are {ids:?}");
    Ok(errors.seen)
}

fn stale(subject: &Subject<'_>, tried: u32) -> Result<(), Wrong> {
    let Some(code) = errors::stale(subject.dialect()) else { return Ok(()) };
    let on = subject.by("SQLITE_BUSY", code, code);
    let Heard { ticks, result, .. } = errors::snapshot(subject, &format!("stale-{tried}.db"), 1_000, &[on])?;
    let operation = &result.operations[0];
    let stale = operation.errors.get(code).cloned().unwrap_or_default();
    let told: u64 = ticks.iter().flat_map(|(_, tick)| &tick.counts).map(|count| count.busy).sum();
    ensure!(told >= stale.seen, "{code} was seen {} times, and its ticks tell of {told} that are busy", stale.seen);
    let what = format!("`{on}` stands for {code}, too");
    ensure!(operation.committed == 1 && stale.cured == stale.seen, "{what}, and of that it counts {stale:?}");
    // The snapshot was not stale if the runner read after the suite's last write.
    timely!(stale.seen >= 1, "{what}, and of that it counts {stale:?}");
    Ok(())
}

/// Longer than any trial.
const FOREVER: Duration = Duration::from_secs(3_600);

/// Two inserts while the suite holds a lock, which is released after `held`, or after the trial.
fn locked(
    subject: &Subject<'_>,
    name: &str,
    retry: (u32, &[&str]),
    held: Duration,
) -> Result<(CheckDatabase, Heard), String> {
    let path = subject.database(&format!("retry-{name}.db"), TABLE)?;
    let (patience, none) = impatient(subject.dialect());
    let draft = Draft::new(subject).on(&path).setting(patience, none).transaction(slow_insert(0));
    let mut trial = draft.role("w", 1, &["insert"], count(2)).build();
    trial.retry.attempts = retry.0;
    trial.retry.on = retry.1.iter().map(|c| (*c).to_owned()).collect();
    (trial.retry.backoff_us, trial.retry.max_backoff_us) = (BACKOFF_US, BACKOFF_US);
    let mut started = subject.start(&trial)?;
    let lock = path.hold("t")?;
    started.go();
    let lock = if held < FOREVER {
        std::thread::sleep(held);
        drop(lock);
        None
    } else {
        Some(lock)
    };
    let heard = subject.finish(&trial, started);
    drop(lock);
    Ok((path, heard?))
}

/// Pauses of 10, 20, 30 and 30 ms between five attempts.
fn backoff(subject: &Subject<'_>, tried: u32) -> Result<(), Wrong> {
    let path = subject.database(&format!("backoff-{tried}.db"), TABLE)?;
    let (patience, none) = impatient(subject.dialect());
    let draft = Draft::new(subject).on(&path).setting(patience, none).transaction(insert());
    let mut trial = draft.role("w", 1, &["insert"], count(1)).build();
    trial.retry.attempts = 5;
    trial.retry.on = vec![locked_out(subject.dialect()).into()];
    (trial.retry.backoff_us, trial.retry.multiplier, trial.retry.max_backoff_us) = (10_000, 2.0, 30_000);
    let mut started = subject.start(&trial)?;
    let lock = path.hold("t")?;
    started.go();
    let heard = subject.finish(&trial, started);
    drop(lock);
    let took = heard?.result.elapsed_ns / 1_000_000;
    ensure!(took >= 88, "its pauses are 10 + 20 + 30 + 30 ms, and all took {took} ms");
    timely!(took < 600, "its pauses are 10 + 20 + 30 + 30 ms, and all took {took} ms");
    Ok(())
}
