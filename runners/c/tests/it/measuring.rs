//! What a transaction binds, fetches, yields and reports: values against the vectors, errors, retries, loads.

use crate::common;
use std::time::{Duration, Instant};

use crate::common::*;
use litelab_protocol::draw::{Drawer, Value};
use litelab_protocol::{Arrivals, Begin, Fetch, Load, NowUnit, Order, Param, Source, Statement, Until, Work};
use rusqlite::types::ValueRef;
use serde_json::Value as Json;

/// A table `v` with a column for each parameter, and the statement that fills a row.
fn insert_all(scratch: &Scratch, params: &[Param], tuples: u32) -> Statement {
    let columns: Vec<String> = params.iter().map(|p| format!("\"{}\"", p.name)).collect();
    scratch.run(&format!("DROP TABLE IF EXISTS v; CREATE TABLE v({})", columns.join(",")));
    let tuple = format!("({})", vec!["?"; params.len()].join(","));
    let sql = format!("INSERT INTO v VALUES {}", vec![tuple; tuples as usize].join(","));
    Statement { tuples, ..statement(&sql, &(0..params.len() as u32).collect::<Vec<_>>()) }
}

fn rows(scratch: &Scratch) -> Vec<Vec<Value>> {
    let mut select = scratch.connection.prepare("SELECT * FROM v ORDER BY rowid").expect("SQL");
    let columns = select.column_count();
    let value = |column: ValueRef<'_>| match column {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(i) => Value::Integer(i),
        ValueRef::Real(r) => Value::Real(r),
        ValueRef::Text(t) => Value::Text(String::from_utf8(t.to_vec()).expect("UTF-8")),
        ValueRef::Blob(_) => panic!("a BLOB"),
    };
    let rows = select.query_map([], |row| (0..columns).map(|i| Ok(value(row.get_ref(i)?))).collect());
    rows.expect("rows").collect::<Result<_, _>>().expect("row")
}

#[test]
fn the_vectors_are_bound() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/protocol/vectors/generator.json");
    let file: Json = serde_json::from_str(&std::fs::read_to_string(path).expect("vectors")).expect("JSON");
    let params: Vec<Param> = serde_json::from_value(file["params"].clone()).expect("params");
    let name = file["transaction"].as_str().expect("name");
    let draws = file["draws"].as_array().expect("draws");
    assert!(draws.len() >= 20);
    let scratch = Scratch::new();
    let mut compared = 0;
    for draw in draws {
        let number = |key: &str| draw[key].as_u64().expect("number");
        let insert = transaction(name, Begin::None, params.clone(), vec![insert_all(&scratch, &params, 1)]);
        let mut only = role("w", 1, &[0], count(1));
        only.first_worker = number("worker") as u32;
        // The first operation of a step is its offset, which has 32 bits: rows beyond come by the test below.
        let Ok(offset) = u32::try_from(number("row")) else { continue };
        only.steps[0].offset = offset;
        let mut trial = trial(vec![scratch.database()], vec![insert], vec![only]);
        trial.seed = number("seed");
        run(&trial);
        let seen: Vec<Json> = rows(&scratch)[0].iter().map(Value::to_json).collect();
        assert_eq!(Json::Array(seen), draw["values"], "row {}", draw["row"]);
        compared += 1;
    }
    assert!(compared >= 10, "{compared}");
}

