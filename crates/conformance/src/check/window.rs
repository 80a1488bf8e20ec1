//! The window: what ends in it is counted, what began in it is followed to its end, and what never ends is reported.

use std::time::{Duration, Instant};

use litelab_protocol::{Executor, Trial, Until};

use super::{Found, NO_DATABASE, Wrong, ensure, passed, skipped, timely, tries};
use crate::draft::{Draft, TABLE, slow_insert};
use crate::place::Place;
use crate::subject::Subject;

/// One transaction, in milliseconds.
const HOLD_MS: u64 = 90;
/// End of the role: in the middle of a transaction, so that what begins in the window and what ends there differ by one.
const END_MS: u64 = 405;

/// Transactions of 90 ms for 405 ms: all but the last one end within it, which began within it and is followed to its end. On a
/// machine that is not busy there are five.
pub fn window(subject: &Subject<'_>) -> Found {
    let all = tries(|tried| seen(subject, 0, tried))?;
    // After a warm-up of 135 ms, in the middle of the second one: neither the first two begin in the window, nor does the first
    // one end there, nor the last one.
    let found = tries(|tried| seen(subject, 135, tried))?;
    passed(format!("{all}, and {found}"))
}

fn seen(subject: &Subject<'_>, warmup_ms: u64, tried: u32) -> Result<String, Wrong> {
    let path = subject.database(&format!("window-{warmup_ms}-{tried}.db"), TABLE)?;
    let mut trial = Draft::new(subject)
        .on(&path)
        .transaction(slow_insert(HOLD_MS * 1_000))
        .role("w", 1, &["insert"], Until::Time { ms: END_MS })
        .build();
    trial.warmup_ms = warmup_ms;
    let result = subject.run(&trial)?.result;
    let (operation, worker) = (&result.operations[0], &result.workers[0]);
    let window = (END_MS - warmup_ms) * 1_000_000;
    let whole = worker.inside_ns + worker.outside_ns;
    // Timers of a loop or runtime are of whole milliseconds.
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
    // Who is late has fewer of them, and begins the second one after the warm-up; each time one is under way at either end.
    let kept = if warmup_ms == 0 { measured == all } else { (1..=2).contains(&(all - measured.min(all))) };
    let due = if warmup_ms == 0 { all - 1 } else { measured };
    timely!(
        kept && ended == due,
        "of {all} transactions, one right after the other, {measured} began after a warm-up of {warmup_ms} ms, and it says that \
         {ended} ended in the window"
    );
    Ok(format!("{ended} of {all} end in the window after a warm-up of {warmup_ms} ms"))
}

/// The end of the role, the drain, and how long the suite holds its lock where it has to let go of it, in milliseconds.
const ROLE_MS: u64 = 150;
const DRAIN_MS: u64 = 250;
const HELD_MS: u64 = 900;
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(3);

/// A worker that waits for the suite's lock beyond the drain is reported, with its age, and not waited for.
pub fn drain(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    let mut seen = Vec::new();
    for &executor in &subject.driver.executors {
        seen.push(match executor {
            Executor::Inline => tries(|tried| followed(subject, tried))?,
            _ => tries(|tried| drained(subject, executor, tried))?,
        });
    }
    passed(seen.join("; "))
}

/// One worker that inserts rows for the time of the role.
fn one_insert(subject: &Subject<'_>, place: &Place, executor: Executor) -> Trial {
    let mut trial = Draft::new(subject)
        .on(place)
        .transaction(slow_insert(0))
        .role("w", 1, &["insert"], Until::Time { ms: ROLE_MS })
        .build();
    (trial.executor, trial.drain_ms) = (executor, DRAIN_MS);
    trial
}

fn drained(subject: &Subject<'_>, executor: Executor, tried: u32) -> Result<String, Wrong> {
    let path = subject.database(&format!("drain-{executor}-{tried}.db"), TABLE)?;
    let trial = one_insert(subject, &path, executor);
    let mut started = subject.start(&trial)?;
    let lock = path.hold("t")?;
    let begun = Instant::now();
    started.go();
    let heard = subject.finish(&trial, started);
    let took = begun.elapsed();
    drop(lock);
    let result = heard?.result;
    let (operation, worker) = (&result.operations[0], &result.workers[0]);
    let ages: Vec<u64> = operation.unfinished.iter().map(|u| u.service_ns / 1_000_000).collect();
    let over = ROLE_MS + DRAIN_MS;
    timely!(
        took < Duration::from_millis(over) + SLACK,
        "{executor}: its drain was over after {over} ms, and it gave its result after {took:?}"
    );
    ensure!(ages.len() == 1, "{executor}: one transaction hangs, and {} are unfinished", ages.len());
    ensure!(
        (operation.committed, operation.ended, operation.measured, operation.failed) == (0, 0, 0, 0),
        "{executor}: its only transaction is unfinished, and it counts {operation:?}"
    );
    ensure!(ages[0] <= took.as_millis() as u64, "{executor}: unfinished since {} ms, after {took:?}", ages[0]);
    // It began with the trial, unless the machine was busy.
    timely!(ages[0] + 100 >= over, "{executor}: unfinished since {} ms, {over} ms after it began", ages[0]);
    let inside = worker.inside_ns / 1_000_000;
    timely!(
        (ROLE_MS - 100..=ROLE_MS + 2).contains(&inside),
        "{executor}: its worker was in a transaction for {inside} of {ROLE_MS} ms"
    );
    Ok(format!("{executor}: unfinished after {} ms", ages[0]))
}

/// On the loop's own thread nothing can be reported while a call holds it: the transaction is followed to its end.
fn followed(subject: &Subject<'_>, tried: u32) -> Result<String, Wrong> {
    let path = subject.database(&format!("drain-inline-{tried}.db"), TABLE)?;
    let trial = one_insert(subject, &path, Executor::Inline);
    let mut started = subject.start(&trial)?;
    let lock = path.hold("t")?;
    started.go();
    std::thread::sleep(Duration::from_millis(HELD_MS));
    drop(lock);
    let result = subject.finish(&trial, started)?.result;
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
