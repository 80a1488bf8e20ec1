//! Every sharing, every kind of BEGIN, every kind of database: the counts agree with the rows.

use crate::common::*;
use litelab_protocol::histogram::Histogram;
use litelab_protocol::{Begin, Database, Executor, Fetch, Operation, Sharing, Source};

const SHARINGS: [Sharing; 7] = [
    Sharing::OwnConnection,
    Sharing::OneConnection,
    Sharing::Pool { connections: 1 },
    Sharing::Pool { connections: 2 },
    Sharing::AppLock,
    Sharing::WriterReaders { readers: 2 },
    Sharing::GroupCommit { readers: 2 },
];

fn counts_are_those_of_the_rows(driver: &str) {
    // Only rusqlite has the layer.
    let sharings = SHARINGS.iter().filter(|sharing| driver == "rusqlite" || sharing.kind() != "group-commit");
    for (sharing, executor) in sharings.flat_map(|sharing| EXECUTORS.map(|executor| (*sharing, executor))) {
        for begin in [Begin::None, Begin::Deferred, Begin::Immediate, Begin::Exclusive] {
            let (a, b) = (Scratch::new(), Scratch::new());
            a.fill(100);
            b.fill(100);
            let read = vec![select("SELECT * FROM t WHERE id = ?1", &[0], Fetch::All)];
            let read = transaction("read", begin, vec![uniform("id", 1, 100)], read);
            let mut roles = vec![role("writer", 3, &[0], count(60)), role("reader", 2, &[1], count(80))];
            roles[1].first_worker = 3;
            let mut trial = trial(driver, vec![a.database(), b.database()], vec![insert(begin), read], roles);
            (trial.sharing, trial.executor) = (sharing, executor);
            let outcome = run(&trial);
            let context = format!("{sharing} on {executor} {begin:?}");
            for scratch in [&a, &b] {
                assert_eq!(scratch.number("SELECT count(*) FROM t"), 160, "{context}");
            }
            let (write, read) = (outcome.operation("writer", "insert"), outcome.operation("reader", "read"));
            assert_eq!((write.committed, write.rows, write.failed), (120, 120, 0), "{context}");
            assert_eq!((read.committed, read.rows, read.measured), (160, 160, 160), "{context}");
            assert_eq!((write.service.count(), read.service.count()), (120, 160), "{context}");
            let counts = |o: &Operation, timer: &str| o.timers.get(timer).map(Histogram::count);
            assert_eq!((counts(read, "query"), counts(read, "first_row")), (Some(160), Some(160)), "{context}");
            assert_eq!((counts(write, "query"), counts(write, "lag")), (None, None), "{context}");
            let (writers_wait, readers_wait) = match sharing {
                Sharing::OwnConnection => (None, None),
                Sharing::AppLock => (Some(120), None),
                _ => (Some(120), Some(160)),
            };
            assert_eq!((counts(write, "wait"), counts(read, "wait")), (writers_wait, readers_wait), "{context}");

            let mut labels: Vec<_> = outcome.ready.connections.iter().map(|c| c.label.as_str()).collect();
            labels.truncate(labels.len() / 2);
            let expected: &[&str] = match sharing {
                Sharing::OwnConnection | Sharing::AppLock => &["writer", "writer", "writer", "reader", "reader"],
                Sharing::OneConnection => &["shared"],
                Sharing::Pool { connections: 1 } => &["pool"],
                Sharing::Pool { .. } => &["pool", "pool"],
                _ => &["writer", "reader", "reader"],
            };
            assert_eq!(labels, expected, "{context}");

            let workers = &outcome.result.workers;
            let indices: Vec<_> = workers.iter().map(|w| (w.database, w.worker)).collect();
            let expected: Vec<_> = (0..2).flat_map(|d| (0..5).map(move |w| (d, w))).collect();
            assert_eq!(indices, expected, "{context}");
            assert_eq!(workers.iter().map(|w| w.committed).sum::<u64>(), 280, "{context}");
            for worker in workers {
                let whole = worker.inside_ns + worker.outside_ns;
                assert!(worker.inside_ns > 0 && whole <= outcome.result.elapsed_ns, "{context} {worker:?}");
            }
        }
    }
}

