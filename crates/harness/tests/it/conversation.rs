//! The lines of the protocol and their order: verbs, `ready`, `go`, ticks, refusals.

use crate::common::*;
use litelab_protocol::{
    Begin, Database, Description, Executor, Fetch, Inspect, Message, Order, Sharing, Source, Trial, Until, VERSION,
    Work,
};
use serde_json::json;

#[test]
fn describe_lists_the_drivers_and_noop() {
    let description: Description = serde_json::from_slice(&RUNNER.verb("describe", "").stdout).expect("description");
    assert_eq!((description.protocol, description.runner.as_str()), (VERSION, "scripted"));
    assert!(description.runtime.starts_with("rustc 1."), "{}", description.runtime);
    let list: Vec<_> = description
        .drivers
        .iter()
        .map(|d| (d.name.as_str(), d.interface.as_ref().map(|interface| interface.name.as_str())))
        .collect();
    assert_eq!(list, [("scripted", None), ("queue", Some("queue")), ("noop", None)]);
    assert_eq!(
        description.drivers[0].sharings,
        ["own-connection", "one-connection", "pool", "app-lock", "writer-readers"]
    );
    assert_eq!(description.drivers[1].sharings, ["own-connection", "one-connection"]);
    assert_eq!(description.drivers[1].executors, [Executor::Threads, Executor::Processes]);
    assert!([0, 2].iter().all(|&driver| description.drivers[driver].executors == Executor::ALL));
}

#[test]
fn inspect_opens_as_told() {
    let mut request = Inspect {
        database: "/no/such/file".into(),
        options: [("quiet".into(), json!(true))].into(),
        read_back: vec!["x".into()],
        dsn: None,
        ..inspect_request("scripted", "")
    };
    let inspection = RUNNER.inspect(&request).expect("an answer");
    assert_eq!(inspection.connections.len(), 3);
    assert_eq!(inspection.connections[2].settings, [("x".into(), 0.into())].into());
    request.options.insert("turbo".into(), json!(true));
    assert!(RUNNER.inspect(&request).expect_err("an unknown option").contains("turbo"));
}

#[test]
fn input_that_ends_before_go_runs_nothing() {
    // The statement would fail with an error that is not SQLite's and be reported, if it were run.
    let wrong = one("wrong", Begin::None, told("nonsense"), 0);
    let output = RUNNER.run_without_go(&scripted(vec![wrong], vec![role("r", 1, &[0], count(5))]));
    assert_eq!(output.status.code(), Some(0));
    assert!(matches!(lines(&output)[..], [Message::Ready(_)]));
    let output = RUNNER.verb("run", "");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
}

#[test]
fn ticks_come_while_nothing_is_done_or_the_runtime_stands_still_and_add_up() {
    for executor in EXECUTORS {
        let slow = one("slow", Begin::Immediate, told("ROWS 1"), 70_000);
        let trial = scripted(vec![slow], vec![role("w", 1, &[0], count(3))]);
        let trial = Trial { executor, runtime_threads: Some(1), probe_ms: 10, ..trial };
        tries(|_| {
            let outcome = RUNNER.run(&trial);
            assert!(outcome.ticks.windows(2).all(|t| t[0].t_ms <= t[1].t_ms));
            let sum: u64 = outcome.ticks.iter().flat_map(|tick| &tick.counts).map(|count| count.committed).sum();
            assert_eq!((sum, outcome.only().committed), (3, 3), "{executor}");
            let silent = outcome.ticks.iter().filter(|tick| tick.counts.is_empty()).count();
            timely(silent >= 4, format_args!("{executor}: {silent} of {}", outcome.ticks.len()))?;
            let timers = outcome.result.timers["probe"].count();
            timely((5..=60).contains(&timers), format_args!("{executor}: {timers}"))
        });
    }
}

