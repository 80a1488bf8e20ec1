//! Claims: which worker gets which task.

use std::time::Duration;

use litelab_protocol::Trial;
use rusqlite::Connection;

use super::{draft, empty, filled, payloads};
use crate::check::library::content::Content;
use crate::check::{Found, passed, settings};
use crate::database::File;
use crate::draft::count;
use crate::error::{Result, ensure};
use crate::subject::Subject;

const TASKS: u64 = 40;
/// Tasks of two workers that claim as fast as they can. Each worker runs the same number of whole rounds.
const MANY: u64 = 120;
/// How often, and for how long, the suite takes the lock meanwhile.
const TIMES: u32 = 25;
const HELD: Duration = Duration::from_millis(10);
const FREE: Duration = Duration::from_millis(4);
/// Claims after the last task.
const IN_VAIN: u64 = 4;

/// One worker runs enqueue, claim and complete, ten times.
pub fn answers(subject: &Subject<'_>) -> Found {
    let file = empty(subject)?;
    let trial = draft(subject, &file).role("r", 1, &["enqueue", "claim", "complete"], count(30)).build();
    let heard = subject.run(&trial)?;
    for name in ["enqueue", "claim", "complete"] {
        let (committed, empty) = heard.done(name);
        ensure!(
            (committed, empty) == (10, 0),
            "10 times `{name}` are due, and it counts {committed} and {empty} in vain"
        );
    }
    passed("10 tasks")
}

/// Tasks are enqueued in one process and claimed in another. Each must be claimed once, with its payload, and no task
/// may be left.
pub fn claims(subject: &Subject<'_>) -> Found {
    let kept = kept(subject)?;
    let file = filled(subject, TASKS)?;
    let trial = draft(subject, &file).role("c", 1, &["claim", "echo", "complete"], count(3 * TASKS)).build();
    let claimed = subject.run(&trial)?.done("claim");
    ensure!(claimed == (TASKS, 0), "{TASKS} tasks were enqueued, and claimed and claimed in vain were {claimed:?}");
    each_once(&trial, &file, TASKS, kept)?;
    passed(format!("{TASKS} tasks; {} when they are completed", if kept == 0 { "rows go" } else { "rows stay" }))
}

/// Number of rows that contain a task's payload after it is completed, 0 or 1. Also checks the rows before, and claims
/// until no task is left.
fn kept(subject: &Subject<'_>) -> Result<usize> {
    let file = filled(subject, TASKS)?;
    let trial = draft(subject, &file).role("c", 1, &["claim", "complete"], count(2 * TASKS + IN_VAIN)).build();
    let payloads = payloads(&trial, 0..TASKS);
    let before = Content::read(&file)?;
    for (task, payload) in payloads.iter().enumerate() {
        let rows = before.rows_with(payload);
        ensure!(rows == 1, "task {task} was enqueued, and its payload `{payload}` is found in {rows} rows of the file");
    }
    let heard = subject.run(&trial)?;
    let (claimed, completed) = (heard.done("claim"), heard.done("complete"));
    ensure!(
        (claimed, completed) == ((TASKS, IN_VAIN), (TASKS, 0)),
        "of {TASKS} tasks and {IN_VAIN} claims more, claimed and claimed in vain were {claimed:?}, completed {completed:?}"
    );
    let after = Content::read(&file)?;
    let kept = after.rows_with(&payloads[0]);
    for (task, payload) in payloads.iter().enumerate() {
        let rows = after.rows_with(payload);
        ensure!(
            rows == kept && rows < 2,
            "all tasks are completed; the payload of the first is in {kept} rows, that of task {task} in {rows}"
        );
    }
    Ok(kept)
}

/// Two workers at once, under every sharing and executor that the driver has.
pub fn workers(subject: &Subject<'_>) -> Found {
    let kept = kept(subject)?;
    let ways = subject.in_all_ways(|way| at_once(way, kept))?;
    passed(format!("{ways}: {MANY} tasks each"))
}

fn at_once(subject: &Subject<'_>, kept: usize) -> Result {
    let file = filled(subject, MANY)?;
    let trial = draft(subject, &file).role("c", 2, &["claim", "echo", "complete"], count(3 * MANY)).build();
    let mut started = subject.start(&trial)?;
    let lock = file.open()?;
    // Held from the start, so that the very first claims find the lock taken.
    lock.execute_batch("BEGIN IMMEDIATE")?;
    let heard = std::thread::scope(|scope| {
        started.go();
        let meddling = scope.spawn(|| meddle(lock));
        let heard = subject.finish(&trial, started);
        let meddled = meddling.join().map_err(|_| "the suite's own lock failed")?;
        heard.and_then(|heard| Ok(meddled.map(|()| heard)?))
    })?;
    settings::connections(&trial, &heard.connections)?;
    for name in ["claim", "echo", "complete"] {
        let (committed, empty) = heard.done(name);
        let errors = heard.result.operations.iter().map(|o| &o.errors).collect::<Vec<_>>();
        ensure!(
            (committed, empty) == (MANY, 0),
            "of {MANY} times `{name}`, {committed} were committed and {empty} in vain; errors: {errors:?}"
        );
    }
    each_once(&trial, &file, MANY, kept)
}

/// Releases the write lock and takes it again, many times. A library that selects a task before it takes the lock must
/// wait in between; its other worker then does the same and selects the same task.
fn meddle(lock: Connection) -> rusqlite::Result<()> {
    // SQLite's busy handler does not queue: other connections may take the lock first for a long time.
    lock.busy_timeout(Duration::from_secs(30))?;
    for _ in 0..TIMES {
        std::thread::sleep(HELD);
        lock.execute_batch("ROLLBACK")?;
        std::thread::sleep(FREE);
        lock.execute_batch("BEGIN IMMEDIATE")?;
    }
    lock.execute_batch("ROLLBACK")
}

/// Every task must have been claimed exactly once: its payload was enqueued exactly once more.
fn each_once(trial: &Trial, file: &File, tasks: u64, kept: usize) -> Result {
    let content = Content::read(file)?;
    for (task, payload) in payloads(trial, 0..tasks).iter().enumerate() {
        let rows = content.rows_with(payload);
        let claimed = rows.saturating_sub(kept);
        ensure!(
            rows == kept + 1,
            "each task was to be claimed once and its payload enqueued again: that of task {task} was {claimed} times"
        );
    }
    Ok(())
}
