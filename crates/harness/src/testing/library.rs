//! Tests of every library that keeps its connections itself, for each runner that has such a library.

use litelab_protocol::histogram::Histogram;
use litelab_protocol::{
    Begin, Database, Description, Executor, Fetch, Inspect, Inspection, Load, Operation, Prepare, Retry, Sharing,
    Source, Trial, Until, VERSION, Value, Work,
};
use serde_json::json;

use super::scratch::{MS, Scratch, insert, trial};
use super::{Program, count, file, param, pragmas, role, select, statement, timely, transaction, tries};

/// A runner's program and its drivers of this kind: name, executor, kinds of sharing.
pub struct Libraries(pub Program, pub &'static [(&'static str, Executor, &'static [&'static str])]);

/// Generates a test from each of these functions, with the libraries that the caller passes.
#[macro_export]
macro_rules! library_tests {
    ($libraries:expr) => {
        $crate::library_tests!($libraries;
            describe_names_the_builds
            counts_are_those_of_the_rows
            a_database_in_memory_is_set_up_and_torn_down
            values_yields_and_errors_are_those_of_rusqlite
            what_cannot_be_done_is_said
            what_is_no_sqlite_error_ends_the_trial
            inspect_asks_every_connection
            a_long_write_leaves_the_runtime_free_and_readers_apart_from_it_too
        );
    };
    ($libraries:expr; $($name:ident)+) => {
        $(#[test]
        fn $name() {
            $crate::testing::library::$name(&$libraries);
        })+
    };
}

fn sharings(kinds: &[&str]) -> Vec<Sharing> {
    let all = [
        Sharing::OwnConnection,
        Sharing::OneConnection,
        Sharing::Pool { connections: 1 },
        Sharing::Pool { connections: 3 },
        Sharing::AppLock,
        Sharing::WriterReaders { readers: 2 },
    ];
    all.into_iter().filter(|sharing| kinds.contains(&sharing.kind())).collect()
}

/// `describe` lists each driver with its executor, kinds of sharing, version and SQLite build.
pub fn describe_names_the_builds(Libraries(runner, drivers): &Libraries) {
    let description: Description = serde_json::from_slice(&runner.verb("describe", "").stdout).expect("description");
    for (name, executor, kinds) in *drivers {
        let driver = description.drivers.iter().find(|driver| driver.name == *name).expect(name);
        assert_eq!(driver.executors, [*executor], "{name}");
        assert_eq!(driver.sharings, *kinds);
        assert!(driver.version.starts_with("0."), "{}", driver.version);
        assert_eq!(driver.sqlite.as_ref().map(|s| s.version.as_str()), Some(rusqlite::version()));
    }
}

/// Counts agree with the rows in the database, and settings are read, under every sharing and mode of preparing.
pub fn counts_are_those_of_the_rows(Libraries(runner, drivers): &Libraries) {
    for (name, executor, kinds) in *drivers {
        for (sharing, prepare) in sharings(kinds).into_iter().flat_map(|a| [(a, Prepare::Once), (a, Prepare::Each)]) {
            let (a, b) = (Scratch::new(), Scratch::new());
            let read = vec![select("SELECT max(id) FROM t", &[], Fetch::All)];
            let read = transaction("read", Begin::Deferred, vec![], read);
            let mut roles = vec![role("writer", 3, &[0], count(60)), role("reader", 2, &[1], count(80))];
            roles[1].first_worker = 3;
            let transactions = vec![insert(Begin::Immediate), read];
            let mut trial = trial((name, *executor), vec![a.database(), b.database()], transactions, roles);
            (trial.sharing, trial.prepare) = (sharing, prepare);
            trial.connection.read_back = vec!["journal_mode".into(), "synchronous".into()];
            let outcome = runner.run(&trial);
            let context = format!("{name} {sharing} {prepare:?}");
            assert_eq!((a.number("SELECT count(*) FROM t"), b.number("SELECT count(*) FROM t")), (60, 60), "{context}");
            let (write, read) = (outcome.operation("writer", "insert"), outcome.operation("reader", "read"));
            assert_eq!((write.committed, write.rows, write.failed), (120, 120, 0), "{context}");
            assert_eq!((read.committed, read.rows, read.measured), (160, 160, 160), "{context}");
            let waits = |o: &Operation| o.timers.get("wait").map(Histogram::count);
            let expected = match sharing {
                Sharing::OwnConnection => (None, None),
                Sharing::AppLock => (Some(120), None),
                _ => (Some(120), Some(160)),
            };
            assert_eq!((waits(write), waits(read)), expected, "{context}");
            let connections = match sharing {
                Sharing::OwnConnection | Sharing::AppLock => 5,
                Sharing::Pool { connections } => connections as usize,
                Sharing::WriterReaders { .. } => 3,
                _ => 1,
            };
            assert_eq!(outcome.ready.connections.len(), 2 * connections, "{context}");
            let settings = json!({"journal_mode": "wal", "synchronous": 0});
            assert!(outcome.ready.connections.iter().all(|c| json!(c.settings) == settings), "{context}");
            let at_end = &outcome.result.connections;
            assert!(at_end.iter().all(|c| outcome.ready.connections.contains(c)), "{context}: {at_end:?}");
            assert_eq!(at_end.len(), 2 * connections, "{context}");
            let ticked: u64 = outcome.ticks.iter().flat_map(|t| &t.counts).map(|c| c.committed).sum();
            assert_eq!(ticked, 280, "{context}");
            // The runner has closed all its connections: otherwise the journal mode could not change.
            drop(a.connection.execute_batch("PRAGMA journal_mode = DELETE"));
            assert_eq!(
                a.number("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'delete'"),
                1,
                "{context}"
            );
        }
    }
}

