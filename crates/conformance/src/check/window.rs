//! The measurement window: transactions that end in it are counted, those that begin in it are run to their end, and
//! those that never end are reported.

use std::time::Duration;

use litelab_protocol::{Executor, Until};

use super::{Found, passed};
use crate::conversation::Heard;
use crate::draft::{Draft, TABLE, slow_insert};
use crate::error::{Result, ensure, timely, tries};
use crate::subject::Subject;

/// Duration of one transaction, in milliseconds.
const HOLD_MS: u64 = 90;
/// End of the role, in milliseconds: in the middle of a transaction, so that the number that begins in the window and
/// the number that ends there differ by one.
const END_MS: u64 = 405;

/// Transactions of 90 ms for 405 ms. All but the last one must end in the window; the last one begins there and is run
/// to its end. On an idle machine there are five.
pub fn window(subject: &Subject<'_>) -> Found {
    let all = tries(|_| seen(subject, 0))?;
    // The warm-up of 135 ms ends in the middle of the second transaction: the first two do not begin in the window, and
    // neither the first nor the last one ends there.
    let found = tries(|_| seen(subject, 135))?;
    passed(format!("{all}, and {found}"))
}

fn seen(subject: &Subject<'_>, warmup_ms: u64) -> Result<String> {
    let database = subject.database(TABLE)?;
    let draft = Draft::new(subject).on(&*database).transaction(slow_insert(HOLD_MS * 1_000));
    let mut trial = draft.only(1, Until::Time { ms: END_MS });
    trial.warmup_ms = warmup_ms;
    let result = subject.run(&trial)?.result;
    let (operation, worker) = (&result.operations[0], &result.workers[0]);
    let window = (END_MS - warmup_ms) * 1_000_000;
    let whole = worker.inside_ns + worker.outside_ns;
    // Timers of an event loop or runtime may have a resolution of one millisecond.
    ensure!(
        whole.abs_diff(window) <= 2_000_000,
        "its worker accounts for {whole} ns inside and outside of transactions, and the window has {window}"
    );
    ensure!(
        operation.ended <= (END_MS - warmup_ms) / HOLD_MS + 1,
        "{} transactions of {HOLD_MS} ms ended in a window of {} ms",
        operation.ended,
        END_MS - warmup_ms
    );
    ensure!(operation.unfinished.is_empty(), "nothing hangs, and {} are unfinished", operation.unfinished.len());
    let (all, ended, measured) = (operation.committed, operation.ended, operation.measured);
    timely!(all >= 3, "{all} transactions of {HOLD_MS} ms in {END_MS} ms");
    // A late runner has fewer transactions and begins the second one after the warm-up. In each case one transaction is
    // under way at either end.
    let kept = if warmup_ms == 0 { measured == all } else { (1..=2).contains(&(all - measured.min(all))) };
    let due = if warmup_ms == 0 { all - 1 } else { measured };
    timely!(
        kept && ended == due,
        "of {all} transactions, one right after the other, {measured} began after a warm-up of {warmup_ms} ms, and it says that \
         {ended} ended in the window"
    );
    Ok(format!("{ended} of {all} end in the window after a warm-up of {warmup_ms} ms"))
}

/// End of the role, drain, and how long the suite holds its lock where it must release it, in milliseconds.
const ROLE_MS: u64 = 150;
const DRAIN_MS: u64 = 250;
const HELD_MS: u64 = 900;
/// Allowance for a busy machine.
const SLACK: Duration = Duration::from_secs(3);

/// A worker that still waits for the suite's lock after the drain must be reported with the age of its transaction, and
/// must not delay the result.
pub fn drain(subject: &Subject<'_>) -> Found {
    let mut seen = Vec::new();
    for &executor in &subject.driver.executors {
        seen.push(match executor {
            Executor::Inline => tries(|_| followed(&Subject { executor, ..*subject }))?,
            _ => tries(|_| drained(&Subject { executor, ..*subject }))?,
        });
    }
    passed(seen.join("; "))
}

/// One worker that inserts rows until the end of the role, while the suite holds the lock.
fn held(subject: &Subject<'_>, held: Option<Duration>) -> Result<Heard> {
    let database = subject.database(TABLE)?;
    let draft = Draft::new(subject).on(&*database).transaction(slow_insert(0));
    let mut trial = draft.only(1, Until::Time { ms: ROLE_MS });
    trial.drain_ms = DRAIN_MS;
    subject.run_locked(&trial, &*database, held)
}

fn drained(subject: &Subject<'_>) -> Result<String> {
    let executor = subject.executor;
    let Heard { took, result, .. } = held(subject, None)?;
    let (operation, worker) = (&result.operations[0], &result.workers[0]);
    let ages: Vec<u64> = operation.unfinished.iter().map(|u| u.service_ns / 1_000_000).collect();
    let over = ROLE_MS + DRAIN_MS;
    timely!(
        took < Duration::from_millis(over) + SLACK,
        "{executor}: its drain was over after {over} ms, and it gave its result after {took:?}"
    );
    // On a busy machine the worker may begin after the end of the role, and then runs nothing.
    timely!(worker.inside_ns > 0, "{executor}: its worker began no transaction in {ROLE_MS} ms");
    ensure!(ages.len() == 1, "{executor}: one transaction hangs, and {} are unfinished", ages.len());
    ensure!(
        (operation.committed, operation.ended, operation.measured, operation.failed) == (0, 0, 0, 0),
        "{executor}: its only transaction is unfinished, and it counts {operation:?}"
    );
    ensure!(ages[0] <= took.as_millis() as u64, "{executor}: unfinished since {} ms, after {took:?}", ages[0]);
    // The transaction began with the trial, unless the machine was busy.
    timely!(ages[0] + 100 >= over, "{executor}: unfinished since {} ms, {over} ms after it began", ages[0]);
    let inside = worker.inside_ns / 1_000_000;
    timely!(
        (ROLE_MS - 100..=ROLE_MS + 2).contains(&inside),
        "{executor}: its worker was in a transaction for {inside} of {ROLE_MS} ms"
    );
    Ok(format!("{executor}: unfinished after {} ms", ages[0]))
}

/// While a call blocks the loop's own thread, the runner can report nothing: it runs the transaction to its end.
fn followed(subject: &Subject<'_>) -> Result<String> {
    let result = held(subject, Some(Duration::from_millis(HELD_MS)))?.result;
    let operation = &result.operations[0];
    let (unfinished, measured) = (operation.unfinished.len() as u64, operation.measured);
    ensure!(
        unfinished + measured == 1 && operation.ended == 0,
        "inline: its only transaction lasted longer than the drain, and it counts {operation:?}"
    );
    let longest = operation.unfinished.iter().map(|u| u.service_ns).chain(operation.service.max()).max();
    let longest = longest.unwrap_or_default() / 1_000_000;
    timely!(longest + 100 >= ROLE_MS + DRAIN_MS, "inline: its only transaction took {longest} ms");
    Ok(format!("inline: {} after {longest} ms", if measured == 1 { "followed to its end" } else { "unfinished" }))
}
