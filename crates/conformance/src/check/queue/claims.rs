//! Claims: which worker gets which task.

use std::path::Path;
use std::time::Duration;

use litelab_protocol::{Executor, Sharing, Trial};
use rusqlite::Connection;

use super::content::Content;
use super::{done, draft, empty, filled, payloads};
use crate::check::{Found, ensure, passed, settings};
use crate::draft::count;
use crate::file;
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
    let path = empty(subject, "answers.db")?;
    let trial = draft(subject, &path).role("r", 1, &["enqueue", "claim", "complete"], count(30)).build();
    let result = subject.run(&trial)?.result;
    for name in ["enqueue", "claim", "complete"] {
        let (committed, empty) = done(&result, name);
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
    let path = filled(subject, "claims.db", TASKS)?;
    let trial = draft(subject, &path).role("c", 1, &["claim", "echo", "complete"], count(3 * TASKS)).build();
    let result = subject.run(&trial)?.result;
    ensure!(
        done(&result, "claim") == (TASKS, 0),
        "{TASKS} tasks were enqueued, and claimed and claimed in vain were {:?}",
        done(&result, "claim")
    );
    each_once(&trial, &path, TASKS, kept)?;
    passed(format!("{TASKS} tasks; {} when they are completed", if kept == 0 { "rows go" } else { "rows stay" }))
}

/// Number of rows that contain a task's payload after it is completed, 0 or 1. Also checks the rows before, and claims
/// until no task is left.
fn kept(subject: &Subject<'_>) -> Result<usize, String> {
    let path = filled(subject, "kept.db", TASKS)?;
    let trial = draft(subject, &path).role("c", 1, &["claim", "complete"], count(2 * TASKS + IN_VAIN)).build();
    let payloads = payloads(&trial, 0..TASKS);
    let before = Content::read(&path)?;
    for (task, payload) in payloads.iter().enumerate() {
        let rows = before.rows_with(payload);
        ensure!(rows == 1, "task {task} was enqueued, and its payload `{payload}` is found in {rows} rows of the file");
    }
    let result = subject.run(&trial)?.result;
    let (claimed, completed) = (done(&result, "claim"), done(&result, "complete"));
    ensure!(
        (claimed, completed) == ((TASKS, IN_VAIN), (TASKS, 0)),
        "of {TASKS} tasks and {IN_VAIN} claims more, claimed and claimed in vain were {claimed:?}, completed {completed:?}"
    );
    let after = Content::read(&path)?;
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
    let ways = subject.ways();
    ensure!(!ways.is_empty(), "it has no sharing that goes with one of its executors");
    let mut names = Vec::new();
    for (executor, sharing) in ways {
        let name = format!("{sharing} on {executor}");
        at_once(subject, executor, sharing, kept).map_err(|e| format!("{name}: {e}"))?;
        names.push(name);
    }
    passed(format!("{}: {MANY} tasks each", names.join(", ")))
}

fn at_once(subject: &Subject<'_>, executor: Executor, sharing: Sharing, kept: usize) -> Result<(), String> {
    let path = filled(subject, &format!("{executor}-{}.db", sharing.kind()), MANY)?;
    let mut draft = draft(subject, &path);
    (draft.trial.executor, draft.trial.sharing) = (executor, sharing);
    let trial = draft.role("c", 2, &["claim", "echo", "complete"], count(3 * MANY)).build();
    let mut started = subject.start(&trial)?;
    let lock = file::open(&path)?;
    // Held from the start, so that the very first claims find the lock taken.
    lock.execute_batch("BEGIN IMMEDIATE").map_err(|e| e.to_string())?;
    let heard = std::thread::scope(|scope| {
        started.go();
        let meddling = scope.spawn(|| meddle(lock));
        let heard = subject.finish(&trial, started);
        let meddled = meddling.join().map_err(|_| "the suite's own lock failed".to_owned())?;
        heard.and_then(|heard| meddled.map(|()| heard))
    })?;
    settings::connections(&trial, &heard.connections)?;
    for name in ["claim", "echo", "complete"] {
        let (committed, empty) = done(&heard.result, name);
        let errors = heard.result.operations.iter().map(|o| &o.errors).collect::<Vec<_>>();
        ensure!(
            (committed, empty) == (MANY, 0),
            "of {MANY} times `{name}`, {committed} were committed and {empty} in vain; errors: {errors:?}"
        );
    }
    each_once(&trial, &path, MANY, kept)
}

/// Releases the write lock and takes it again, many times. A library that selects a task before it takes the lock must
/// wait in between; its other worker then does the same and selects the same task.
fn meddle(lock: Connection) -> Result<(), String> {
    let meddle = || -> rusqlite::Result<()> {
        // SQLite's busy handler does not queue: other connections may take the lock first for a long time.
        lock.busy_timeout(Duration::from_secs(30))?;
        for _ in 0..TIMES {
            std::thread::sleep(HELD);
            lock.execute_batch("ROLLBACK")?;
            std::thread::sleep(FREE);
            lock.execute_batch("BEGIN IMMEDIATE")?;
        }
        lock.execute_batch("ROLLBACK")
    };
    meddle().map_err(|e| e.to_string())
}

/// Every task must have been claimed exactly once: its payload was enqueued exactly once more.
fn each_once(trial: &Trial, path: &Path, tasks: u64, kept: usize) -> Result<(), String> {
    let content = Content::read(path)?;
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