/// `setup` and `teardown` of a database in memory run, and a private one refuses several connections.
pub fn a_database_in_memory_is_set_up_and_torn_down(Libraries(runner, drivers): &Libraries) {
    let scratch = Scratch::new();
    for (name, executor, kinds) in *drivers {
        for (shared, sharing) in [(false, Sharing::OneConnection), (true, Sharing::WriterReaders { readers: 2 })] {
            let copy = scratch.path(&format!("{name}-{shared}.db"));
            let database = Database::Memory {
                shared,
                name: "m".into(),
                setup: vec!["CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)".into()],
                teardown: vec![format!("VACUUM INTO '{}'", copy.display())],
            };
            let roles = vec![role("w", 2, &[0], count(50))];
            let mut trial = trial((name, *executor), vec![database], vec![insert(Begin::Immediate)], roles);
            trial.connection.settings.clear();
            trial.sharing = sharing;
            let on = vec!["SQLITE_LOCKED".into(), "SQLITE_BUSY".into()];
            trial.retry = Retry { attempts: 100_000, multiplier: 1.0, backoff_us: 100, max_backoff_us: 100, on };
            assert_eq!(runner.run(&trial).only().committed, 50, "{name}");
            let rows = rusqlite::Connection::open(copy)
                .and_then(|c| c.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0)));
            assert_eq!(rows, Ok(50), "{name}");
            if !shared && kinds.contains(&"pool") {
                trial.sharing = Sharing::Pool { connections: 2 };
                assert!(runner.refuse(&trial).reason.contains("private"), "{name}");
            }
        }
    }
}

/// Bound values, yields, errors and rollbacks are those of a driver on rusqlite.
pub fn values_yields_and_errors_are_those_of_rusqlite(Libraries(runner, drivers): &Libraries) {
    for (name, executor, _) in *drivers {
        let scratch = Scratch::new();
        let yielded = || vec![param("id", Source::Yielded { name: "id".into() })];
        let mut first = select("INSERT INTO t(a) VALUES (0) RETURNING id", &[], Fetch::First);
        first.yields = vec!["id".into()];
        let transactions = vec![
            transaction("start", Begin::Immediate, vec![], vec![first]),
            transaction("finish", Begin::None, yielded(), vec![statement("UPDATE t SET a = ?1 WHERE id = ?1", &[0])]),
            transaction(
                "fails",
                Begin::Immediate,
                yielded(),
                vec![
                    statement("UPDATE t SET b = 1 WHERE id = ?1", &[0]),
                    statement("INSERT INTO t(id) VALUES (?1)", &[0]),
                ],
            ),
        ];
        let roles = vec![role("w", 2, &[0, 1, 2], count(60))];
        let mut trial = trial((name, *executor), vec![scratch.database()], transactions, roles);
        trial.sharing = Sharing::OneConnection;
        let outcome = runner.run(&trial);
        assert_eq!(outcome.operation("w", "finish").rows, 20, "{name}");
        let fails = outcome.operation("w", "fails");
        assert_eq!((fails.failed, fails.errors["SQLITE_CONSTRAINT_PRIMARYKEY"].seen), (20, 20), "{name}");
        // The failed transactions were rolled back.
        assert_eq!(scratch.number("SELECT count(*) FROM t WHERE a = id AND b IS NULL"), 20, "{name}");
    }
}

