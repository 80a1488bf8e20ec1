//! What is said and when: verbs, `ready`, `go`, ticks, refusals.

mod common;

use common::*;
use litelab_protocol::{
    Access, Begin, Description, Executor, Fetch, Inspect, Inspection, Line, Order, Source, Until, VERSION, Work,
};
use serde_json::json;

#[test]
fn describe_names_the_builds() {
    let output = runner("describe", "");
    let description: Description = serde_json::from_slice(&output.stdout).expect("description");
    assert_eq!(description.protocol, VERSION);
    assert!(description.runtime.starts_with("rustc 1."), "{}", description.runtime);
    let driver = &description.drivers[0];
    assert!(driver.version.starts_with("0.41."), "{}", driver.version);
    let sqlite = driver.sqlite.as_ref().expect("build");
    assert_eq!(sqlite.version, rusqlite::version());
    assert!(sqlite.source_id.starts_with("20") && !sqlite.compile_options.is_empty());
    assert!(!driver.accesses.contains(&"group-commit".into()));
    assert_eq!((description.drivers[1].name.as_str(), &description.drivers[1].sqlite), ("noop", &None));
}

#[test]
fn settings_are_those_in_effect() {
    let scratch = Scratch::new();
    let mut trial = trial(vec![scratch.database()], vec![insert(Begin::None)], vec![role("w", 2, &[0], count(0))]);
    trial.connection.pragmas = pragmas(&[("journal_mode", "WAL"), ("cache_size", "-777")]);
    trial.connection.read_back =
        ["journal_mode", "synchronous", "cache_size", "busy_timeout", "no_such"].map(String::from).to_vec();
    let ready = run(&trial).ready;
    assert_eq!(ready.connections.len(), 2);
    for connection in ready.connections {
        assert_eq!((connection.database, connection.label.as_str()), (0, "w"));
        // Synchronous FULL is what this build has in WAL mode when nobody says otherwise; 5 s are rusqlite's own.
        let expected = [
            ("busy_timeout", json!(5000)),
            ("cache_size", json!(-777)),
            ("journal_mode", json!("wal")),
            ("no_such", json!(null)),
            ("synchronous", json!(2)),
        ];
        assert_eq!(connection.settings, expected.map(|(name, value)| (name.into(), value)).into());
    }
}

#[test]
fn inspect_opens_as_told() {
    let scratch = Scratch::new();
    let mut request = Inspect {
        protocol: VERSION,
        driver: "rusqlite".into(),
        database: scratch.path("test.db").to_str().expect("UTF-8").into(),
        connections: 3,
        options: Default::default(),
        pragmas: pragmas(&[("foreign_keys", "0")]),
        read_back: vec!["foreign_keys".into(), "journal_mode".into()],
    };
    let ask = |request: &Inspect| runner("inspect", &serde_json::to_string(request).expect("JSON"));
    let inspection: Inspection = serde_json::from_slice(&ask(&request).stdout).expect("inspection");
    assert_eq!(inspection.connections.len(), 3);
    let settings = &inspection.connections[2].settings;
    assert_eq!((&settings["foreign_keys"], &settings["journal_mode"]), (&json!(0), &json!("delete")));
    request.options.insert("turbo".into(), json!(true));
    let refused = ask(&request);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("turbo"));
}

#[test]
fn input_that_ends_before_go_runs_nothing() {
    let scratch = Scratch::new();
    let trial = trial(vec![scratch.database()], vec![insert(Begin::None)], vec![role("w", 1, &[0], count(5))]);
    let output = run_without_go(&trial);
    assert_eq!(output.status.code(), Some(0));
    assert!(matches!(lines(&output)[..], [Line::Ready(_)]));
    assert_eq!(scratch.number("SELECT count(*) FROM t"), 0);
    let output = runner("run", "");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
}

#[test]
fn ticks_come_while_nothing_is_done_and_add_up() {
    let scratch = Scratch::new();
    let mut slow = insert(Begin::Immediate);
    slow.hold_us = 70_000;
    let mut trial = trial(vec![scratch.database()], vec![slow], vec![role("w", 1, &[0], count(3))]);
    trial.probe_ms = 10;
    let outcome = run(&trial);
    let silent = outcome.ticks.iter().filter(|tick| tick.counts.is_empty()).count();
    assert!(silent >= 4, "{silent} of {}", outcome.ticks.len());
    assert!(outcome.ticks.windows(2).all(|t| t[0].t_ms <= t[1].t_ms));
    let sum: u64 = outcome.ticks.iter().flat_map(|tick| &tick.counts).map(|count| count.committed).sum();
    assert_eq!((sum, outcome.only().committed), (3, 3));
    let probe = outcome.result.probe.expect("probe");
    assert!((5..=60).contains(&probe.lateness.count()), "{}", probe.lateness.count());
}

