//! Errors by their extended names, retries, rollbacks, and transactions that end empty.

use std::time::Duration;

use crate::common::*;
use litelab_protocol::{Begin, Fetch, Operation, Prepare, Retry, Source, Trial};

fn no_wait(trial: &mut Trial) {
    trial.connection.settings.extend(pragmas(&[("busy_timeout", "0")]));
}

/// Holds the write lock for the time `held` from the start of the runner.
fn run_against_a_lock(scratch: &Scratch, trial: &Trial, held: Duration) -> Outcome {
    scratch.run("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(trial));
        std::thread::sleep(held);
        scratch.run("COMMIT");
        running.join().expect("trial")
    })
}

fn a_retry_cures_a_busy_database(driver: &str) {
    // Held longer with each try: on a busy machine the runner may start when the lock is free again.
    tries(|tried| {
        let scratch = Scratch::new();
        let roles = vec![role("w", 1, &[0], count(1))];
        let mut trial = trial(driver, vec![scratch.database()], vec![insert(Begin::Immediate)], roles);
        no_wait(&mut trial);
        let on = vec!["SQLITE_BUSY".into()];
        trial.retry = Retry { attempts: 100_000, backoff_us: 100, multiplier: 2.0, max_backoff_us: 2_000, on };
        let outcome = run_against_a_lock(&scratch, &trial, Duration::from_millis(150 << (2 * tried)));
        let only = outcome.only();
        assert_eq!((only.committed, only.failed), (1, 0));
        assert!(only.errors.keys().all(|code| code == "SQLITE_BUSY"), "{:?}", only.errors);
        let busy = only.errors.get("SQLITE_BUSY").cloned().unwrap_or_default();
        assert_eq!(busy.cured, busy.seen);
        let ticked: u64 = outcome.ticks.iter().flat_map(|t| &t.counts).map(|c| c.errors).sum();
        assert_eq!(ticked, busy.seen);
        assert_eq!(scratch.number("SELECT count(*) FROM t"), 1);
        timely(busy.seen > 20, format_args!("{busy:?}"))?;
        // Over all attempts: a pause of 2 ms after each of them, except for the first few.
        let (longest, paused) = (only.service.max(), (busy.seen - 6) * 2_000_000);
        assert!(longest.is_some_and(|max| max > paused), "{longest:?} {busy:?}");
        Ok(())
    });
}

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
    let met = |only: &Operation| timely(only.errors.contains_key("SQLITE_BUSY_SNAPSHOT"), "they never met");
    tries(|_| {
        let outcome = run(&trial);
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
        let outcome = run(&trial);
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
        let outcome = run(&trial);
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
    let outcome = run(&trial);
    assert_eq!((outcome.only().committed, outcome.only().failed), (0, 1));
    assert_eq!(outcome.only().errors["SQLITE_BUSY"].seen, 1);
    scratch.run("COMMIT");
    assert_eq!(scratch.number("SELECT a FROM t"), 1);
    let outcome = run(&trial);
    assert_eq!((outcome.only().committed, outcome.only().failed), (1, 0));
    assert_eq!(scratch.number("SELECT a FROM t"), 99);
}

on_each_driver!(
    a_retry_cures_a_busy_database
    a_reader_that_becomes_a_writer_meets_another
    a_failed_transaction_leaves_nothing_behind
    a_commit_that_fails_after_the_first_row_is_seen
);
