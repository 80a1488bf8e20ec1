//! Errors by their extended names, and rollbacks.

use crate::common::*;
use litelab_protocol::{Begin, Fetch, Prepare, Retry, Source, TransactionResult};

fn a_reader_that_becomes_a_writer_meets_another(driver: &str) {
    let scratch = Scratch::new();
    scratch.fill(1);
    // Both read, pause, and write: one commits while the other still has the earlier snapshot.
    let mut upgrade = transaction(
        "upgrade",
        Begin::Deferred,
        vec![],
        vec![
            select("SELECT a FROM t WHERE id = 1", &[], Fetch::All),
            statement("UPDATE t SET a = a + 1 WHERE id = 1", &[]),
        ],
    );
    upgrade.statements[0].hold_us = 10_000;
    let mut trial = trial(driver, vec![scratch.database()], vec![upgrade], vec![role("w", 2, &[0], count(20))]);
    let mut sum = 1;
    // On a busy machine one may end before the other begins.
    let met = |only: &TransactionResult| timely(only.errors.contains_key("SQLITE_BUSY_SNAPSHOT"), "they never met");
    tries(|_| {
        let outcome = RUNNER.run(&trial);
        let only = outcome.only();
        // If the other one is still committing, the error is its lock instead of the stale snapshot.
        let seen: u64 = only.errors.values().map(|e| e.seen).sum();
        assert_eq!(only.failed, seen, "{:?}", only.errors);
        let named = only.errors.iter().all(|(name, e)| name.starts_with("SQLITE_BUSY") && e.cured == 0);
        assert!(named, "{:?}", only.errors);
        assert_eq!(only.committed + only.failed, 20);
        sum += only.committed as i64;
        assert_eq!(scratch.number("SELECT a FROM t"), sum);
        met(only)
    });

    trial.retry = Retry { attempts: 100_000, multiplier: 1.0, on: vec!["SQLITE_BUSY".into()], ..Retry::default() };
    tries(|_| {
        let outcome = RUNNER.run(&trial);
        let only = outcome.only();
        assert!(only.errors.values().all(|e| e.cured == e.seen), "{:?}", only.errors);
        assert_eq!((only.committed, only.failed), (20, 0));
        // Rows that the committed attempts fetched and changed, without those of failed attempts.
        assert_eq!(only.rows, 40);
        sum += 20;
        assert_eq!(scratch.number("SELECT a FROM t"), sum);
        met(only)
    });
}

fn a_failed_transaction_leaves_nothing_behind(driver: &str) {
    for prepare in [Prepare::Once, Prepare::Each] {
        let scratch = Scratch::new();
        scratch.run("CREATE UNIQUE INDEX one ON t(b)");
        let params = vec![param("b", Source::Value { value: "same".into() })];
        let statements =
            vec![statement("INSERT INTO t(a) VALUES (1)", &[]), statement("INSERT INTO t(b) VALUES (?1)", &[0])];
        let both = transaction("both", Begin::Deferred, params, statements);
        let mut trial = trial(driver, vec![scratch.database()], vec![both], vec![role("w", 1, &[0], count(4))]);
        trial.prepare = prepare;
        let outcome = RUNNER.run(&trial);
        assert_eq!((outcome.only().committed, outcome.only().failed), (1, 3));
        assert_eq!(outcome.only().errors["SQLITE_CONSTRAINT_UNIQUE"].seen, 3);
        assert_eq!(scratch.number("SELECT count(*) FROM t"), 2);
    }
}

fn a_commit_that_fails_after_the_first_row_is_seen(driver: &str) {
    let scratch = Scratch::new();
    scratch.fill(1);
    // Under a rollback journal a reader prevents the commit, and `RETURNING` has returned its row before.
    scratch.run("BEGIN; SELECT count(*) FROM t");
    let statements = vec![select("UPDATE t SET a = 99 WHERE id = 1 RETURNING id", &[], Fetch::First)];
    let update = transaction("update", Begin::None, vec![], statements);
    let mut trial = trial(driver, vec![scratch.database()], vec![update], vec![role("w", 1, &[0], count(1))]);
    trial.connection.settings = pragmas(&[("busy_timeout", "0")]);
    let outcome = RUNNER.run(&trial);
    assert_eq!((outcome.only().committed, outcome.only().failed), (0, 1));
    assert_eq!(outcome.only().errors["SQLITE_BUSY"].seen, 1);
    scratch.run("COMMIT");
    assert_eq!(scratch.number("SELECT a FROM t"), 1);
    let outcome = RUNNER.run(&trial);
    assert_eq!((outcome.only().committed, outcome.only().failed), (1, 0));
    assert_eq!(scratch.number("SELECT a FROM t"), 99);
}

on_each_driver!(
    a_reader_that_becomes_a_writer_meets_another
    a_failed_transaction_leaves_nothing_behind
    a_commit_that_fails_after_the_first_row_is_seen
);
