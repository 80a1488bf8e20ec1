//! A deadlock of two transactions: one of them must fail with the right code, and must be retried if requested.

use litelab_protocol::codes::contention;
use litelab_protocol::{Begin, Statement, Transaction};

use super::{Found, Wrong, ensure, passed, timely, tries};
use crate::draft::{Draft, count, statement, transaction};
use crate::subject::Subject;

pub fn deadlock(subject: &Subject<'_>) -> Found {
    let code = subject.by("SQLITE_BUSY", "deadlock_detected", "ER_LOCK_DEADLOCK");
    debug_assert!(contention(subject.dialect()).contains(&code));
    tries(|tried| once(subject, code, 1, tried))?;
    let seen = tries(|tried| once(subject, code, 100, tried))?;
    passed(format!("{code}, {seen} times and cured"))
}

/// Two workers update two rows in opposite order, with `attempts` attempts each. Returns the number of deadlocks
/// reported.
fn once(subject: &Subject<'_>, code: &str, attempts: u32, tried: u32) -> Result<u64, Wrong> {
    let schema = "CREATE TABLE pair(id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO pair VALUES (1, 0), (2, 0)";
    let place = subject.database("deadlock", schema)?;
    let take = |id: u32| format!("UPDATE pair SET n = n + 1 WHERE id = {id}");
    let both = |name: &str, first: u32, second: u32| -> Transaction {
        let hold_us = 150_000 << tried;
        let statements = vec![Statement { hold_us, ..statement(&take(first), &[]) }, statement(&take(second), &[])];
        transaction(name, Begin::Immediate, vec![], statements)
    };
    let draft = Draft::new(subject).on(&place).transaction(both("up", 1, 2)).transaction(both("down", 2, 1));
    let mut trial = draft.role("u", 1, &["up"], count(1)).role("d", 1, &["down"], count(1)).build();
    trial.retry.attempts = attempts;
    trial.retry.on = vec![code.into()];
    let heard = subject.run(&trial)?;
    let operations = &heard.result.operations;
    let told: Vec<&String> = operations.iter().flat_map(|o| o.errors.keys()).collect();
    ensure!(told.iter().all(|name| *name == code), "a deadlock is {code}, and it saw {told:?}");
    let sum = |of: &dyn Fn(&litelab_protocol::Operation) -> u64| operations.iter().map(of).sum::<u64>();
    let seen = sum(&|o| o.errors.values().map(|e| e.seen).sum());
    // On a busy machine one transaction may end before the other one begins.
    timely!(seen > 0, "two transactions took two rows in the two orders, and none was told of a deadlock");
    let cured = sum(&|o| o.errors.values().map(|e| e.cured).sum());
    let (failed, committed) = (sum(&|o| o.failed), sum(&|o| o.committed));
    let wanted = if attempts > 1 { (seen, 0, 2) } else { (0, 1, 1) };
    ensure!(
        (cured, failed, committed) == wanted,
        "of {seen} deadlocks with {attempts} attempts cured, failed and committed are {wanted:?}, and it counts {:?}",
        (cured, failed, committed)
    );
    let busy: u64 = heard.ticks.iter().flat_map(|(_, tick)| &tick.counts).map(|c| c.busy).sum();
    ensure!(busy == seen, "{code} was seen {seen} times, and its ticks tell of {busy} that are busy");
    let left = place.integers("SELECT n FROM pair ORDER BY id")?;
    ensure!(left == [committed as i64; 2], "{committed} transactions added one to both rows, which are {left:?}");
    Ok(seen)
}
