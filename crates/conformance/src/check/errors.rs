//! Extended error names, each provoked by one statement.

use std::time::Duration;

use litelab_protocol::{Begin, Dialect, Fetch, Statement};

use super::{Found, passed};
use crate::conversation::Heard;
use crate::dialect::{by, not_unique};
use crate::draft::{Draft, count, query, statement, transaction};
use crate::error::{Result, ensure, timely, tries};
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
    let dialect = subject.dialect();
    let violations = violations(dialect);
    let database = subject.database(&schema(dialect))?;
    let mut draft = Draft::new(subject).on(&*database);
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
    tries(|_| {
        let heard = snapshot(subject, snapshot_draft(subject), 150, 400)?;
        let seen: Vec<&str> = heard.first().errors.keys().map(String::as_str).collect();
        let what = format!("a read that became a write too late is {stale}");
        timely!(!seen.is_empty() && seen != ["SQLITE_BUSY"], "{what}, and it saw {seen:?}");
        ensure!(seen == [stale], "{what}, and it saw {seen:?}");
        Ok(())
    })?;
    passed(format!("{} errors, {stale}", violations.len()))
}

/// A trial under an isolation level that refuses a write by a stale snapshot.
pub fn snapshot_draft(subject: &Subject<'_>) -> Draft {
    match subject.dialect() {
        Dialect::Postgres => Draft::new(subject).setting("default_transaction_isolation", "'repeatable read'"),
        _ => Draft::new(subject),
    }
}

/// Adds a transaction that reads, pauses for `hold_ms`, and writes. The suite writes for `meddle_ms`, from `go` on, so
/// that the snapshot is stale. A longer time makes that more certain, and retries still end: only an attempt whose pause
/// falls into this time can fail.
pub fn snapshot(subject: &Subject<'_>, draft: Draft, hold_ms: u64, meddle_ms: u64) -> Result<Heard> {
    const WRITE: &str = "UPDATE counter SET n = n + 1";
    let database = subject.database("CREATE TABLE counter(n INTEGER); INSERT INTO counter VALUES (0)")?;
    let read = Statement { hold_us: hold_ms * 1_000, ..query("SELECT count(*) FROM counter", &[], Fetch::All) };
    let upgrade = transaction("upgrade", Begin::Deferred, vec![], vec![read, statement(WRITE, &[])]);
    let trial = draft.on(&*database).transaction(upgrade).only(1, count(1));
    let mut started = subject.start(&trial)?;
    started.go();
    database.meddle(WRITE, Duration::from_millis(meddle_ms))?;
    subject.finish(&trial, started)
}
