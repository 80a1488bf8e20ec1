//! Settings of servers, tested by their effects.

use std::time::Duration;

use litelab_protocol::{Begin, Dialect, Fetch};

use super::effects::{SLACK, one, seen};
use super::{Found, ensure, errors, passed};
use crate::dialect::locked_out;
use crate::draft::{TABLE, insert, query, statement, transaction};
use crate::subject::Subject;

pub fn effects(subject: &Subject<'_>) -> Found {
    // An unlimited wait for a lock ends only at the timeout of the connection, so this check comes last.
    if subject.dialect() == Dialect::Postgres {
        read_only(subject).map_err(|e| format!("default_transaction_read_only: {e}"))?;
        isolation(subject).map_err(|e| format!("default_transaction_isolation: {e}"))?;
        lock_timeout(subject).map_err(|e| format!("lock_timeout: {e}"))?;
        return passed("default_transaction_read_only, default_transaction_isolation, lock_timeout");
    }
    foreign_keys(subject).map_err(|e| format!("foreign_key_checks: {e}"))?;
    select_limit(subject).map_err(|e| format!("sql_select_limit: {e}"))?;
    lock_timeout(subject).map_err(|e| format!("innodb_lock_wait_timeout: {e}"))?;
    passed("foreign_key_checks, sql_select_limit, innodb_lock_wait_timeout")
}

/// The suite holds a lock and measures how long an insert waits.
fn lock_timeout(subject: &Subject<'_>) -> Result<(), String> {
    let (name, values) = subject.by(
        ("busy_timeout", [("0", 0), ("250", 250)]),
        ("lock_timeout", [("1", 1), ("250", 250)]),
        // The unit of this setting is a second.
        ("innodb_lock_wait_timeout", [("0", 0), ("1", 1_000)]),
    );
    for (value, wanted) in values {
        let place = subject.database("lock-timeout", TABLE)?;
        let trial = one(subject, &place, insert(), &[(name, value)]);
        let mut started = subject.start(&trial)?;
        let lock = place.hold("t")?;
        started.go();
        let heard = subject.finish(&trial, started);
        drop(lock);
        let (heard, code) = (heard?, locked_out(subject.dialect()));
        ensure!(seen(&heard, code) == 1, "with the lock held for good, the insert was not refused once as {code}");
        let (wanted, took) = (Duration::from_millis(wanted), Duration::from_nanos(heard.result.elapsed_ns));
        // The servers' timers have a resolution of one millisecond, and InnoDB checks only now and then.
        let least = wanted.mul_f64(0.5);
        ensure!(took >= least && took <= wanted + SLACK, "{wanted:?} was asked for, and it gave up after {took:?}");
    }
    Ok(())
}

/// Negative control of [`errors::snapshot`]: under the default isolation level no snapshot is too old to write.
fn isolation(subject: &Subject<'_>) -> Result<(), String> {
    let place = subject.database("isolation", "CREATE TABLE counter(n INTEGER); INSERT INTO counter VALUES (0)")?;
    for (level, refused) in [("'read committed'", 0), ("'repeatable read'", 1)] {
        let read =
            litelab_protocol::Statement { hold_us: 300_000, ..query("SELECT count(*) FROM counter", &[], Fetch::All) };
        let write = statement("UPDATE counter SET n = n + 1", &[]);
        let upgrade = transaction("upgrade", Begin::Deferred, vec![], vec![read, write]);
        let heard = super::tries(|_| {
            let trial = one(subject, &place, upgrade.clone(), &[("default_transaction_isolation", level)]);
            let mut started = subject.start(&trial)?;
            started.go();
            place.meddle("UPDATE counter SET n = n + 1", Duration::from_millis(150))?;
            let heard = subject.finish(&trial, started)?;
            let code = errors::stale(subject.dialect()).unwrap_or_default();
            // On a busy machine the suite may have finished its writes before the transaction read.
            super::timely!(
                seen(&heard, code) == refused,
                "under {level} a write by an old view is refused {refused} times, and it counts {}",
                seen(&heard, code)
            );
            Ok(heard)
        })?;
        ensure!(
            heard.result.operations[0].committed == 1 - refused,
            "{level}: {:?}",
            heard.result.operations[0].errors
        );
    }
    Ok(())
}

fn read_only(subject: &Subject<'_>) -> Result<(), String> {
    let place = subject.database("read-only", TABLE)?;
    let heard = subject.run(&one(subject, &place, insert(), &[("default_transaction_read_only", "on")]))?;
    let refused = seen(&heard, "read_only_sql_transaction");
    ensure!(refused == 1, "on was asked for, and an insert was not refused as read_only_sql_transaction");
    ensure!(place.integer("SELECT count(*) FROM t")? == 0, "on was asked for, and an insert left a row");
    Ok(())
}

fn foreign_keys(subject: &Subject<'_>) -> Result<(), String> {
    for (value, refused) in [("1", 1), ("0", 0)] {
        let schema = "CREATE TABLE p(id INTEGER PRIMARY KEY); \
                      CREATE TABLE c(p INTEGER, FOREIGN KEY (p) REFERENCES p(id))";
        let place = subject.database("foreign", schema)?;
        let orphan = transaction("orphan", Begin::None, vec![], vec![statement("INSERT INTO c VALUES (7)", &[])]);
        let heard = subject.run(&one(subject, &place, orphan, &[("foreign_key_checks", value)]))?;
        let seen = seen(&heard, "ER_NO_REFERENCED_ROW_2");
        ensure!(seen == refused, "{value} was asked for, and a row without its parent was refused {seen} times");
    }
    Ok(())
}

fn select_limit(subject: &Subject<'_>) -> Result<(), String> {
    let place = subject.database("limit", "CREATE TABLE n(i INTEGER); INSERT INTO n VALUES (1), (2), (3), (4), (5)")?;
    let read = transaction("read", Begin::None, vec![], vec![query("SELECT i FROM n", &[], Fetch::All)]);
    let rows = subject.run(&one(subject, &place, read, &[("sql_select_limit", "3")]))?.result.operations[0].rows;
    ensure!(rows == 3, "3 was asked for, and a query of 5 rows has {rows}");
    Ok(())
}
