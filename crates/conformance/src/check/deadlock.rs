//! A deadlock of two transactions: one of them must fail with the right code, and must be retried if requested.

use litelab_protocol::codes::contention;
use litelab_protocol::{Begin, Statement, Transaction, TransactionResult};

use super::{Found, passed};
use crate::draft::{Draft, count, statement, transaction};
use crate::error::{Result, ensure, timely, tries};
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
fn once(subject: &Subject<'_>, code: &str, attempts: u32, tried: u32) -> Result<u64> {
    let schema = "CREATE TABLE pair(id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO pair VALUES (1, 0), (2, 0)";
    let database = subject.database(schema)?;
    let take = |id: u32| format!("UPDATE pair SET n = n + 1 WHERE id = {id}");
    let both = |name: &str, first: u32, second: u32| -> Transaction {
        let hold_us = 150_000 << tried;
        let statements = vec![Statement { hold_us, ..statement(&take(first), &[]) }, statement(&take(second), &[])];
        transaction(name, Begin::Immediate, vec![], statements)
    };
    let draft = Draft::new(subject).on(&*database).transaction(both("up", 1, 2)).transaction(both("down", 2, 1));
    let draft = draft.role("u", 1, &["up"], count(1)).role("d", 1, &["down"], count(1));
    let heard = subject.run(&draft.retries(attempts, &[code]).build())?;
    let operations = &heard.result.operations;
    let told: Vec<&String> = operations.iter().flat_map(|o| o.errors.keys()).collect();
    ensure!(told.iter().all(|name| *name == code), "a deadlock is {code}, and it saw {told:?}");
    let (seen, cured) = heard.errors(code);
    // On a busy machine one transaction may end before the other one begins.
    timely!(seen > 0, "two transactions took two rows in the two orders, and none was told of a deadlock");
    let sum = |of: fn(&TransactionResult) -> u64| operations.iter().map(of).sum::<u64>();
    let (failed, committed) = (sum(|o| o.failed), sum(|o| o.committed));
    let wanted = if attempts > 1 { (seen, 0, 2) } else { (0, 1, 1) };
    ensure!(
        (cured, failed, committed) == wanted,
        "of {seen} deadlocks with {attempts} attempts cured, failed and committed are {wanted:?}, and it counts {:?}",
        (cured, failed, committed)
    );
    let busy = heard.ticked(|count| count.busy);
    ensure!(busy == seen, "{code} was seen {seen} times, and its ticks tell of {busy} that are busy");
    let left = database.integers("SELECT n FROM pair ORDER BY id")?;
    ensure!(left == [committed as i64; 2], "{committed} transactions added one to both rows, which are {left:?}");
    Ok(seen)
}