#[test]
fn rows_of_an_operation_follow_each_other() {
    let mut params: Vec<Param> = [0, 1, 7, 8, 9, 16, 31, 33, 100]
        .iter()
        .flat_map(|&n| [(format!("h{n}"), Source::Hex { bytes: n }), (format!("t{n}"), Source::Text { chars: n })])
        .map(|(name, source)| Param { name, source })
        .collect();
    let reals = [0.1, 1.0, 1e21, 5e-324].map(Json::from).to_vec();
    params.push(param("real", Source::Choice { values: reals }));
    params.push(param("odd", Source::Value { value: Json::from("a\u{0}\"ü") }));
    params.push(param("yes", Source::Value { value: Json::from(true) }));
    for at in 0..params.len() as u32 {
        params.push(param(&format!("s{at}"), Source::Sha256Of { param: at }));
    }
    params.push(param("self", Source::Sha256Of { param: params.len() as u32 }));
    params.push(param("f", Source::Format { template: "{worker}{row}{{row}}-{worker}{".into() }));
    // Operation 2^33 by way of a stride: the second of worker 1.
    for (stride, offset, rows_of) in [(2, 0, [1_u64, 3]), (u32::MAX, 5, [6, 6 + u64::from(u32::MAX)])] {
        let scratch = Scratch::new();
        let mut insert = insert_all(&scratch, &params, 2);
        insert.repeat = 3;
        let insert = transaction("op", Begin::Immediate, params.clone(), vec![insert]);
        let mut only = role("w", 1, &[0], count(4));
        (only.first_worker, only.first_in_role, only.workers_in_role) = (42, 1, 2);
        (only.steps[0].stride, only.steps[0].offset) = (stride, offset);
        let mut trial = trial(vec![scratch.database()], vec![insert], vec![only]);
        trial.seed = 11;
        let outcome = run(&trial);
        assert_eq!((outcome.only().committed, outcome.only().rows), (2, 12));
        let reference = Drawer::new(11, "op", &params, 42);
        let row = |row: u64| (0..params.len()).map(|p| reference.draw(p, row)).collect::<Vec<_>>();
        let expected: Vec<_> =
            rows_of.iter().flat_map(|operation| (0..6).map(move |i| operation * 6 + i)).map(row).collect();
        assert_eq!(rows(&scratch), expected);
    }
}

#[test]
fn the_wall_clock_has_its_forms() {
    let scratch = Scratch::new();
    let now = |unit| Source::Now { unit };
    let params = [("s", NowUnit::S), ("ms", NowUnit::Ms), ("us", NowUnit::Us), ("iso", NowUnit::Iso)]
        .map(|(name, unit)| param(name, now(unit)));
    let insert = transaction("t", Begin::None, params.to_vec(), vec![insert_all(&scratch, &params, 1)]);
    run(&trial(vec![scratch.database()], vec![insert], vec![role("w", 1, &[0], count(1))]));
    let agree = "SELECT s = ms / 1000 AND ms = us / 1000 AND abs(s - unixepoch()) < 60
                 AND iso = strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch') || printf('.%03dZ', ms % 1000) FROM v";
    assert_eq!(scratch.number(agree), 1);
}

