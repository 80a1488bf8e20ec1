//! Rows that are fetched, and rows that are read.

use litelab_protocol::draw::{Drawer, Value};
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Begin, Dialect, Fetch, Param, Source, Statement, Transaction, Work};

use super::{Found, passed};
use crate::draft::{Draft, count, query, transaction};
use crate::error::{ensure, timely};
use crate::subject::Subject;

const ROWS: u64 = 12;
const TIMES: u64 = 5;
/// Rows of a query whose complete execution takes far longer than [`AT_ONCE`].
const MANY: u64 = 40_000_000;
const AT_ONCE: u64 = 400_000_000;

fn series(subject: &Subject<'_>, rows: u64) -> String {
    let text = subject.by("'x' || i", "'x' || i", "CONCAT('x', i)");
    format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) SELECT i, {text} FROM n")
}

pub fn fetch(subject: &Subject<'_>) -> Found {
    for (fetch, rows) in [(Fetch::None, ROWS), (Fetch::First, 1), (Fetch::All, ROWS), (Fetch::Buffer, ROWS)] {
        // Rows are read or not, and timed or not.
        for (work, timed_rows) in [(Work::None, true), (Work::Read, false), (Work::Read, true)] {
            let database = subject.database("")?;
            let statement = Statement { work, ..query(&series(subject, ROWS), &[], fetch) };
            let read = Transaction { timed_rows, ..transaction("read", Begin::None, vec![], vec![statement]) };
            let trial = Draft::new(subject).on(&*database).transaction(read).only(1, count(TIMES));
            let heard = subject.run(&trial)?;
            let operation = heard.first();
            let wanted = rows * TIMES;
            ensure!(
                operation.rows == wanted,
                "fetch {fetch:?}: {wanted} rows are due, and it counts {}",
                operation.rows
            );
            let timed = timed_rows && matches!(fetch, Fetch::All | Fetch::Buffer);
            for name in ["query", "first_row"] {
                let values = operation.timers.get(name).map(Histogram::count);
                ensure!(values == timed.then_some(TIMES), "fetch {fetch:?}: `{name}` has {values:?} values");
            }
            let max = |name| operation.timers.get(name).and_then(Histogram::max);
            if timed {
                let (query, first, service) = (max("query"), max("first_row"), operation.service.max());
                // The bound allows for the histogram's precision of one thousandth.
                let bound = service.map(|s| s + s / 500);
                ensure!(
                    query <= bound && first <= bound,
                    "fetch {fetch:?}: query {query:?} and first row {first:?} of {service:?}"
                );
            }
        }
    }
    // A server sends the complete result even if the client does not read it.
    if subject.dialect() == Dialect::Sqlite {
        let database = subject.database("")?;
        let first = query(&series(subject, MANY), &[], Fetch::First);
        let first = transaction("first", Begin::None, vec![], vec![first]);
        let heard = subject.run(&Draft::new(subject).on(&*database).transaction(first).only(1, count(1)))?;
        let took = heard.first().service.max().unwrap_or_default();
        let ms = took as f64 / 1e6;
        timely!(took < AT_ONCE, "the first of {MANY} rows took {ms:.0} ms: the others were stepped over");
    }
    passed("none, first, all, buffer; timed and not")
}

/// Two of eight rows are wrong: one in its value, one in its hash.
pub fn verify(subject: &Subject<'_>) -> Found {
    let database = subject.database("CREATE TABLE t(id INTEGER PRIMARY KEY, rand TEXT, hash TEXT)")?;
    let params = [
        Param { name: "rand".into(), source: Source::Hex { bytes: 8 } },
        Param { name: "hash".into(), source: Source::Sha256Of { param: 0 } },
    ];
    let drawer = Drawer::new(5, "t", &params, 0);
    let wrong = |value: Value| match value {
        Value::Text(t) => Value::Text(t.chars().map(|c| if c == '0' { '1' } else { '0' }).collect()),
        other => other,
    };
    let row = |id| {
        let (value, hash) = (drawer.draw(0, id), drawer.draw(1, id));
        let value = if id == 6 { wrong(value) } else { value };
        let hash = if id == 3 { wrong(hash) } else { hash };
        vec![Value::Integer(id as i64), value, hash]
    };
    database.insert("t", (0..8).map(row).collect())?;
    for fetch in [Fetch::All, Fetch::Buffer, Fetch::First] {
        let work = Work::Verify { value: "rand".into(), hash: "hash".into() };
        let statement = Statement { work, ..query("SELECT id, hash, rand FROM t ORDER BY id DESC", &[], fetch) };
        let check = transaction("check", Begin::None, vec![], vec![statement]);
        let heard = subject.run(&Draft::new(subject).on(&*database).transaction(check).only(1, count(TIMES)))?;
        let operation = heard.first();
        let wanted = if fetch == Fetch::First { (TIMES, 0) } else { (8 * TIMES, 2 * TIMES) };
        let found = (operation.counter("verified"), operation.counter("mismatches"));
        ensure!(found == wanted, "fetch {fetch:?}: checked and wrong are {wanted:?} rows, and it counts {found:?}");
    }
    passed("2 of 8 wrong rows found")
}