/// A trial that the driver cannot execute is refused with a reason.
pub fn what_cannot_be_done_is_said(Libraries(runner, drivers): &Libraries) {
    let scratch = Scratch::new();
    for (name, executor, _) in *drivers {
        let roles = vec![role("w", 1, &[0], count(5))];
        let mut base = trial((name, *executor), vec![scratch.database()], vec![insert(Begin::None)], roles);
        base.sharing = Sharing::OneConnection;
        let refused = |word: &str, change: &dyn Fn(&mut Trial)| {
            let mut trial = base.clone();
            change(&mut trial);
            let reason = runner.refuse(&trial).reason;
            assert!(reason.contains(word), "{name}: {reason}");
        };
        refused("turbo", &|t| drop(t.connection.options.insert("turbo".into(), json!(1))));
        refused("parameters", &|t| t.transactions[0].statements[0].bind = vec![0]);
        refused("yields", &|t| t.transactions[0].statements[0].yields = vec!["id".into()]);
        refused("syntax error", &|t| t.transactions[0].statements[0].sql = "INSRT INTO t".into());
        let verify = Work::Verify { value: "a".into(), hash: "b".into() };
        refused("`a`", &|t| t.transactions[0].statements[0].work = verify.clone());
        refused("SQLITE_CANTOPEN", &|t| t.databases = vec![file(&scratch.path("no/such.db"))]);
        assert_eq!(runner.run_without_go(&base).status.code(), Some(0), "{name}");
        refused("executor threads", &|t| t.executor = Executor::Threads);
    }
}

/// An error that is not SQLite's ends the trial.
pub fn what_is_no_sqlite_error_ends_the_trial(Libraries(runner, drivers): &Libraries) {
    for (name, executor, _) in *drivers {
        let scratch = Scratch::new();
        scratch.run("INSERT INTO t VALUES (1, CAST(x'ff' AS TEXT), 0)");
        let read = transaction("read", Begin::None, vec![], vec![select("SELECT a FROM t", &[], Fetch::All)]);
        // The other worker would run for an hour.
        let roles = vec![role("r", 1, &[0], count(1)), role("w", 1, &[1], Until::Time { ms: 3_600_000 })];
        let mut trial = trial((name, *executor), vec![scratch.database()], vec![read, insert(Begin::None)], roles);
        trial.sharing = Sharing::OneConnection;
        let failed = runner.fail(&trial);
        assert!(failed.reason.contains("utf-8") && failed.code.is_none(), "{name}: {failed:?}");
    }
}

/// `inspect` reads the settings of every connection.
pub fn inspect_asks_every_connection(Libraries(runner, drivers): &Libraries) {
    let scratch = Scratch::new();
    for (name, ..) in *drivers {
        let request = Inspect {
            protocol: VERSION,
            driver: (*name).into(),
            database: scratch.path("test.db").to_str().expect("UTF-8").into(),
            connections: 3,
            options: Default::default(),
            settings: pragmas(&[("cache_size", "-777")]),
            read_back: vec!["cache_size".into()],
        };
        let answer = runner.verb("inspect", &serde_json::to_string(&request).expect("JSON")).stdout;
        let inspection: Inspection = serde_json::from_slice(&answer).expect("inspection");
        let seen: Vec<_> = inspection.connections.iter().map(|c| c.settings["cache_size"].clone()).collect();
        assert_eq!(seen, vec![Value::Integer(-777); 3], "{name}");
    }
}

/// A long write blocks neither the runtime nor readers with connections of their own.
pub fn a_long_write_leaves_the_runtime_free_and_readers_apart_from_it_too(Libraries(runner, drivers): &Libraries) {
    for (name, executor, kinds) in *drivers {
        let slowest = |sharing: Sharing| {
            let scratch = Scratch::new();
            let mut write = insert(Begin::Immediate);
            write.hold_us = 500_000;
            let read = transaction("read", Begin::None, vec![], vec![select("SELECT 1", &[], Fetch::All)]);
            let mut roles = vec![role("w", 1, &[0], count(1)), role("r", 2, &[1], Until::Role { name: "w".into() })];
            (roles[1].first_worker, roles[1].load) = (1, Load::Closed { think_us: 5_000 });
            let mut trial = trial((name, *executor), vec![scratch.database()], vec![write, read], roles);
            trial.sharing = sharing;
            let outcome = runner.run(&trial);
            let late = outcome.result.timers.get("probe").and_then(|p| p.max()).unwrap_or_default();
            (late, outcome.operation("r", "read").service.max().unwrap_or_default())
        };
        let seen = |sharing: Sharing, fits: &dyn Fn(u64) -> bool| {
            tries(|_| {
                let (late, read) = slowest(sharing);
                timely(late < 250 * MS && fits(read), format_args!("{name} {sharing}: {late} {read}"))
            });
        };
        seen(Sharing::OneConnection, &|read| read > 400 * MS);
        if kinds.contains(&"writer-readers") {
            seen(Sharing::WriterReaders { readers: 2 }, &|read| read < 250 * MS);
        }
    }
}