#[test]
fn one_writer_at_a_time_needs_no_busy_handler() {
    let sharings = [
        (Sharing::OwnConnection, true),
        (Sharing::AppLock, false),
        (Sharing::WriterReaders { readers: 1 }, false),
        (Sharing::GroupCommit { readers: 1 }, false),
    ];
    for ((sharing, meet), executor) in sharings.into_iter().flat_map(|case| EXECUTORS.map(|e| (case, e))) {
        let scratch = Scratch::new();
        let mut write = insert(Begin::Immediate);
        write.hold_us = 2_000;
        let mut trial = trial("rusqlite", vec![scratch.database()], vec![write], vec![role("w", 3, &[0], count(30))]);
        trial.connection.settings.extend(pragmas(&[("busy_timeout", "0")]));
        // Three at the same time, including workers that block a thread of the runtime.
        (trial.sharing, trial.executor, trial.runtime_threads) = (sharing, executor, Some(3));
        tries(|_| {
            let outcome = run(&trial);
            let busy = outcome.only().errors.contains_key("SQLITE_BUSY");
            assert_eq!(outcome.only().failed > 0, busy, "{sharing} on {executor}");
            assert!(meet || !busy, "{sharing} on {executor}");
            // On a busy machine one may end before the next begins.
            timely(busy == meet, format_args!("{sharing} on {executor}: they never met"))
        });
    }
}

#[test]
fn processes_share_the_rows_without_a_gap() {
    let scratch = Scratch::new();
    let params = vec![param("id", Source::Sequence { start: 1, step: 1 })];
    let insert = vec![statement("INSERT INTO t(id) VALUES (?1)", &[0])];
    let mut roles = vec![role("w", 2, &[0], count(101))];
    (roles[0].workers_in_role, roles[0].steps[0].stride) = (4, 4);
    let mut trial =
        trial("rusqlite", vec![scratch.database()], vec![transaction("insert", Begin::None, params, insert)], roles);
    trial.executor = Executor::Processes;
    let mut committed = 0;
    for first in [0, 2] {
        (trial.roles[0].first_in_role, trial.roles[0].first_worker) = (first, first);
        let outcome = run(&trial);
        committed += outcome.only().committed;
        assert_eq!(outcome.result.workers[0].worker, first);
    }
    assert_eq!(committed, 101);
    let range = "SELECT count(*) * 1000000 + min(id) * 1000 + max(id) FROM t";
    assert_eq!(scratch.number(range), 101_001_101);
}

fn a_database_in_memory_is_set_up_and_torn_down(driver: &str) {
    let scratch = Scratch::new();
    let cases = [
        (true, Sharing::OwnConnection, 2),
        (true, Sharing::WriterReaders { readers: 1 }, 2),
        (false, Sharing::OneConnection, 2),
    ];
    for ((shared, sharing, workers), executor) in cases.into_iter().flat_map(|case| EXECUTORS.map(|e| (case, e))) {
        for journal in ["memory", "off"] {
            let copy = scratch.path(&format!("{}-{journal}-{executor}.db", sharing.kind()));
            let database = Database::Memory {
                shared,
                name: "m".into(),
                setup: vec![
                    "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)".into(),
                    "INSERT INTO t(a) VALUES (0)".into(),
                ],
                teardown: vec![format!("VACUUM INTO '{}'", copy.display())],
            };
            let roles = vec![role("w", workers, &[0], count(50))];
            let mut trial = trial(driver, vec![database], vec![insert(Begin::Immediate)], roles);
            trial.connection.settings = pragmas(&[("journal_mode", journal)]);
            trial.connection.read_back = vec!["journal_mode".into()];
            (trial.sharing, trial.executor) = (sharing, executor);
            // The table locks of a shared cache do not use the busy handler.
            (trial.retry.attempts, trial.retry.on) = (100_000, vec!["SQLITE_LOCKED".into(), "SQLITE_BUSY".into()]);
            (trial.retry.backoff_us, trial.retry.max_backoff_us) = (100, 100);
            let outcome = run(&trial);
            assert_eq!(outcome.only().committed, 50);
            assert_eq!(outcome.ready.connections[0].settings["journal_mode"], journal.into());
            let rows =
                rusqlite::Connection::open(copy).and_then(|c| c.query_row("SELECT count(*) FROM t", [], |r| r.get(0)));
            assert_eq!(rows, Ok(51));
        }
    }
}

