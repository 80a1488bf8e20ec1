//! Values and work: draws, yields, rows fetched and changed.

use crate::common::*;
use litelab_protocol::{Begin, Fetch, Load, Prepare, Sharing, Source, Until, Work};

fn what_is_bound_stays_while_the_same_is_yielded(driver: &str) {
    for (prepare, fetch) in [(Prepare::Once, Fetch::All), (Prepare::Each, Fetch::Buffer), (Prepare::Once, Fetch::None)]
    {
        let scratch = Scratch::new();
        scratch.run("CREATE TABLE done(row, first, again, none, number)");
        let yields = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut first = select("SELECT 'a long text to begin with', 1.5, NULL", &[], Fetch::First);
        first.yields = yields(&["text", "number", "none"]);
        let mut same = select("SELECT ?1 || '!', ?1 UNION ALL SELECT ?1, ?1", &[0], fetch);
        same.yields = yields(&["text", "again"]);
        let last = statement("INSERT INTO done VALUES (1, ?1, ?2, ?3, ?4)", &[0, 1, 2, 3]);
        let params = ["text", "again", "none", "number"].map(|n| param(n, Source::Yielded { name: n.into() })).into();
        let all = vec![transaction("all", Begin::Immediate, params, vec![first, same, last])];
        let mut trial = trial(driver, vec![scratch.database()], all, vec![role("w", 1, &[0], count(3))]);
        trial.prepare = prepare;
        assert_eq!(RUNNER.run(&trial).only().rows, 3 * (1 + 2 + 1), "{fetch:?}");
        let right = "SELECT count(*) FROM done WHERE again = 'a long text to begin with' AND first = again || '!'
                     AND none IS NULL AND number = 1.5";
        assert_eq!(scratch.number(right), 3, "{fetch:?}");
    }
}

/// A virtual table has statements of its own on the connection, and finalizes them itself when the connection is
/// closed: a driver that finalizes every statement of `sqlite3_next_stmt` frees them twice.
fn virtual_tables_outlive_the_statements(driver: &str) {
    for (prepare, sharing) in
        [(Prepare::Once, Sharing::OwnConnection), (Prepare::Each, Sharing::Pool { connections: 2 })]
    {
        let scratch = Scratch::new();
        scratch
            .run("CREATE VIRTUAL TABLE words USING fts5(text); CREATE VIRTUAL TABLE boxes USING rtree(id, low, high)");
        let statements = vec![
            statement("INSERT INTO words(rowid, text) VALUES (?1, 'word' || ?1 || ' all')", &[0]),
            statement("INSERT INTO boxes VALUES (?1, ?1, ?1 + 1)", &[0]),
            select("SELECT rowid FROM words WHERE words MATCH 'all'", &[], Fetch::First),
            select("SELECT id FROM boxes WHERE low <= ?1 AND high >= ?1", &[0], Fetch::All),
        ];
        let params = vec![param("id", Source::Sequence { start: 1, step: 1 })];
        let all = vec![transaction("all", Begin::Immediate, params, statements)];
        let mut trial = trial(driver, vec![scratch.database()], all, vec![role("w", 1, &[0], count(40))]);
        (trial.prepare, trial.sharing) = (prepare, sharing);
        assert_eq!(RUNNER.run(&trial).only().committed, 40);
        assert_eq!(scratch.number("SELECT count(*) FROM words WHERE words MATCH 'all'"), 40);
        assert_eq!(scratch.number("SELECT count(*) FROM boxes WHERE rtreecheck('boxes') = 'ok'"), 40);
    }
}

fn rows_of_every_kind_are_fetched(driver: &str) {
    // More than the initial size of a buffer, and texts of all lengths, including empty ones.
    let sql = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
               SELECT hex(zeroblob(i)), NULL, i, i / 2.0, zeroblob(i) FROM n";
    for fetch in [Fetch::All, Fetch::Buffer, Fetch::None] {
        for prepare in [Prepare::Once, Prepare::Each] {
            let scratch = Scratch::new();
            let mut read = select(sql, &[], fetch);
            read.yields = ["text", "null", "integer", "real"].map(String::from).into();
            let read = transaction("read", Begin::Deferred, vec![], vec![read]);
            let mut trial = trial(driver, vec![scratch.database()], vec![read], vec![role("r", 2, &[0], count(6))]);
            trial.prepare = prepare;
            let outcome = RUNNER.run(&trial);
            let only = outcome.only();
            assert_eq!((only.committed, only.rows), (6, 6_000), "{fetch:?} {prepare:?}");
            if fetch != Fetch::None {
                assert!(only.timers["query"].max() <= only.timers["first_row"].max(), "{fetch:?} {prepare:?}");
                assert!(only.timers["first_row"].max() <= only.service.max(), "{fetch:?} {prepare:?}");
            }
        }
    }
}

