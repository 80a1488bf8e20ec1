//! Contents of the provider's own tables after operations, its settings, and the reported counts and times.

use std::path::{Path, PathBuf};

use litelab_harness::testing::*;
use litelab_protocol::{
    Begin, Database, Description, Executor, Fetch, Sharing, Source, Statement, Trial, Until, Value,
};
use rusqlite::Connection;
use serde_json::json;

const RUNNER: Program = Program(env!("CARGO_BIN_EXE_litelab-runner-duroxide-onewriter"));

const DRIVERS: [&str; 2] = ["duroxide-onewriter", "duroxide-ceiling"];

/// A directory for one database.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("directory"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("orchestrations.db")
    }
}

fn one<T: rusqlite::types::FromSql>(path: &Path, sql: &str) -> T {
    Connection::open(path).and_then(|c| c.query_row(sql, [], |row| row.get(0))).expect(sql)
}

/// Fans out to five activities of this duration, with two read connections in addition to the write connection.
fn fan_out(driver: &str, scratch: &Scratch, delay_ms: u64, workers: u32, until: Until) -> Trial {
    let number = |name, value: u64| param(name, Source::Value { value: value.into() });
    let instance = param("instance", Source::Format { template: "fan-{row}".into() });
    let params = vec![instance, number("activities", 5), number("delay_ms", delay_ms)];
    let call = select("CALL orchestration.fan_out(?1, ?2, ?3)", &[0, 1, 2], Fetch::First);
    let statement = Statement { yields: vec!["succeeded".into()], required: true, ..call };
    let transaction = transaction("fan-out", Begin::None, params, vec![statement]);
    let roles = vec![role("r", workers, &[0], until)];
    let mut trial = trial(driver, vec![file(&scratch.path())], vec![transaction], roles);
    (trial.executor, trial.sharing) = (Executor::Dedicated, Sharing::GroupCommit { readers: 2 });
    trial
}

#[test]
fn describe_tells_the_provider_from_its_ceiling() {
    let description: Description = serde_json::from_slice(&RUNNER.verb("describe", "").stdout).expect("description");
    let of = |name: &str| description.drivers.iter().find(|d| d.name == name).expect("described").clone();
    for name in DRIVERS {
        assert_eq!(of(name).interface.as_ref().map(|i| i.name.as_str()), Some("orchestration"));
        assert!(of(name).version.contains(" on duroxide 0.1."), "{}", of(name).version);
    }
    assert!(of("duroxide-onewriter").sqlite.is_some_and(|build| build.version.starts_with("3.")));
    assert_eq!(of("duroxide-ceiling").sqlite, None);
}

#[test]
fn every_connection_reports_its_settings() {
    let names = ["journal_mode", "synchronous", "query_only", "no_such"];
    for (durability, synchronous) in [(None, 2), (Some("full"), 2), (Some("normal"), 1)] {
        let scratch = Scratch::new();
        let mut trial = fan_out("duroxide-onewriter", &scratch, 0, 2, count(4));
        trial.connection.read_back = names.map(String::from).to_vec();
        if let Some(durability) = durability {
            trial.connection.options.insert("durability".into(), json!(durability));
        }
        let ready = RUNNER.run(&trial).ready;
        let labels: Vec<_> = ready.connections.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["writer", "reader", "reader"]);
        for (connection, reads) in ready.connections.iter().zip([0, 1, 1]) {
            let set = |name: &str| connection.settings[name].clone();
            assert_eq!(
                [set("journal_mode"), set("query_only"), set("no_such")],
                ["wal".into(), Value::Integer(reads), Value::Null]
            );
            // A connection that never writes has nothing to sync.
            assert!(reads == 1 || set("synchronous") == Value::Integer(synchronous), "{connection:?}");
        }
    }
}

#[test]
fn what_has_ended_is_on_the_disk() {
    let scratch = Scratch::new();
    let outcome = RUNNER.run(&fan_out("duroxide-onewriter", &scratch, 0, 4, count(12)));
    assert_eq!((outcome.only().committed, outcome.only().errors.len()), (12, 0));
    let path = scratch.path();
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM execution WHERE status = 'Completed'"), 12);
    let completed = "SELECT count(*) FROM history WHERE data LIKE '%ActivityCompleted%'";
    assert_eq!(one::<i64>(&path, completed), 60);
    assert_eq!(one::<String>(&path, "SELECT name FROM instance WHERE name = 'fan-7'"), "fan-7");
}

#[test]
fn the_ceiling_writes_nothing() {
    let scratch = Scratch::new();
    let outcome = RUNNER.run(&fan_out("duroxide-ceiling", &scratch, 0, 4, count(12)));
    assert_eq!(outcome.only().committed, 12);
    assert!(!scratch.path().exists());
    assert_eq!(outcome.ready.connections.len(), 3);
}

#[test]
fn activities_last_and_nobody_asks_again() {
    for driver in DRIVERS {
        let scratch = Scratch::new();
        let mut trial = fan_out(driver, &scratch, 400, 1, count(2));
        trial.connection.options.insert("worker_concurrency".into(), json!(8));
        trial.connection.options.insert("wait".into(), json!("told"));
        tries(|tried| {
            trial.databases = vec![file(&scratch.0.path().join(format!("{tried}.db")))];
            let result = RUNNER.run(&trial).result;
            assert!(["idle", "back-off"].iter().all(|part| !result.timers.contains_key(*part)), "{driver}");
            let service = &result.operations[0].service;
            let (shortest, longest) = (service.quantile(0.0).expect("two"), service.max().expect("two"));
            // The buckets of the histogram are two in a thousand wide.
            assert!(shortest >= 399_000_000, "{driver}: {shortest}");
            // Five in parallel take less than two in sequence; a disk may stall.
            timely(longest < 800_000_000, format_args!("{driver}: {shortest} to {longest}"))
        });
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    let scratch = Scratch::new();
    let refused = |change: &dyn Fn(&mut Trial), word: &str| {
        let mut trial = fan_out("duroxide-onewriter", &scratch, 0, 1, count(1));
        change(&mut trial);
        let failed = RUNNER.refuse(&trial);
        assert!(failed.reason.contains(word) && !failed.reason.contains('\n'), "{}", failed.reason);
    };
    refused(&|t| drop(t.connection.options.insert("durability".into(), json!("some"))), "`durability`");
    refused(&|t| drop(t.connection.options.insert("polling".into(), json!(1))), "`polling`");
    refused(&|t| drop(t.connection.options.insert("acks".into(), json!("early"))), "`acks`");
    refused(&|t| t.connection.settings = pragmas(&[("synchronous", "OFF")]), "PRAGMA synchronous");
    refused(&|t| t.sharing = Sharing::OneConnection, "one-connection");
    let memory = Database::Memory { name: "a".into(), shared: true, setup: vec![], teardown: vec![] };
    refused(&|t| t.databases = vec![memory.clone()], "not in memory");
    refused(&|t| t.databases = vec![file(&scratch.0.path().join("no/such"))], "no/such");
    let other = Connection::open(scratch.path()).expect("open");
    other.execute_batch("CREATE TABLE t(x)").expect("made");
    refused(&|_| {}, "orchestrations.db");
}
