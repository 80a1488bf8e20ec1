//! Extended error names, each provoked by one statement.

use std::time::Duration;

use litelab_protocol::{Begin, Dialect, Fetch, Statement, Transaction};

use super::{Found, NO_DATABASE, ensure, passed, skipped, timely, tries};
use crate::conversation::Heard;
use crate::dialect::{by, not_unique};
use crate::draft::{Draft, count, query, statement, transaction};
use crate::subject::Subject;

/// Tables with constraints and one row to collide with; on servers also a trigger that raises an error without a name.
fn schema(dialect: Dialect) -> String {
    let tables = "CREATE TABLE parent(id INTEGER PRIMARY KEY); \
        CREATE TABLE t(id INTEGER PRIMARY KEY, u VARCHAR(9) UNIQUE, n INTEGER DEFAULT 0 NOT NULL, \
        c INTEGER CHECK (c < 10), p INTEGER, FOREIGN KEY (p) REFERENCES parent(id)); \
        CREATE TABLE v(name VARCHAR(9) PRIMARY KEY); INSERT INTO v VALUES ('a'); INSERT INTO t(id, u) VALUES (1, 'a')";
    let refuses = by(
        dialect,
        "",
        "; CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'XY123'; END$$; \
         CREATE TRIGGER refuse BEFORE INSERT ON parent FOR EACH ROW EXECUTE FUNCTION refuse()",
        "; CREATE TRIGGER refuse BEFORE INSERT ON parent FOR EACH ROW \
         SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 31234",
    );
    format!("{tables}{refuses}")
}

/// Statements that must fail, each with the name of its error. Both names are given where MariaDB and MySQL differ.
fn violations(dialect: Dialect) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("INSERT INTO t(id, u) VALUES (2, 'a')", not_unique(dialect)),
        ("INSERT INTO v VALUES ('a')", by(dialect, "SQLITE_CONSTRAINT_PRIMARYKEY", "unique_violation", "ER_DUP_ENTRY")),
        (
            "INSERT INTO t(id) VALUES (1)",
            by(dialect, "SQLITE_CONSTRAINT_PRIMARYKEY", "unique_violation", "ER_DUP_ENTRY"),
        ),
        (
            "INSERT INTO t(id, n) VALUES (3, NULL)",
            by(dialect, "SQLITE_CONSTRAINT_NOTNULL", "not_null_violation", "ER_BAD_NULL_ERROR"),
        ),
        (
            "INSERT INTO t(id, c) VALUES (4, 10)",
            by(
                dialect,
                "SQLITE_CONSTRAINT_CHECK",
                "check_violation",
                "ER_CONSTRAINT_FAILED or ER_CHECK_CONSTRAINT_VIOLATED",
            ),
        ),
        (
            "INSERT INTO t(id, p) VALUES (5, 7)",
            by(dialect, "SQLITE_CONSTRAINT_FOREIGNKEY", "foreign_key_violation", "ER_NO_REFERENCED_ROW_2"),
        ),
    ];
    if dialect != Dialect::Sqlite {
        all.push((
            "INSERT INTO t(id, u) VALUES (6, 'longer than nine')",
            by(dialect, "", "string_data_right_truncation", "ER_DATA_TOO_LONG"),
        ));
        all.push(("INSERT INTO parent VALUES (1)", by(dialect, "", "sqlstate_XY123", "ER_31234")));
    }
    all
}

/// Error name when a transaction writes after its snapshot has become stale; `None` where that is no error by default.
pub fn stale(dialect: Dialect) -> Option<&'static str> {
    by(dialect, Some("SQLITE_BUSY_SNAPSHOT"), Some("serialization_failure"), None)
}

pub fn names(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    let dialect = subject.dialect();
    let violations = violations(dialect);
    let path = subject.database("errors.db", &schema(dialect))?;
    let mut draft = Draft::new(subject).on(&path);
    if dialect == Dialect::Sqlite {
        draft = draft.setting("foreign_keys", "ON");
    }
    let steps: Vec<String> = (0..violations.len()).map(|i| format!("v{i}")).collect();
    for (name, (sql, _)) in steps.iter().zip(&violations) {
        draft = draft.transaction(transaction(name, Begin::None, vec![], vec![statement(sql, &[])]));
    }
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let trial = draft.role("w", 1, &steps, count(violations.len() as u64)).build();
    let result = subject.run(&trial)?.result;
    for (i, (sql, code)) in violations.iter().enumerate() {
        let operation = result.operations.iter().find(|o| o.transaction == format!("v{i}"));
        let seen: Vec<_> = operation.into_iter().flat_map(|o| o.errors.keys()).collect();
        let right = seen.len() == 1 && code.split(" or ").any(|code| *seen[0] == code);
        ensure!(right, "{sql}: {code} is due, and it saw {seen:?}");
        let message = operation.and_then(|o| o.errors.values().next()?.message.as_deref());
        ensure!(
            message.is_some_and(|message| !message.is_empty() && !message.contains('\n')),
            "{sql}: the database's own message of the error is due on one line, and it has {message:?}"
        );
    }
    let Some(stale) = stale(dialect) else {
        return passed(format!("{} errors", violations.len()));
    };
    // Three races are possible: the suite holds the write lock when the reader upgrades, which then fails with
    // SQLITE_BUSY; the suite does not write during the reader's pause; or the reader reads after the suite's last
    // write.
    tries(|tried| {
        let Heard { result, .. } = snapshot(subject, &format!("snapshot-{tried}.db"), 1, &[])?;
        let seen: Vec<&str> = result.operations[0].errors.keys().map(String::as_str).collect();
        let what = format!("a read that became a write too late is {stale}");
        timely!(!seen.is_empty() && seen != ["SQLITE_BUSY"], "{what}, and it saw {seen:?}");
        ensure!(seen == [stale], "{what}, and it saw {seen:?}");
        Ok(())
    })?;
    passed(format!("{} errors, {stale}", violations.len()))
}

/// Reads, pauses, and writes. The suite writes during the pause, so that the snapshot is stale.
fn upgrade() -> Transaction {
    let read = Statement { hold_us: 150_000, ..query("SELECT count(*) FROM counter", &[], Fetch::All) };
    transaction("upgrade", Begin::Deferred, vec![], vec![read, statement("UPDATE counter SET n = n + 1", &[])])
}

/// Runs one such transaction with `attempts` attempts, in a database of this name.
pub fn snapshot(subject: &Subject<'_>, name: &str, attempts: u32, on: &[&str]) -> Result<Heard, String> {
    let place = subject.database(name, "CREATE TABLE counter(n INTEGER); INSERT INTO counter VALUES (0)")?;
    let mut draft = Draft::new(subject).on(&place).transaction(upgrade());
    if subject.dialect() == Dialect::Postgres {
        draft = draft.setting("default_transaction_isolation", "'repeatable read'");
    }
    let mut trial = draft.role("w", 1, &["upgrade"], count(1)).build();
    trial.retry.attempts = attempts;
    trial.retry.on = on.iter().map(|c| (*c).to_owned()).collect();
    let mut started = subject.start(&trial)?;
    started.go();
    // A longer time makes a stale snapshot more certain, and the retries still end: only an attempt whose pause falls
    // into this time can fail.
    place.meddle("UPDATE counter SET n = n + 1", Duration::from_millis(400))?;
    subject.finish(&trial, started)
}