/// Checks that a changed trial is refused and that the reason contains `word`.
fn refused(base: &Trial, word: &str, change: impl Fn(&mut Trial)) {
    let mut trial = base.clone();
    change(&mut trial);
    let failed = RUNNER.refuse(&trial);
    assert!(failed.reason.contains(word), "`{}` does not say `{word}`", failed.reason);
    assert!(!failed.reason.contains('\n') && failed.code.is_none(), "{failed:?}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let base =
        scripted(vec![one("t", Begin::None, told("ROWS 1"), 0)], vec![role("w", 1, &[0], Until::Time { ms: 1 })]);
    assert_eq!(RUNNER.run(&base).only().failed, 0);
    refused(&base, "99", |t| t.protocol = 99);
    refused(&base, "driver `other` is none of scripted, queue, noop", |t| t.driver = "other".into());
    refused(&base, "group-commit(2)", |t| t.sharing = Sharing::GroupCommit { readers: 2 });
    refused(&base, "pool(0)", |t| t.sharing = Sharing::Pool { connections: 0 });
    refused(&base, "turbo", |t| drop(t.connection.options.insert("turbo".into(), json!(1))));
    refused(&base, "SQLITE_BUSSY", |t| t.retry.on = vec!["SQLITE_BUSSY".into()]);
    refused(&base, "`x`", |t| t.roles[0].until = Until::Role { name: "x".into() });
    refused(&base, "never ends", |t| t.roles[0].until = Until::Role { name: "w".into() });
    refused(&base, "without its transaction", |t| t.roles[0].steps[0].transaction = 1);
    refused(&base, "more workers", |t| t.roles[0].first_in_role = 1);
    refused(&base, "does not have", |t| t.transactions[0].statements[0].bind = vec![9]);
    refused(&base, "no step", |t| (t.roles[0].order, t.roles[0].steps[0].weight) = (Order::Weighted, 0));
}

#[test]
fn an_interface_takes_its_operations_and_nothing_else() {
    let payload = || vec![param("p", Source::Hex { bytes: 4 }), uniform("n", 1, 9)];
    let mut claim = select("CALL queue.claim()", &[], Fetch::First);
    claim.yields = vec!["id".into(), "payload".into()];
    let transactions = vec![
        transaction("enqueue", Begin::None, payload(), vec![statement("CALL queue.enqueue(?1, ?2)", &[0, 1])]),
        transaction("claim", Begin::None, payload(), vec![claim]),
    ];
    let mut base = scripted(transactions, vec![role("w", 1, &[0, 1], count(1))]);
    base.driver = "queue".into();
    assert!(matches!(lines(&RUNNER.run_without_go(&base))[..], [Message::Ready(_)]));
    let enqueue = |sql: &'static str| move |t: &mut Trial| t.transactions[0].statements[0].sql = sql.into();
    refused(&base, "takes no SQL but operations of interface `queue`", enqueue("SELECT ?1, ?2"));
    refused(&base, "no operation `queue.enqueu`", enqueue("CALL queue.enqueu(?1, ?2)"));
    refused(&base, "no operation `stack.enqueue`", enqueue("CALL stack.enqueue(?1, ?2)"));
    refused(&base, "`CALL interface.operation(?1, ?2)`", enqueue("CALL queue.enqueue(?2, ?1)"));
    refused(&base, "(payload, priority), and 1 arguments", enqueue("CALL queue.enqueue(?1)"));
    refused(&base, "2 arguments are given, 1 bound", |t| t.transactions[0].statements[0].bind = vec![0]);
    refused(&base, "\"payload\"", |t| t.transactions[1].statements[0].yields = vec!["payload".into()]);
    refused(&base, "yields", |t| t.transactions[0].statements[0].yields = vec!["id".into()]);
    refused(&base, "returns nothing", |t| t.transactions[0].statements[0].required = true);
    refused(&base, "returns nothing", |t| t.transactions[0].statements[0].fetch = Fetch::All);
    let memory = Database::Memory { shared: false, name: "m".into(), setup: vec![], teardown: vec![] };
    refused(&base, "not in memory", |t| t.databases = vec![memory.clone()]);
    let server = Database::Server { url: "postgres://h/d".into(), schema: "s".into() };
    refused(&base, "this one is a server's", |t| t.databases = vec![server.clone()]);
    refused(&base, "begin = \"none\"", |t| t.transactions[1].begin = Begin::Immediate);
    refused(&base, "executor inline is not supported", |t| t.executor = Executor::Inline);
    refused(&base, "pool(2)", |t| t.sharing = Sharing::Pool { connections: 2 });
}

#[test]
fn what_is_no_sqlite_error_ends_the_trial() {
    for (script, reason) in [("nonsense", "t: `nonsense` is not in the script"), ("PANIC", "panic: as told")] {
        let wrong = one("t", Begin::None, told(script), 0);
        // Alone, and with a worker that would run for an hour.
        let long = role("w", 1, &[1], Until::Time { ms: 3_600_000 });
        let beside = one("beside", Begin::None, told("ROWS 1"), 100);
        for (roles, executor) in
            [vec![], vec![long]].into_iter().flat_map(|roles| EXECUTORS.map(|e| (roles.clone(), e)))
        {
            let roles = [vec![role("r", 1, &[0], count(1))], roles].concat();
            let mut trial = scripted(vec![wrong.clone(), beside.clone()], roles);
            trial.executor = executor;
            let failed = RUNNER.fail(&trial);
            assert_eq!((failed.reason.as_str(), failed.code), (reason, None), "{executor}");
        }
    }
}

#[test]
fn the_noop_driver_does_all_but_call() {
    let params = vec![param("h", Source::Hex { bytes: 16 })];
    let mut claim = select("no SQL at all", &[0], Fetch::All);
    claim.required = true;
    claim.work = Work::Verify { value: "no".into(), hash: "column".into() };
    let transaction = transaction("t", Begin::Immediate, params, vec![claim]);
    let mut trial = trial("noop", vec![nowhere()], vec![transaction], vec![role("w", 2, &[0], count(1_000))]);
    trial.sharing = Sharing::Pool { connections: 1 };
    for executor in EXECUTORS {
        trial.executor = executor;
        let outcome = RUNNER.run(&trial);
        let only = outcome.only();
        assert_eq!((only.committed, only.empty, only.rows, only.service.count()), (1_000, 0, 1_000, 1_000));
        assert_eq!(only.timers.get("query").map(|q| q.count()), Some(1_000));
    }
}