#[test]
fn under_group_commit_one_that_fails_takes_back_its_own_only() {
    let mut again = statement("INSERT INTO t(id, b) VALUES (500, 'lost')", &[]);
    again.repeat = 2;
    let failing = [
        // The second row is refused, and the first is rolled back with it: in two statements, in one executed twice, in
        // one.
        vec![statement("INSERT INTO t(b) VALUES ('lost')", &[]), statement("INSERT INTO t(id) VALUES (1)", &[])],
        vec![again],
        vec![statement("INSERT INTO t(id, b) VALUES (500, 'lost'), (1, 'refused')", &[])],
    ];
    for (statements, executor) in failing.iter().flat_map(|failing| EXECUTORS.map(|executor| (failing, executor))) {
        let context = format!("{} on {executor}", statements[0].sql);
        let scratch = Scratch::new();
        let mut good = insert(Begin::Immediate);
        good.hold_us = 1_000;
        let bad = transaction("bad", Begin::Immediate, vec![], statements.clone());
        scratch.fill(1);
        let mut roles = vec![role("good", 3, &[0], count(90)), role("bad", 1, &[1], count(20))];
        roles[1].first_worker = 3;
        let mut trial = trial("rusqlite", vec![scratch.database()], vec![good, bad], roles);
        (trial.sharing, trial.executor, trial.runtime_threads) =
            (Sharing::GroupCommit { readers: 1 }, executor, Some(4));
        let outcome = run(&trial);
        let (good, bad) = (outcome.operation("good", "insert"), outcome.operation("bad", "bad"));
        assert_eq!((good.committed, good.failed), (90, 0), "{context}");
        assert_eq!((bad.committed, bad.failed), (0, 20), "{context}");
        assert_eq!(bad.errors["SQLITE_CONSTRAINT_PRIMARYKEY"].seen, 20, "{context}");
        assert_eq!(scratch.number("SELECT count(*) FROM t"), 91, "{context}");
    }
}

#[test]
fn group_commit_checkpoints_when_the_profile_says() {
    let scratch = Scratch::new();
    let mut trial =
        trial("rusqlite", vec![scratch.database()], vec![insert(Begin::None)], vec![role("w", 1, &[0], count(5))]);
    trial.sharing = Sharing::GroupCommit { readers: 1 };
    trial.connection.settings.extend(pragmas(&[("wal_autocheckpoint", "77"), ("synchronous", "FULL")]));
    trial.connection.read_back = ["wal_autocheckpoint", "synchronous", "journal_mode"].map(String::from).to_vec();
    for connection in run(&trial).ready.connections {
        let settings =
            ["wal_autocheckpoint", "synchronous", "journal_mode"].map(|name| connection.settings[name].to_string());
        assert_eq!(settings, ["77", "2", "wal"], "{}", connection.label);
    }
    let memory = Database::Memory { shared: true, name: "m".into(), setup: vec![], teardown: vec![] };
    trial.databases = vec![memory];
    assert!(fail(&trial).reason.contains("memory database `m` has no write-ahead log"));
}

on_each_driver!(
    counts_are_those_of_the_rows
    a_database_in_memory_is_set_up_and_torn_down
);
