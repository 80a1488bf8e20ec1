//! Retries: which errors, how often, with which values.

use std::time::Duration;

use litelab_protocol::{ErrorCount, Trial};

use super::{Found, NO_DATABASE, Wrong, ensure, errors, passed, skipped, timely, tries};
use crate::conversation::Heard;
use crate::draft::{Draft, TABLE, count, insert, slow_insert};
use crate::file;
use crate::subject::Subject;

const BUSY: &str = "SQLITE_BUSY";
/// Between the tries against the suite's lock.
const BACKOFF_US: u64 = 2_000;

pub fn retry(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    // Three tries, then no more; the error is not one to retry; a name that covers its extended ones.
    for (attempts, on, seen) in [(3, vec![BUSY], 3), (3, vec!["SQLITE_LOCKED"], 1), (1, vec![BUSY], 1)] {
        let (_, Heard { ticks, result, .. }) =
            locked(subject, &format!("limit-{attempts}-{}", on[0]), (attempts, &on), FOREVER)?;
        let operation = &result.operations[0];
        let errors = operation.errors.get(BUSY).copied().unwrap_or_default();
        // Two transactions, none of which can succeed.
        ensure!(
            errors == ErrorCount { seen: 2 * seen, cured: 0 } && operation.failed == 2,
            "{attempts} tries on {on:?}: {} errors and 2 failures are due, and it counts {errors:?} and {}",
            2 * seen,
            operation.failed
        );
        let counts = || ticks.iter().flat_map(|(_, tick)| &tick.counts);
        let (all, busy): (u64, u64) = (counts().map(|c| c.errors).sum(), counts().map(|c| c.busy).sum());
        ensure!(
            (all, busy) == (2 * seen, 2 * seen),
            "{} times SQLITE_BUSY are due, and its ticks tell of {all} errors, {busy} of them busy",
            2 * seen
        );
    }
    let seen = tries(|tried| cured(subject, tried))?;
    tries(|tried| backoff(subject, tried))?;
    tries(|tried| stale(subject, tried))?;
    passed(format!("{seen} errors cured, limits kept"))
}

/// A lock that is released, later with each try: on a busy machine the runner may come when it is already. Returns the
/// number of errors.
fn cured(subject: &Subject<'_>, tried: u32) -> Result<u64, Wrong> {
    let held = Duration::from_millis(120 << (2 * tried));
    let (trial, Heard { result, .. }) = locked(subject, &format!("cured-{tried}"), (100_000, &[BUSY]), held)?;
    let operation = &result.operations[0];
    let errors = operation.errors.get(BUSY).copied().unwrap_or_default();
    ensure!(
        operation.failed == 0 && operation.committed == 2,
        "the lock was released, and it still counts {operation:?}"
    );
    timely!(errors.seen > 0, "its lock was held for {held:?}, and it counts no error");
    ensure!(errors.cured == errors.seen, "all its errors were cured by a retry, and it counts {errors:?}");
    let longest = operation.service.max().unwrap_or_default();
    // Half of it, for a timer may be early and is for whole milliseconds here and there.
    let paused = errors.seen * BACKOFF_US * 1_000;
    ensure!(
        longest > paused / 2,
        "service is over all tries, with pauses of {paused} ns, and its longest is {longest} ns"
    );
    let litelab_protocol::Database::File { path } = &trial.databases[0] else { return Err("no file".into()) };
    // A retry that drew anew would leave a gap.
    let ids = file::integers(std::path::Path::new(path), "SELECT id FROM t ORDER BY id")?;
    ensure!(ids == [0, 1], "rows 0 and 1 are due after its retries, and there are {ids:?}");
    Ok(errors.seen)
}

fn stale(subject: &Subject<'_>, tried: u32) -> Result<(), Wrong> {
    let (_, result) = errors::snapshot(subject, &format!("stale-{tried}.db"), 1_000, &[BUSY])?;
    let operation = &result.operations[0];
    let stale = operation.errors.get("SQLITE_BUSY_SNAPSHOT").copied().unwrap_or_default();
    let what = "`SQLITE_BUSY` stands for SQLITE_BUSY_SNAPSHOT, too";
    ensure!(operation.committed == 1 && stale.cured == stale.seen, "{what}, and of that it counts {stale:?}");
    // What it read was not stale, as it came when the suite had written its last.
    timely!(stale.seen >= 1, "{what}, and of that it counts {stale:?}");
    Ok(())
}

/// Longer than any trial.
const FOREVER: Duration = Duration::from_secs(3_600);

/// Two inserts against the suite's lock, which is released after `held`, or after the trial.
fn locked(subject: &Subject<'_>, name: &str, retry: (u32, &[&str]), held: Duration) -> Result<(Trial, Heard), String> {
    let path = subject.database(&format!("retry-{name}.db"), TABLE)?;
    let draft = Draft::new(subject).on(&path).pragma("busy_timeout", "0").transaction(slow_insert(0));
    let mut trial = draft.role("w", 1, &["insert"], count(2)).build();
    trial.retry.attempts = retry.0;
    trial.retry.on = retry.1.iter().map(|c| (*c).to_owned()).collect();
    (trial.retry.backoff_us, trial.retry.max_backoff_us) = (BACKOFF_US, BACKOFF_US);
    let mut started = subject.start(&trial)?;
    let lock = file::open(&path)?;
    lock.execute_batch("BEGIN IMMEDIATE").map_err(|e| e.to_string())?;
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
    Ok((trial, heard?))
}

/// Pauses of 10, 20, 30, 30 ms between five tries.
fn backoff(subject: &Subject<'_>, tried: u32) -> Result<(), Wrong> {
    let path = subject.database(&format!("backoff-{tried}.db"), TABLE)?;
    let draft = Draft::new(subject).on(&path).pragma("busy_timeout", "0").transaction(insert());
    let mut trial = draft.role("w", 1, &["insert"], count(1)).build();
    trial.retry.attempts = 5;
    trial.retry.on = vec![BUSY.into()];
    (trial.retry.backoff_us, trial.retry.multiplier, trial.retry.max_backoff_us) = (10_000, 2.0, 30_000);
    let mut started = subject.start(&trial)?;
    let lock = file::open(&path)?;
    lock.execute_batch("BEGIN IMMEDIATE").map_err(|e| e.to_string())?;
    started.go();
    let heard = subject.finish(&trial, started);
    drop(lock);
    let took = heard?.result.elapsed_ns / 1_000_000;
    ensure!(took >= 88, "its pauses are 10 + 20 + 30 + 30 ms, and all took {took} ms");
    timely!(took < 600, "its pauses are 10 + 20 + 30 + 30 ms, and all took {took} ms");
    Ok(())
}
