//! Workers in several processes, and sharing group-commit.

use crate::common::*;
use litelab_protocol::{Begin, Database, Executor, Fetch, Sharing, Source, Value};

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
        let outcome = RUNNER.run(&trial);
        committed += outcome.only().committed;
        assert_eq!(outcome.result.workers[0].worker, first);
    }
    assert_eq!(committed, 101);
    let range = "SELECT count(*) * 1000000 + min(id) * 1000 + max(id) FROM t";
    assert_eq!(scratch.number(range), 101_001_101);
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
        let outcome = RUNNER.run(&trial);
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
    for connection in RUNNER.run(&trial).ready.connections {
        let settings =
            ["wal_autocheckpoint", "synchronous", "journal_mode"].map(|name| connection.settings[name].to_string());
        assert_eq!(settings, ["77", "2", "wal"], "{}", connection.label);
    }
    let memory = Database::Memory { shared: true, name: "m".into(), setup: vec![], teardown: vec![] };
    trial.databases = vec![memory];
    assert!(RUNNER.fail(&trial).reason.contains("memory database `m` has no write-ahead log"));
}

/// A group commit by hand reads the settings of its writer in a transaction that takes the write lock.
#[test]
fn by_hand_waits_at_its_end_for_the_lock_of_another_process() {
    let scratch = Scratch::new();
    let read = vec![select("SELECT count(*) FROM t", &[], Fetch::All)];
    let read = transaction("read", Begin::None, vec![], read);
    let mut trial = trial("by-hand", vec![scratch.database()], vec![read], vec![role("r", 1, &[0], count(5))]);
    trial.sharing = Sharing::GroupCommit { readers: 1 };
    trial.connection.settings.extend(pragmas(&[("busy_timeout", "0")]));
    trial.connection.read_back = vec!["busy_timeout".into()];
    scratch.run("PRAGMA journal_mode = WAL");
    scratch.run("BEGIN IMMEDIATE");
    let outcome = std::thread::scope(|scope| {
        let outcome = scope.spawn(|| RUNNER.run(&trial));
        // The trial itself takes some tens of milliseconds.
        std::thread::sleep(std::time::Duration::from_secs(1));
        scratch.run("COMMIT");
        outcome.join().expect("a result")
    });
    let ended = outcome.result.connections.iter().map(|ended| (ended.label.as_str(), &ended.settings["busy_timeout"]));
    let set = &Value::Integer(0);
    assert_eq!(ended.collect::<Vec<_>>(), [("writer", set), ("reader", set)]);
}