#[test]
fn every_fetch_and_work_sees_its_rows() {
    let verify = || Work::Sha256Verify { value: "a".into(), hash: "b".into() };
    for (fetch, rows, timed) in
        [(Fetch::None, 4, None), (Fetch::First, 1, None), (Fetch::All, 4, Some(3)), (Fetch::Buffer, 4, Some(3))]
    {
        let scratch = Scratch::new();
        // SHA-256 of no bytes and of "abc" (FIPS 180-4), a hash too short, and a value that is no hex.
        scratch.run(
            "INSERT INTO t(a, b) VALUES
             ('616263', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'),
             ('', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'),
             ('616263', 'ba7816bf'), ('61626g', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')",
        );
        let mut read = select("SELECT id, a, b, 1.5, x'00', NULL FROM t ORDER BY id", &[], fetch);
        read.work = verify();
        let read = transaction("read", Begin::Deferred, vec![], vec![read]);
        let mut trial = trial(vec![scratch.database()], vec![read], vec![role("r", 1, &[0], count(3))]);
        let outcome = run(&trial);
        let only = outcome.only();
        assert_eq!(only.rows, 3 * rows, "{fetch:?}");
        let checked = match fetch {
            Fetch::None => (0, 0),
            Fetch::First => (3, 0),
            Fetch::All | Fetch::Buffer => (12, 6),
        };
        assert_eq!((only.verified, only.mismatches), checked, "{fetch:?}");
        let count = |h: &Option<litelab_protocol::histogram::Histogram>| h.as_ref().map(|h| h.count());
        assert_eq!((count(&only.query), count(&only.first_row)), (timed, timed), "{fetch:?}");
        trial.transactions[0].timed_rows = false;
        let untimed = run(&trial);
        assert_eq!((&untimed.only().query, &untimed.only().first_row), (&None, &None), "{fetch:?}");
    }
}

#[test]
fn a_queue_is_drained_by_what_is_yielded() {
    let scratch = Scratch::new();
    scratch.run("CREATE TABLE done(id PRIMARY KEY, b, again)");
    scratch.fill(20);
    let mut claim = statement("DELETE FROM t WHERE id = (SELECT min(id) FROM t) RETURNING id, b", &[]);
    (claim.fetch, claim.required, claim.yields) = (Fetch::First, true, vec!["id".into(), "b".into()]);
    let yielded = |name: &str| param(name, Source::Yielded { name: name.into() });
    // Binds and yields the same name: what is bound must not change under the statement.
    let mut same = select("SELECT ?1 || '!' AS b, ?1 UNION ALL SELECT ?1, ?1", &[0], Fetch::All);
    same.yields = vec!["b".into(), "again".into()];
    let finish = statement("INSERT INTO done VALUES (?1, ?2, ?3)", &[1, 0, 2]);
    let params = vec![yielded("b"), yielded("id"), yielded("again")];
    let transactions = vec![
        transaction("claim", Begin::Immediate, vec![], vec![claim]),
        transaction("finish", Begin::Immediate, params, vec![same, finish]),
    ];
    let mut drain = role("w", 2, &[0, 1], Until::Time { ms: 2_000 });
    drain.load = Load::Closed { think_us: 1_000 };
    let outcome = run(&trial(vec![scratch.database()], transactions, vec![drain]));
    let (claim, finish) = (outcome.operation("w", "claim"), outcome.operation("w", "finish"));
    assert_eq!((claim.committed, finish.committed, finish.rows), (20, 20, 60));
    assert!(claim.empty > 0 && claim.measured == 20, "{}", claim.empty);
    let right = "SELECT count(*) FROM done WHERE again = 'text of row ' || id AND b = again || '!'";
    assert_eq!(scratch.number(right), 20);
}

#[test]
fn errors_have_their_names_and_leave_no_row() {
    let scratch = Scratch::new();
    scratch.run("INSERT INTO t(id) VALUES (3)");
    let params = vec![param("id", Source::Sequence { start: 1, step: 1 })];
    let insert = statement("INSERT INTO t(id, a) VALUES (?1, 'x')", &[0]);
    let extra = statement("INSERT INTO t(id, a) VALUES (?1 + 100, 'x')", &[0]);
    let both = transaction("both", Begin::Immediate, params, vec![extra, insert]);
    let outcome = run(&trial(vec![scratch.database()], vec![both], vec![role("w", 1, &[0], count(5))]));
    let only = outcome.only();
    assert_eq!((only.committed, only.failed, only.measured), (4, 1, 4));
    let error = only.errors["SQLITE_CONSTRAINT_PRIMARYKEY"];
    assert_eq!((only.errors.len(), error.seen, error.cured), (1, 1, 0));
    assert_eq!(scratch.number("SELECT count(*) FROM t WHERE a = 'x'"), 8, "what preceded the error is rolled back");
}

#[test]
fn a_retry_cures_what_it_covers_with_the_same_values() {
    for (on, cured) in [("SQLITE_BUSY", true), ("SQLITE_LOCKED", false)] {
        // Held longer with each try: on a busy machine the runner may come when the lock is free again.
        tries(|tried| against_a_lock(on, cured, 400 << (2 * tried)));
    }
}

/// One insert against the write lock, which is held for so many milliseconds from when the runner is started.
fn against_a_lock(on: &str, cured: bool, held_ms: u64) -> Result<(), String> {
    let scratch = Scratch::new();
    let mut trial = trial(vec![scratch.database()], vec![insert(Begin::Immediate)], vec![role("w", 1, &[0], count(1))]);
    trial.connection.pragmas = pragmas(&[]);
    trial.prepare = litelab_protocol::Prepare::Once;
    (trial.retry.attempts, trial.retry.on) = (100_000, vec![on.into()]);
    (trial.retry.backoff_us, trial.retry.multiplier, trial.retry.max_backoff_us) = (1_000, 2.0, 20_000);
    scratch.run("BEGIN IMMEDIATE");
    let outcome = std::thread::scope(|scope| {
        let started = Instant::now();
        let runner = scope.spawn(|| run(&trial));
        std::thread::sleep(Duration::from_millis(held_ms).saturating_sub(started.elapsed()));
        scratch.run("COMMIT");
        runner.join().expect("runner")
    });
    let only = outcome.only();
    let error = only.errors.get("SQLITE_BUSY").copied().unwrap_or_default();
    timely(if cured { error.seen > 5 } else { error.seen > 0 }, format_args!("{on} {}", error.seen))?;
    assert!(cured || error.seen == 1, "{on} {}", error.seen);
    assert_eq!((only.committed, only.failed), (u64::from(cured), u64::from(!cured)), "{on}");
    assert_eq!(error.cured, if cured { error.seen } else { 0 }, "{on}");
    assert_eq!(scratch.number("SELECT count(*) FROM t"), i64::from(cured), "{on}");
    Ok(())
}

#[test]
fn an_open_load_keeps_its_schedule() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let scratch = Scratch::new();
        let mut role = role("w", 2, &[0], Until::Time { ms: 500 });
        role.load = Load::Open { rate: 400.0, arrivals };
        let outcome = run(&trial(vec![scratch.database()], vec![insert(Begin::None)], vec![role]));
        let only = outcome.only();
        let due = only.committed + only.unserved;
        // Poisson: the deviation of 200 arrivals is 14.
        let expected = if arrivals == Arrivals::Constant { 200..=200 } else { 140..=260 };
        assert!(expected.contains(&due), "{arrivals:?} {due}");
        assert!(outcome.result.elapsed_ns >= 500_000_000);
        let (response, lag) = (only.response.as_ref().expect("response"), only.lag.as_ref().expect("lag"));
        assert_eq!((response.count(), lag.count()), (only.committed, only.committed));
        assert!(response.mean() >= lag.mean());
    }
}

#[test]
fn an_overloaded_schedule_skips_nothing() {
    let scratch = Scratch::new();
    let mut slow = insert(Begin::Immediate);
    slow.hold_us = 20_000;
    let mut role = role("w", 1, &[0], Until::Time { ms: 300 });
    role.load = Load::Open { rate: 200.0, arrivals: Arrivals::Constant };
    let trial = trial(vec![scratch.database()], vec![slow], vec![role]);
    tries(|_| {
        let outcome = run(&trial);
        let only = outcome.only();
        assert_eq!(only.committed + only.unserved, 60);
        assert!(only.committed <= 15, "{}", only.committed);
        // The last of them was due at a quarter of the time or so, and started at its end.
        let lag = only.lag.as_ref().and_then(|l| l.max());
        timely(lag.is_some_and(|lag| lag > 150_000_000), format_args!("{lag:?}"))
    });
}

#[test]
fn weights_warm_up_and_the_end_of_another_role() {
    let scratch = Scratch::new();
    scratch.fill(10);
    let read = transaction("read", Begin::None, vec![], vec![select("SELECT * FROM t WHERE id = 1", &[], Fetch::All)]);
    let mut mixed = role("mixed", 2, &[0, 1], count(2_000));
    (mixed.order, mixed.steps[1].weight) = (Order::Weighted, 3);
    let mut idle = role("idle", 1, &[1], Until::Role { name: "mixed".into() });
    idle.load = Load::Closed { think_us: 500 };
    let trial = trial(vec![scratch.database()], vec![insert(Begin::None), read.clone()], vec![mixed, idle]);
    let mut rows = 10;
    tries(|_| {
        let outcome = run(&trial);
        let (inserts, reads) =
            (outcome.operation("mixed", "insert").committed, outcome.operation("mixed", "read").committed);
        assert_eq!(inserts + reads, 2_000);
        // A quarter of 2000; the deviation is 19.
        assert!((400..600).contains(&inserts), "{inserts}");
        rows += inserts as i64;
        assert_eq!(scratch.number("SELECT count(*) FROM t"), rows);
        timely(outcome.operation("idle", "read").committed > 0, "the others were over when it began")
    });

    let mut half =
        common::trial(vec![scratch.database()], vec![read], vec![role("r", 1, &[0], Until::Time { ms: 200 })]);
    half.roles[0].load = Load::Closed { think_us: 1_000 };
    half.warmup_ms = 100;
    tries(|_| {
        let outcome = run(&half);
        let only = outcome.only();
        assert_eq!((only.service.count(), only.rows), (only.measured, only.measured));
        assert_eq!(outcome.result.measured_ns, outcome.result.elapsed_ns - 100_000_000);
        let worker = &outcome.result.workers[0];
        assert!(worker.inside_ns + worker.outside_ns <= outcome.result.measured_ns);
        let half = only.measured < only.committed && only.measured > 0;
        timely(half, format_args!("{} {}", only.measured, only.committed))
    });
}