fn hashes_are_checked(driver: &str) {
    let params = vec![param("b", Source::Hex { bytes: 40 }), param("h", Source::Sha256Of { param: 0 })];
    let write = vec![statement("INSERT INTO t(b, a) VALUES (?1, ?2)", &[0, 1])];
    let write = transaction("write", Begin::None, params, write);
    for (fetch, expected) in [(Fetch::All, 20), (Fetch::Buffer, 20), (Fetch::First, 1), (Fetch::None, 0)] {
        let scratch = Scratch::new();
        let database = || vec![scratch.database()];
        RUNNER.run(&trial(driver, database(), vec![write.clone()], vec![role("w", 1, &[0], count(20))]));
        let mut check = select("SELECT a, b FROM t ORDER BY id", &[], fetch);
        check.work = Work::Verify { value: "b".into(), hash: "a".into() };
        let check = transaction("check", Begin::None, vec![], vec![check]);
        let checked = || {
            let outcome =
                RUNNER.run(&trial(driver, database(), vec![check.clone()], vec![role("r", 1, &[0], count(1))]));
            (outcome.only().counter("verified"), outcome.only().counter("mismatches"))
        };
        assert_eq!(checked(), (expected, 0), "{fetch:?}");
        scratch.run(
            "UPDATE t SET b = '0' || substr(b, 2) WHERE id = 1 AND b NOT LIKE '0%';
             UPDATE t SET b = '1' || substr(b, 2) WHERE id = 1 AND b LIKE '0%';
             UPDATE t SET b = NULL WHERE id = 2; UPDATE t SET a = 'zz' WHERE id = 3",
        );
        assert_eq!(checked(), (expected, expected.min(3)), "{fetch:?}");
    }
}

fn only_changes_are_counted_of_writes(driver: &str) {
    let scratch = Scratch::new();
    scratch.fill(10);
    let statements = vec![
        statement("UPDATE t SET a = 0 WHERE id <= 4", &[]),
        // Changes nothing, and must not repeat the count of the previous statement.
        statement("CREATE TABLE IF NOT EXISTS other(x)", &[]),
        statement("DELETE FROM t WHERE id > 1000", &[]),
        // Changes one row and returns it; the next statement must not repeat this count either.
        select("UPDATE t SET a = 1 WHERE id = 9 RETURNING id", &[], Fetch::All),
        statement("CREATE TABLE IF NOT EXISTS other(x)", &[]),
    ];
    let mixed = transaction("mixed", Begin::Immediate, vec![], statements);
    let outcome = RUNNER.run(&trial(driver, vec![scratch.database()], vec![mixed], vec![role("w", 1, &[0], count(2))]));
    assert_eq!((outcome.only().committed, outcome.only().rows), (2, 2 * (4 + 1)));
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_operations() {
    use litelab_protocol::Message;
    use std::io::{BufRead, BufReader, Read, Write};

    let scratch = Scratch::new();
    scratch.fill(1_000);
    let peak = |driver: &str, operations: u64| {
        let read = vec![select("SELECT * FROM t WHERE id = ?1", &[0], Fetch::All)];
        let read = transaction("read", Begin::None, vec![uniform("id", 1, 1_000)], read);
        // A second role keeps the process alive while the test inspects it, however long that takes.
        let roles = vec![role("r", 1, &[0], count(operations)), role("last", 1, &[1], Until::Time { ms: 600_000 })];
        let mut idle = transaction("idle", Begin::None, vec![], vec![select("SELECT 1", &[], Fetch::First)]);
        idle.hold_us = 1;
        let mut trial = trial(driver, vec![scratch.database()], vec![read, idle], roles);
        trial.roles[1].load = Load::Closed { think_us: 10_000_000 };
        let mut child = RUNNER.start("run");
        let input = serde_json::to_string(&trial).expect("JSON") + "\n" + GO;
        child.stdin.take().expect("stdin").write_all(input.as_bytes()).expect("written");
        let mut done = 0;
        // Open until the process has been inspected: a runner whose ticks no process reads ends.
        let mut output = BufReader::new(child.stdout.take().expect("stdout"));
        for line in output.by_ref().lines() {
            let Ok(Message::Tick(tick)) = serde_json::from_str(&line.expect("line")) else { continue };
            done += tick.counts.iter().filter(|c| c.role == "r").map(|c| c.committed).sum::<u64>();
            if done == operations {
                break;
            }
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("status");
        child.kill().expect("killed");
        child.wait().expect("ended");
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("peak");
        line.trim().trim_end_matches(" kB").parse::<f64>().expect("kB")
    };
    for driver in ["rusqlite", "c"] {
        let (few, many) = (peak(driver, 100_000), peak(driver, 2_000_000));
        assert!(many < few * 1.1, "{driver}: {few} kB, {many} kB");
    }
}

on_each_driver!(
    what_is_bound_stays_while_the_same_is_yielded
    virtual_tables_outlive_the_statements
    rows_of_every_kind_are_fetched
    hashes_are_checked
    only_changes_are_counted_of_writes
);