#[test]
fn a_killed_runner_leaves_no_child_behind() {
    let scratch = Scratch::new();
    let long = role("w", 1, &[0], Until::Time { ms: 60_000 });
    let mut trial = trial(vec![scratch.database()], vec![insert(Begin::None)], vec![long]);
    trial.tick_ms = 20;
    let begun = std::time::Instant::now();
    // `ready`, and two ticks of the process that looks on. It holds the same end of the pipe, so reading to the end
    // waits for it, too.
    let later = kill_after(&trial, 3);
    assert!(begun.elapsed().as_secs() < 30, "something lived on");
    assert!(later.lines().all(|line| line.contains("\"tick\"")), "{later}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let scratch = Scratch::new();
    let base = trial(vec![scratch.database()], vec![insert(Begin::None)], vec![role("w", 1, &[0], count(5))]);
    let refused = |change: &dyn Fn(&mut litelab_protocol::Trial), word: &str| {
        let mut trial = base.clone();
        change(&mut trial);
        let failed = fail(&trial);
        assert!(failed.reason.contains(word), "{} does not say {word}", failed.reason);
        failed
    };
    refused(&|t| t.protocol = 99, "99");
    refused(&|t| t.driver = "other".into(), "other");
    refused(&|t| t.executor = Executor::Inline, "inline");
    refused(&|t| t.access = Access::GroupCommit { readers: 2 }, "group-commit(2)");
    refused(&|t| drop(t.connection.options.insert("turbo".into(), json!(1))), "turbo");
    refused(&|t| t.retry.on = vec!["SQLITE_BUSSY".into()], "SQLITE_BUSSY");
    refused(&|t| t.roles[0].until = Until::Role { name: "x".into() }, "`x`");
    refused(&|t| t.roles[0].until = Until::Role { name: "w".into() }, "never ends");
    refused(&|t| t.roles[0].steps[0].transaction = 1, "without its transaction");
    refused(&|t| t.roles[0].first_in_role = 1, "more workers");
    refused(&|t| t.transactions[0].statements[0].bind = vec![0], "parameters");
    refused(&|t| t.transactions[0].statements[0].bind = vec![0, 9], "does not have");
    refused(&|t| t.transactions[0].statements[0].yields = vec!["id".into()], "yields");
    let verify = Work::Sha256Verify { value: "a".into(), hash: "b".into() };
    refused(&|t| t.transactions[0].statements[0].work = verify.clone(), "`a`");
    refused(&|t| (t.roles[0].order, t.roles[0].steps[0].weight) = (Order::Weighted, 0), "no step");
    let typo = refused(&|t| t.transactions[0].statements[0].sql = "INSRT INTO t".into(), "syntax error");
    assert_eq!(typo.code.as_deref(), Some("SQLITE_ERROR"));
}

#[test]
fn what_is_no_sqlite_error_ends_the_trial() {
    let scratch = Scratch::new();
    scratch.run("INSERT INTO t VALUES (1, CAST(x'ff' AS TEXT), 0)");
    let read = transaction("read", Begin::None, vec![], vec![select("SELECT a FROM t", &[], Fetch::All)]);
    // The other worker would go on for an hour.
    let roles = vec![role("r", 1, &[0], count(1)), role("w", 1, &[1], Until::Time { ms: 3_600_000 })];
    let failed = fail(&trial(vec![scratch.database()], vec![read, insert(Begin::None)], roles));
    assert!(failed.reason.contains("utf-8") && failed.code.is_none(), "{failed:?}");
}

#[test]
fn the_noop_driver_does_all_but_call() {
    let params = vec![param("h", Source::Hex { bytes: 16 })];
    let mut claim = select("no SQL at all", &[0], Fetch::All);
    claim.required = true;
    let transaction = transaction("t", Begin::Immediate, params, vec![claim]);
    let database = file(std::path::Path::new("/no/such/file"));
    let mut trial = trial(vec![database], vec![transaction], vec![role("w", 2, &[0], count(1_000))]);
    trial.driver = "noop".into();
    trial.access = Access::Pool { connections: 1 };
    let outcome = run(&trial);
    let only = outcome.only();
    assert_eq!((only.committed, only.empty, only.rows, only.service.count()), (1_000, 0, 1_000, 1_000));
    assert_eq!(only.query.as_ref().map(|q| q.count()), Some(1_000));
}
