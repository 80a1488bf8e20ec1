//! Rows that a transaction requires, and values that it passes on.

use litelab_protocol::draw::Value;
use litelab_protocol::{Begin, Dialect, Fetch, Source, Statement};

use super::{Found, passed};
use crate::dialect::not_unique;
use crate::draft::{Draft, count, query, statement, transaction, yielding};
use crate::error::ensure;
use crate::subject::Subject;

fn yielded(name: &'static str) -> (&'static str, Source) {
    (name, Source::Yielded { name: name.into() })
}

/// One worker and a queue of five tasks: claim and finish in turn until no task is left.
pub fn empty(subject: &Subject<'_>) -> Found {
    let schema = "CREATE TABLE task(id INTEGER PRIMARY KEY, state INTEGER NOT NULL DEFAULT 0); \
                  CREATE TABLE log(x VARCHAR(9)); INSERT INTO task(id) VALUES (11), (12), (13), (14), (15)";
    let database = subject.database(schema)?;
    let returning =
        "UPDATE task SET state = 1 WHERE id = (SELECT id FROM task WHERE state = 0 ORDER BY id LIMIT 1) RETURNING id";
    // MariaDB's UPDATE has no RETURNING.
    let locking = "SELECT id FROM task WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE";
    // Statements before the missing row are committed, statements after it are not run.
    let mut claim = vec![
        statement("INSERT INTO log VALUES ('tried')", &[]),
        yielding(subject.by(returning, returning, locking), &[], &["id"]),
        statement("INSERT INTO log VALUES ('claimed')", &[]),
    ];
    if subject.dialect() == Dialect::Mysql {
        claim.push(statement("UPDATE task SET state = 1 WHERE id = ?1", &[0]));
    }
    // The rows that a statement behind a comment changes count, too.
    let finish = vec![statement("/* why */ -- so\nUPDATE task SET state = 2 WHERE id = ?1", &[0])];
    let trial = Draft::new(subject)
        .on(&*database)
        .transaction(transaction("claim", Begin::Immediate, vec![yielded("id")], claim))
        .transaction(transaction("finish", Begin::None, vec![yielded("id")], finish))
        .role("w", 1, &["claim", "finish"], count(14))
        .build();
    let heard = subject.run(&trial)?;
    let of = |name: &str| heard.done(name);
    // Five rounds of both, then four claims that find no task and start again.
    ensure!(of("claim") == (5, 4), "5 claims and 4 in vain are due, and it counts {:?}", of("claim"));
    ensure!(of("finish") == (5, 0), "5 tasks are finished, and it counts {:?} done and in vain", of("finish"));
    let rows: u64 = heard.result.operations.iter().filter(|o| o.transaction == "finish").map(|o| o.rows).sum();
    ensure!(rows == 5, "5 tasks are changed by `finish`, and it counts {rows} rows");
    let done = database.integer("SELECT count(*) FROM task WHERE state = 2")?;
    ensure!(done == 5, "{done} of the 5 tasks are finished in the database");
    let log = database.integers("SELECT count(*) FROM log GROUP BY x ORDER BY x")?;
    ensure!(log == [5, 9], "`claimed` and `tried` were logged {log:?} times, not 5 and 9");
    passed("5 claims, 4 in vain")
}

/// A value yielded by one statement and bound in the next, yielded by one transaction and bound in another, null
/// before the first yield, and forgotten with a transaction that is rolled back.
pub fn yields(subject: &Subject<'_>) -> Found {
    // A column without a type keeps the type of each value; only SQLite has such columns.
    let schema = subject.by(
        "CREATE TABLE t(n INTEGER PRIMARY KEY, place, a, b)",
        "CREATE TABLE t(n BIGSERIAL, place TEXT, a BIGINT, b TEXT)",
        "CREATE TABLE t(n BIGINT AUTO_INCREMENT PRIMARY KEY, place TEXT, a BIGINT, b TEXT)",
    );
    let schema = format!("{schema}; CREATE TABLE u(x INTEGER UNIQUE); INSERT INTO u VALUES (1)");
    let database = subject.database(&schema)?;
    let numbered = |start| vec![yielded("a"), yielded("b"), ("row", Source::Sequence { start, step: 1 })];
    let values = || numbered(100);
    let note = |place: &str| statement(&format!("INSERT INTO t(place, a, b) VALUES ('{place}', ?1, ?2)"), &[0, 1]);
    let make = subject.by(
        "SELECT ?1, 'text ' || ?1",
        "SELECT CAST(?1 AS BIGINT), 'text ' || CAST(CAST(?1 AS BIGINT) AS TEXT)",
        "SELECT CAST(?1 AS SIGNED), CONCAT('text ', ?1)",
    );
    let make = Statement { required: false, ..yielding(make, &[2], &["a", "b"]) };
    let not_unique_row = statement("INSERT INTO u VALUES (1)", &[]);
    let spoil = vec![make.clone(), note("rolled back"), not_unique_row];
    let trial = Draft::new(subject)
        .on(&*database)
        .transaction(transaction("before", Begin::None, values(), vec![note("before")]))
        .transaction(transaction("make", Begin::Immediate, values(), vec![make, note("inside")]))
        .transaction(transaction("spoil", Begin::Immediate, numbered(200), spoil))
        .transaction(transaction(
            "after",
            Begin::None,
            values(),
            vec![query("SELECT 1", &[], Fetch::All), note("after")],
        ))
        .role("w", 1, &["before", "make", "spoil", "after"], count(8))
        .build();
    let heard = subject.run(&trial)?;
    let (code, failed) = (not_unique(subject.dialect()), 2);
    ensure!(
        heard.errors(code) == (failed, 0),
        "{failed} transactions are to fail, and it counts {:?}",
        heard.errors(code)
    );
    let text = |n: i64| Value::Text(format!("text {n}"));
    let row = |place: &str, a: Value, b: Value| vec![Value::Text(place.into()), a, b];
    let expected = [
        row("before", Value::Null, Value::Null),
        row("inside", Value::Integer(100), text(100)),
        row("after", Value::Integer(100), text(100)),
        // The worker keeps its values from one round to the next, and none of those that were rolled back.
        row("before", Value::Integer(100), text(100)),
        row("inside", Value::Integer(101), text(101)),
        row("after", Value::Integer(101), text(101)),
    ];
    let found = database.rows("SELECT place, a, b FROM t ORDER BY n")?;
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        ensure!(found == expected, "row {i} (place, a, b) is {found:?}, not {expected:?}");
    }
    ensure!(found.len() == expected.len(), "{} rows, and 6 are due", found.len());
    passed("within a transaction, to the next one, null before, and not after a rollback")
}
