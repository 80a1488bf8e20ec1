//! Output of the runner: its description, its connections, and its refusals.

use crate::common::*;
use litelab_protocol::{Begin, Description, Fetch, Until, VERSION, Work};
use serde_json::json;

#[test]
fn describe_names_the_builds() {
    let output = RUNNER.verb("describe", "");
    let description: Description = serde_json::from_slice(&output.stdout).expect("description");
    assert_eq!(description.protocol, VERSION);
    assert!(description.runtime.starts_with("rustc 1."), "{}", description.runtime);
    let driver = &description.drivers[0];
    assert!(driver.version.starts_with("0.41."), "{}", driver.version);
    let sqlite = driver.sqlite.as_ref().expect("build");
    assert_eq!(sqlite.version, rusqlite::version());
    assert!(sqlite.source_id.starts_with("20") && !sqlite.compile_options.is_empty());
    assert!(driver.sharings.contains(&"group-commit".into()));
    let c = description.drivers.iter().find(|driver| driver.name == "c").expect("driver c");
    assert_eq!((&c.version, &c.sqlite), (&sqlite.version, &driver.sqlite));
    assert!(!c.sharings.contains(&"group-commit".into()));
    let names: Vec<_> = description.drivers.iter().map(|driver| driver.name.as_str()).collect();
    assert_eq!(names, ["rusqlite", "by-hand", "async-sqlite", "c", "noop"]);
    assert!(description.drivers.iter().all(|driver| driver.sqlite.is_some() == (driver.name != "noop")));
}

fn what_cannot_be_prepared_is_refused(driver: &str) {
    let scratch = Scratch::new();
    let base = trial(driver, vec![scratch.database()], vec![insert(Begin::None)], vec![role("w", 1, &[0], count(5))]);
    let refused = |change: &dyn Fn(&mut litelab_protocol::Trial), word: &str| {
        let mut trial = base.clone();
        change(&mut trial);
        let failed = RUNNER.refuse(&trial);
        assert!(failed.reason.contains(word), "{} does not say {word}", failed.reason);
        failed
    };
    refused(&|t| drop(t.connection.options.insert("turbo".into(), json!(1))), "turbo");
    refused(&|t| t.transactions[0].statements[0].bind = vec![0], "parameters");
    refused(&|t| t.transactions[0].statements[0].yields = vec!["id".into()], "yields");
    let verify = Work::Verify { value: "a".into(), hash: "b".into() };
    refused(&|t| t.transactions[0].statements[0].work = verify.clone(), "`a`");
    let typo = refused(&|t| t.transactions[0].statements[0].sql = "INSRT INTO t".into(), "syntax error");
    assert_eq!(typo.code.as_deref(), Some("SQLITE_ERROR"));
    refused(&|t| t.databases = vec![file(std::path::Path::new("/no/such/file"))], "unable to open");
}

fn what_is_no_sqlite_error_ends_the_trial(driver: &str) {
    for (value, reason) in [("CAST(x'ff' AS TEXT)", "utf-8"), ("x'ff'", "BLOB")] {
        for fetch in [Fetch::All, Fetch::Buffer, Fetch::First, Fetch::None] {
            let scratch = Scratch::new();
            scratch.run(&format!("INSERT INTO t VALUES (1, {value}, 0)"));
            let mut read = select("SELECT a FROM t", &[], fetch);
            read.yields = vec!["a".into()];
            let read = transaction("read", Begin::None, vec![], vec![read]);
            // The other worker would continue for an hour.
            let roles = vec![role("r", 1, &[0], count(1)), role("w", 1, &[1], Until::Time { ms: 3_600_000 })];
            let failed = fail(&trial(driver, vec![scratch.database()], vec![read, insert(Begin::None)], roles));
            assert!(failed.reason.contains(reason) && failed.code.is_none(), "{fetch:?}: {failed:?}");
        }
    }
}

on_each_driver!(
    what_cannot_be_prepared_is_refused
    what_is_no_sqlite_error_ends_the_trial
);
