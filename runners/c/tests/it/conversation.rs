//! What is said and when: verbs, `ready`, `go`, ticks, refusals.

use crate::common::*;
use litelab_protocol::{
    Access, Begin, Description, Executor, Fetch, Inspect, Inspection, Line, Order, Source, Trial, Until, VERSION, Work,
};
use serde_json::json;

#[test]
fn describe_names_the_build_that_rusqlite_has() {
    let output = runner("describe", "");
    let description: Description = serde_json::from_slice(&output.stdout).expect("description");
    assert_eq!((description.protocol, description.runner.as_str()), (VERSION, "c"));
    assert!(!description.runtime.is_empty());
    let build = description.drivers[0].sqlite.as_ref().expect("build");
    let scratch = Scratch::new();
    let ask = |sql: &str| -> Vec<String> {
        let mut statement = scratch.connection.prepare(sql).expect("SQL");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().expect("text")
    };
    assert_eq!(build.version, rusqlite::version());
    assert_eq!(ask("SELECT sqlite_source_id()"), [build.source_id.as_str()]);
    assert_eq!(build.compile_options, ask("PRAGMA compile_options"));
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
        // The C API has no busy timeout of its own.
        let expected = [
            ("busy_timeout", json!(0)),
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
        driver: "c".into(),
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
    let output = runner("run", &json(&trial));
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
    tries(|_| {
        let outcome = run(&trial);
        assert!(outcome.ticks.windows(2).all(|t| t[0].t_ms <= t[1].t_ms));
        let sum: u64 = outcome.ticks.iter().flat_map(|tick| &tick.counts).map(|count| count.committed).sum();
        assert_eq!((sum, outcome.only().committed), (3, 3));
        let silent = outcome.ticks.iter().filter(|tick| tick.counts.is_empty()).count();
        timely(silent >= 3, format_args!("{silent} of {}", outcome.ticks.len()))?;
        let (probe, elapsed) = (outcome.result.probe.expect("probe"), outcome.result.elapsed_ns / 10_000_000);
        let timers = probe.lateness.count();
        timely((elapsed.saturating_sub(2)..=elapsed + 20).contains(&timers), timers)
    });
}

#[test]
fn what_cannot_be_done_is_said() {
    let scratch = Scratch::new();
    let base = trial(vec![scratch.database()], vec![insert(Begin::None)], vec![role("w", 1, &[0], count(5))]);
    let refused = |change: &dyn Fn(&mut Trial), word: &str| {
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
    refused(&|t| t.access = Access::Pool { connections: 0 }, "at least one");
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
    let typo = refused(&|t| t.transactions[0].statements[0].sql = "INSRT INTO t \"ü\\".into(), "syntax error");
    assert_eq!(typo.code.as_deref(), Some("SQLITE_ERROR"));
    // A reason that has to be cut, in the middle of a character too, stays UTF-8.
    for n in 0..4 {
        let sql = format!("INSRT {}{}", "x".repeat(n), "ü€".repeat(1_000));
        refused(&|t| t.transactions[0].statements[0].sql = sql.clone(), "INSRT");
    }
    let output = runner("run", "{\"protocol\":1}\n");
    assert!(matches!(&lines(&output)[..], [Line::Failed(f)] if f.reason.contains("not a trial")));
    let output = runner("run", &(json(&base) + "{\"type\":\"stop\"}\n"));
    assert!(matches!(&lines(&output)[..], [Line::Ready(_), Line::Failed(f)] if f.reason.contains("not go")));
}

#[test]
fn what_is_no_sqlite_error_ends_the_trial() {
    let scratch = Scratch::new();
    scratch.run("INSERT INTO t VALUES (1, x'ff', 0)");
    let mut blob = select("SELECT a FROM t", &[], Fetch::All);
    blob.yields = vec!["a".into()];
    let read = transaction("read", Begin::None, vec![], vec![blob]);
    // The other worker would go on for an hour.
    let roles = vec![role("r", 1, &[0], count(1)), role("w", 1, &[1], Until::Time { ms: 3_600_000 })];
    let failed = fail(&trial(vec![scratch.database()], vec![read, insert(Begin::None)], roles));
    assert!(failed.reason.contains("BLOB") && failed.code.is_none(), "{failed:?}");
}

#[test]
fn a_database_of_a_server_is_refused() {
    let database = litelab_protocol::Database::Server { url: "postgres://h/d".into(), schema: "s".into() };
    let failed = fail(&trial(vec![database], vec![insert(Begin::None)], vec![role("w", 1, &[0], count(1))]));
    assert!(failed.reason.contains("this one is a server's") && failed.code.is_none(), "{failed:?}");
}

#[test]
fn the_noop_driver_does_all_but_call() {
    let mut claim = select("no SQL at all", &[0], Fetch::All);
    claim.required = true;
    let transaction = transaction("t", Begin::Immediate, vec![param("h", Source::Hex { bytes: 16 })], vec![claim]);
    let database = litelab_protocol::Database::File { path: "/no/such/file".into() };
    let mut trial = trial(vec![database], vec![transaction], vec![role("w", 2, &[0], count(1_000))]);
    trial.driver = "noop".into();
    trial.access = Access::Pool { connections: 1 };
    trial.connection.read_back = vec!["journal_mode".into()];
    let outcome = run(&trial);
    assert_eq!(outcome.ready.connections[0].settings["journal_mode"], json!(null));
    let only = outcome.only();
    assert_eq!((only.committed, only.empty, only.rows, only.service.count()), (1_000, 0, 1_000, 1_000));
    assert_eq!(only.query.as_ref().map(|q| q.count()), Some(1_000));
}
