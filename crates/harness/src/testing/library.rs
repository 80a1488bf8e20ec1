//! Tests of every library that keeps its connections itself, for each runner that has such a library: what the
//! conformance suite does not ask of a driver. They also hold for drivers whose connections the harness keeps.

use litelab_protocol::{
    Begin, Executor, Failed, Fetch, Inspect, Inspection, Load, Sharing, Trial, Until, Upgrade, Work,
};
use serde_json::json;

use super::scratch::{MS, Scratch, insert, trial};
use super::{Program, count, file, inspect_request, pragmas, role, select, timely, transaction, tries};

/// A runner's program and its drivers of this kind: name and executor.
pub struct Libraries(pub Program, pub &'static [(&'static str, Executor)]);

/// Generates a test from each of these functions, with the libraries that the caller passes.
#[macro_export]
macro_rules! library_tests {
    ($libraries:expr) => {
        $crate::library_tests!($libraries;
            what_cannot_be_done_is_said
            what_is_no_sqlite_error_ends_the_trial
            a_long_write_leaves_the_runtime_free_and_readers_apart_from_it_too
            a_data_source_name_is_opened_by_the_library
        );
    };
    ($libraries:expr; $($name:ident)+) => {
        $(#[test]
        fn $name() {
            $crate::testing::library::$name(&$libraries);
        })+
    };
}

/// Inspects the database of the name with three connections and one setting, a busy timeout of 77 ms.
pub fn inspect(runner: &Program, driver: &str, dsn: &str) -> Result<Inspection, String> {
    let settings = pragmas(&[("busy_timeout", "77")]);
    runner.inspect(&Inspect { settings, read_back: vec!["busy_timeout".into()], ..inspect_request(driver, dsn) })
}

/// Settings are lost with a connection that the library replaces, because they are not in the name.
pub fn a_data_source_name_is_opened_by_the_library(Libraries(runner, drivers): &Libraries) {
    for (name, _) in *drivers {
        for mode in ["delete", "wal"] {
            let scratch = Scratch::new();
            scratch.run(&format!("PRAGMA journal_mode = {mode}"));
            let found = inspect(runner, name, &scratch.path("test.db").display().to_string()).expect("an answer");
            let timeouts: Vec<_> = found.connections.iter().map(|c| c.settings["busy_timeout"].clone()).collect();
            assert_eq!(timeouts, [77.into(), 77.into(), 77.into()], "{name}");
            assert_eq!(found.upgrade, Some(Upgrade::Fails), "{name}");
            let pool = matches!(*name, "sqlx" | "deadpool-sqlite").then(|| 5_000.into());
            assert_eq!(found.replaced.map(|c| c.settings["busy_timeout"].clone()), pool, "{name}");
        }
    }
}

/// A trial that the driver cannot execute is refused with a reason, and with the code if SQLite refuses it.
pub fn what_cannot_be_done_is_said(Libraries(runner, drivers): &Libraries) {
    let scratch = Scratch::new();
    for (name, executor) in *drivers {
        let roles = vec![role("w", 1, &[0], count(5))];
        let mut base = trial((name, *executor), vec![scratch.database()], vec![insert(Begin::None)], roles);
        base.sharing = Sharing::OneConnection;
        let refused = |word: &str, change: &dyn Fn(&mut Trial)| {
            let mut trial = base.clone();
            change(&mut trial);
            let Failed { reason, code } = runner.refuse(&trial);
            assert!(reason.contains(word), "{name}: {reason}");
            code
        };
        refused("turbo", &|t| drop(t.connection.options.insert("turbo".into(), json!(1))));
        refused("parameters", &|t| t.transactions[0].statements[0].bind = vec![0]);
        refused("yields", &|t| t.transactions[0].statements[0].yields = vec!["id".into()]);
        let code = refused("syntax error", &|t| t.transactions[0].statements[0].sql = "INSRT INTO t".into());
        assert_eq!(code.as_deref(), Some("SQLITE_ERROR"), "{name}");
        let verify = Work::Verify { value: "a".into(), hash: "b".into() };
        refused("`a`", &|t| t.transactions[0].statements[0].work = verify.clone());
        refused("SQLITE_CANTOPEN", &|t| t.databases = vec![file(&scratch.path("no/such.db"))]);
        assert_eq!(runner.run_without_go(&base).status.code(), Some(0), "{name}");
        // These run under every executor.
        if !matches!(*name, "rusqlite" | "c") {
            refused("executor threads", &|t| t.executor = Executor::Threads);
        }
    }
}

/// An error that is not SQLite's ends the trial.
pub fn what_is_no_sqlite_error_ends_the_trial(Libraries(runner, drivers): &Libraries) {
    let fails = |(name, executor): (&str, Executor), (value, reason): (&str, &str), fetch: Fetch| {
        let scratch = Scratch::new();
        scratch.run(&format!("INSERT INTO t VALUES (1, {value}, 0)"));
        let mut read = select("SELECT a FROM t", &[], fetch);
        read.yields = vec!["a".into()];
        let read = transaction("read", Begin::None, vec![], vec![read]);
        // The other worker would run for an hour.
        let roles = vec![role("r", 1, &[0], count(1)), role("w", 1, &[1], Until::Time { ms: 3_600_000 })];
        let mut trial = trial((name, executor), vec![scratch.database()], vec![read, insert(Begin::None)], roles);
        trial.sharing = Sharing::OneConnection;
        let failed = runner.fail(&trial);
        assert!(failed.reason.contains(reason) && failed.code.is_none(), "{name} {value} {fetch:?}: {failed:?}");
    };
    for (name, executor) in *drivers {
        for value in [("CAST(x'ff' AS TEXT)", "utf-8"), ("x'ff'", "BLOB")] {
            for fetch in [Fetch::All, Fetch::Buffer, Fetch::First, Fetch::None] {
                fails((*name, *executor), value, fetch);
            }
        }
    }
}

/// A long write blocks neither the runtime nor readers with connections of their own.
pub fn a_long_write_leaves_the_runtime_free_and_readers_apart_from_it_too(Libraries(runner, drivers): &Libraries) {
    for (name, executor) in *drivers {
        let slowest = |sharing: Sharing| {
            let scratch = Scratch::new();
            let mut write = insert(Begin::Immediate);
            write.hold_us = 500_000;
            let count_rows = select("SELECT count(*) FROM t", &[], Fetch::All);
            let read = transaction("read", Begin::None, vec![], vec![count_rows]);
            let mut roles = vec![role("w", 1, &[0], count(1)), role("r", 2, &[1], Until::Role { name: "w".into() })];
            (roles[1].first_worker, roles[1].load) = (1, Load::Closed { think_us: 5_000 });
            let mut trial = trial((name, *executor), vec![scratch.database()], vec![write, read], roles);
            trial.sharing = sharing;
            let outcome = runner.run(&trial);
            let (write, read) = (outcome.operation("w", "insert"), outcome.operation("r", "read"));
            assert_eq!((write.committed, write.failed, read.failed), (1, 0, 0), "{name} {sharing}");
            let late = outcome.result.timers.get("probe").and_then(|p| p.max()).unwrap_or_default();
            (late, read.service.max().unwrap_or_default())
        };
        let seen = |sharing: Sharing, fits: &dyn Fn(u64) -> bool| {
            tries(|_| {
                let (late, read) = slowest(sharing);
                timely(late < 250 * MS && fits(read), format_args!("{name} {sharing}: {late} {read}"))
            });
        };
        seen(Sharing::OneConnection, &|read| read > 400 * MS);
        seen(Sharing::WriterReaders { readers: 2 }, &|read| read < 250 * MS);
    }
}
