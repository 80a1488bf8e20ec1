//! Errors by their extended names, provoked one by one.

use std::path::Path;
use std::time::{Duration, Instant};

use litelab_protocol::{Begin, Fetch, Statement, Transaction, Trial, TrialResult};

use super::{Found, NO_DATABASE, ensure, passed, skipped, timely, tries};
use crate::draft::{Draft, count, query, statement, transaction};
use crate::file;
use crate::subject::Subject;

const SCHEMA: &str = "CREATE TABLE parent(id INTEGER PRIMARY KEY); \
    CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, n NOT NULL DEFAULT 0, c CHECK (c < 10), p REFERENCES parent(id)); \
    CREATE TABLE v(name TEXT PRIMARY KEY); INSERT INTO v VALUES ('a'); INSERT INTO t(id, u) VALUES (1, 'a')";

pub fn names(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    let violations = [
        ("INSERT INTO t(u) VALUES ('a')", "SQLITE_CONSTRAINT_UNIQUE"),
        ("INSERT INTO v VALUES ('a')", "SQLITE_CONSTRAINT_PRIMARYKEY"),
        ("INSERT INTO t(id) VALUES (1)", "SQLITE_CONSTRAINT_PRIMARYKEY"),
        ("INSERT INTO t(n) VALUES (NULL)", "SQLITE_CONSTRAINT_NOTNULL"),
        ("INSERT INTO t(c) VALUES (10)", "SQLITE_CONSTRAINT_CHECK"),
        ("INSERT INTO t(p) VALUES (7)", "SQLITE_CONSTRAINT_FOREIGNKEY"),
    ];
    let path = subject.database("errors.db", SCHEMA)?;
    let mut draft = Draft::new(subject).on(&path).pragma("foreign_keys", "ON");
    let steps: Vec<String> = (0..violations.len()).map(|i| format!("v{i}")).collect();
    for (name, (sql, _)) in steps.iter().zip(violations) {
        draft = draft.transaction(transaction(name, Begin::None, vec![], vec![statement(sql, &[])]));
    }
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let trial = draft.role("w", 1, &steps, count(violations.len() as u64)).build();
    let result = subject.run(&trial)?.result;
    for (i, (sql, code)) in violations.iter().enumerate() {
        let operation = result.operations.iter().find(|o| o.transaction == format!("v{i}"));
        let seen: Vec<_> = operation.into_iter().flat_map(|o| o.errors.keys()).collect();
        ensure!(seen == [code], "{sql}: {code} is due, and it saw {seen:?}");
    }
    // Once in a while the suite is just writing when the reader becomes a writer, which then meets its lock instead; or the
    // suite does not come to write in the reader's pause, or the reader to read before the suite has written its last.
    tries(|tried| {
        let (_, result) = snapshot(subject, &format!("snapshot-{tried}.db"), 1, &[])?;
        let seen: Vec<&str> = result.operations[0].errors.keys().map(String::as_str).collect();
        let what = "a read that became a write too late is SQLITE_BUSY_SNAPSHOT";
        timely!(!seen.is_empty() && seen != ["SQLITE_BUSY"], "{what}, and it saw {seen:?}");
        ensure!(seen == ["SQLITE_BUSY_SNAPSHOT"], "{what}, and it saw {seen:?}");
        Ok(())
    })?;
    passed(format!("{} constraints, SQLITE_BUSY_SNAPSHOT", violations.len()))
}

/// Reads, pauses, writes; in its pause the suite writes, so that the snapshot is stale.
pub fn upgrade() -> Transaction {
    let read = Statement { hold_us: 150_000, ..query("SELECT count(*) FROM t", &[], Fetch::All) };
    transaction("upgrade", Begin::Deferred, vec![], vec![read, statement("INSERT INTO t(c) VALUES (1)", &[])])
}

/// One such transaction with so many attempts, in a database of that name. Returns the trial and its result.
pub fn snapshot(subject: &Subject<'_>, name: &str, attempts: u32, on: &[&str]) -> Result<(Trial, TrialResult), String> {
    let path = subject.database(name, SCHEMA)?;
    let mut trial = Draft::new(subject).on(&path).transaction(upgrade()).role("w", 1, &["upgrade"], count(1)).build();
    trial.retry.attempts = attempts;
    trial.retry.on = on.iter().map(|c| (*c).to_owned()).collect();
    let mut started = subject.start(&trial)?;
    started.go();
    // The longer the surer; who tries again often enough is left in peace in the end.
    meddle(&path, Duration::from_millis(400))?;
    let heard = subject.finish(&trial, started)?;
    Ok((trial, heard.result))
}

/// Writes every 10 ms for so long, and never after: a try whose pause begins meanwhile reads what is stale by its end.
fn meddle(path: &Path, long: Duration) -> Result<(), String> {
    let begun = Instant::now();
    let connection = file::open(path)?;
    connection.busy_timeout(Duration::from_secs(1)).map_err(|e| e.to_string())?;
    // Who syncs holds the lock for long, and the reader would meet the lock instead of a stale snapshot.
    connection.pragma_update(None, "synchronous", "OFF").map_err(|e| e.to_string())?;
    while begun.elapsed() < long {
        std::thread::sleep(Duration::from_millis(10));
        connection.execute("INSERT INTO t(c) VALUES (2)", []).map_err(|e| e.to_string())?;
    }
    Ok(())
}
