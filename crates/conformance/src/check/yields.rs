//! Rows that a transaction needs, and values it passes on.

use litelab_protocol::draw::Value;
use litelab_protocol::{Begin, Fetch, Source, Statement};

use super::{Found, NO_DATABASE, ensure, passed, skipped};
use crate::draft::{Draft, count, query, statement, transaction, yielding};
use crate::file;
use crate::subject::Subject;

fn yielded(name: &'static str) -> (&'static str, Source) {
    (name, Source::Yielded { name: name.into() })
}

/// A queue of five tasks and one worker: claim and finish in turn until nothing is left.
pub fn empty(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    let schema = "CREATE TABLE task(id INTEGER PRIMARY KEY, state INTEGER NOT NULL DEFAULT 0); CREATE TABLE log(x); \
                  WITH n(i) AS (SELECT 11 UNION ALL SELECT i + 1 FROM n WHERE i < 15) INSERT INTO task(id) SELECT i FROM n";
    let path = subject.database("queue.db", schema)?;
    let claim = yielding(
        "UPDATE task SET state = 1 WHERE id = (SELECT id FROM task WHERE state = 0 ORDER BY id LIMIT 1) RETURNING id",
        &[],
        &["id"],
    );
    // What comes before the missing row stays, what comes after it is not done.
    let claim = vec![
        statement("INSERT INTO log VALUES ('tried')", &[]),
        claim,
        statement("INSERT INTO log VALUES ('claimed')", &[]),
    ];
    let finish = vec![statement("UPDATE task SET state = 2 WHERE id = ?1", &[0])];
    let trial = Draft::new(subject)
        .on(&path)
        .transaction(transaction("claim", Begin::Immediate, vec![], claim))
        .transaction(transaction("finish", Begin::None, vec![yielded("id")], finish))
        .role("w", 1, &["claim", "finish"], count(14))
        .build();
    let result = subject.run(&trial)?.result;
    let of = |name: &str| {
        let operation = result.operations.iter().find(|o| o.transaction == name);
        operation.map(|o| (o.committed, o.empty)).unwrap_or_default()
    };
    // Five times both, then four claims that find nothing and begin again.
    ensure!(of("claim") == (5, 4), "5 claims and 4 in vain are due, and it counts {:?}", of("claim"));
    ensure!(of("finish") == (5, 0), "5 tasks are finished, and it counts {:?} done and in vain", of("finish"));
    let done = file::integer(&path, "SELECT count(*) FROM task WHERE state = 2")?;
    ensure!(done == 5, "{done} of the 5 tasks are finished in the database");
    let log = file::integers(&path, "SELECT count(*) FROM log GROUP BY x ORDER BY x")?;
    ensure!(log == [5, 9], "`claimed` and `tried` were logged {log:?} times, not 5 and 9");
    passed("5 claims, 4 in vain")
}

/// Yielded in a statement and bound in the next; yielded in one transaction and bound in another; null before.
pub fn yields(subject: &Subject<'_>) -> Found {
    if !subject.has_database() {
        return skipped(NO_DATABASE);
    }
    let path = subject.database("yields.db", "CREATE TABLE t(place, a, b)")?;
    let values = || vec![yielded("a"), yielded("b"), ("row", Source::Sequence { start: 100, step: 1 })];
    let note = |place: &str| statement(&format!("INSERT INTO t VALUES ('{place}', ?1, ?2)"), &[0, 1]);
    let make = Statement { required: false, ..yielding("SELECT ?1, 'text ' || ?1", &[2], &["a", "b"]) };
    let trial = Draft::new(subject)
        .on(&path)
        .transaction(transaction("before", Begin::None, values(), vec![note("before")]))
        .transaction(transaction("make", Begin::Immediate, values(), vec![make, note("inside")]))
        .transaction(transaction(
            "after",
            Begin::None,
            values(),
            vec![query("SELECT 1", &[], Fetch::All), note("after")],
        ))
        .role("w", 1, &["before", "make", "after"], count(6))
        .build();
    subject.run(&trial)?;
    let text = |n: i64| Value::Text(format!("text {n}"));
    let row = |place: &str, a: Value, b: Value| vec![Value::Text(place.into()), a, b];
    let expected = [
        row("before", Value::Null, Value::Null),
        row("inside", Value::Integer(100), text(100)),
        row("after", Value::Integer(100), text(100)),
        // The worker remembers from one round to the next.
        row("before", Value::Integer(100), text(100)),
        row("inside", Value::Integer(101), text(101)),
        row("after", Value::Integer(101), text(101)),
    ];
    let found = file::rows(&path, "SELECT place, a, b FROM t ORDER BY rowid")?;
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        ensure!(found == expected, "row {i} (place, a, b) is {found:?}, not {expected:?}");
    }
    ensure!(found.len() == expected.len(), "{} rows, and 6 are due", found.len());
    passed("within a transaction, to the next one, and null before")
}
