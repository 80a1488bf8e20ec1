//! Contents of duroxide's own tables after operations, its settings, and the reported counts and times.

use std::path::PathBuf;

use litelab_harness::testing::*;
use litelab_protocol::{
    Begin, Database, Description, ErrorCount, Executor, Fetch, Sharing, Source, Statement, Transaction, Trial, Until,
};
use serde_json::{Value, json};
use sqlx::{Connection, Row, SqliteConnection};

const RUNNER: Program = Program(env!("CARGO_BIN_EXE_litelab-runner-duroxide"));

const FAN_OUT: &str = "CALL orchestration.fan_out(?1, ?2, ?3)";
const LARGE: &str = "CALL orchestration.large_payload(?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// A directory for one database.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("directory"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("orchestrations.db")
    }

    fn connect(&self, runtime: &tokio::runtime::Runtime) -> SqliteConnection {
        runtime.block_on(SqliteConnection::connect(self.path().to_str().expect("UTF-8"))).expect("open")
    }

    /// The first column of every row of a query, as text.
    fn column(&self, sql: &str) -> Vec<String> {
        let runtime = runtime();
        let mut connection = self.connect(&runtime);
        let rows = runtime.block_on(sqlx::query(sql).fetch_all(&mut connection)).expect("rows");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("runtime")
}

fn number(name: &str, value: u64) -> (String, Source) {
    (name.into(), Source::Value { value: value.into() })
}

fn instance(template: &str) -> (String, Source) {
    ("instance".into(), Source::Format { template: template.into() })
}

/// A transaction of one operation, whose arguments are the parameters in order.
fn operation(name: &str, sql: &str, columns: &[&str], params: Vec<(String, Source)>) -> Transaction {
    let bind: Vec<u32> = (0..params.len() as u32).collect();
    let yields = columns.iter().map(|name| (*name).to_owned()).collect();
    let statement = Statement { yields, required: true, ..select(sql, &bind, Fetch::First) };
    let params = params.into_iter().map(|(name, source)| param(&name, source)).collect();
    transaction(name, Begin::None, params, vec![statement])
}

fn fan_out(activities: u64, delay_ms: u64) -> Transaction {
    let params = vec![instance("fan-{row}"), number("activities", activities), number("delay_ms", delay_ms)];
    operation("fan-out", FAN_OUT, &["succeeded"], params)
}

/// A trial in which one role executes the transaction, with a pool of five connections.
fn trial_of(scratch: &Scratch, transaction: Transaction, workers: u32, until: Until) -> Trial {
    let roles = vec![role("r", workers, &[0], until)];
    let mut trial = trial("duroxide-sqlite", vec![file(&scratch.path())], vec![transaction], roles);
    (trial.executor, trial.sharing) = (Executor::Dedicated, Sharing::Pool { connections: 5 });
    trial
}

/// [`trial_of`] with one connection, so that no two transactions overlap. Where they do, duroxide fails an instance whose
/// acknowledgement SQLite has refused six times, as happens on a busy machine.
fn alone(scratch: &Scratch, transaction: Transaction, workers: u32, until: Until) -> Trial {
    Trial { sharing: Sharing::Pool { connections: 1 }, ..trial_of(scratch, transaction, workers, until) }
}

#[test]
fn describe_names_the_builds() {
    let description: Description = serde_json::from_slice(&RUNNER.verb("describe", "").stdout).expect("description");
    let driver = &description.drivers[0];
    assert_eq!(
        (driver.name.as_str(), driver.interface.as_ref().map(|i| i.name.as_str())),
        ("duroxide-sqlite", Some("orchestration"))
    );
    assert!(driver.version.starts_with("0.1."), "{}", driver.version);
    let sqlite = driver.sqlite.as_ref().expect("build");
    assert!(sqlite.version.starts_with("3.") && sqlite.source_id.starts_with("20"), "{sqlite:?}");
}

#[test]
fn every_connection_has_the_librarys_settings_or_those_asked_for() {
    let names = ["journal_mode", "synchronous", "wal_autocheckpoint", "cache_size", "busy_timeout", "no_such"];
    // duroxide sets `synchronous = WAL`, which SQLite interprets as NORMAL.
    let own = [json!("wal"), json!(1), json!(10_000), json!(-64_000), json!(60_000), Value::Null];
    let asked = [json!("wal"), json!(2), json!(1_000), json!(-2_000), json!(77), Value::Null];
    let profile = pragmas(&[
        ("synchronous", "FULL"),
        ("wal_autocheckpoint", "1000"),
        ("cache_size", "-2000"),
        ("busy_timeout", "77"),
    ]);
    for (pragmas, expected, connections) in [(vec![], own, 5), (profile, asked, 2)] {
        let scratch = Scratch::new();
        let mut trial = trial_of(&scratch, fan_out(2, 0), 3, count(6));
        trial.sharing = Sharing::Pool { connections };
        (trial.connection.settings, trial.connection.read_back) = (pragmas, names.map(String::from).to_vec());
        let ready = RUNNER.run(&trial).ready;
        assert_eq!(ready.connections.len() as u32, connections);
        for connection in ready.connections {
            assert_eq!(
                (connection.label.as_str(), names.map(|name| connection.settings[name].to_json())),
                ("pool", expected.clone())
            );
        }
    }
}

#[test]
fn what_has_ended_is_in_the_history() {
    let scratch = Scratch::new();
    let outcome = RUNNER.run(&alone(&scratch, fan_out(5, 0), 4, count(12)));
    let of = outcome.only();
    assert_eq!((of.committed, of.failed, of.rows), (12, 0, 12), "{:?}", of.errors);
    let ended = "SELECT count(*) || ' ' || status FROM executions GROUP BY status";
    assert_eq!(scratch.column(ended), ["12 Completed"]);
    let events = "SELECT event_type || ' ' || count(*) FROM history GROUP BY event_type ORDER BY event_type";
    let expected =
        ["ActivityCompleted 60", "ActivityScheduled 60", "OrchestrationCompleted 12", "OrchestrationStarted 12"];
    assert_eq!(scratch.column(events), expected);
    assert_eq!(scratch.column("SELECT instance_id FROM instances WHERE instance_id = 'fan-7'"), ["fan-7"]);
}

#[test]
fn large_payloads_go_through_sub_orchestrations() {
    let scratch = Scratch::new();
    let params = vec![
        instance("large-{row}"),
        number("activities", 4),
        number("sub_orchestrations", 2),
        number("small_kb", 1),
        number("medium_kb", 2),
        number("large_kb", 4),
        number("delay_ms", 0),
    ];
    let large = operation("large-payload", LARGE, &["succeeded", "bytes"], params);
    let outcome = RUNNER.run(&alone(&scratch, large, 1, count(1)));
    assert_eq!(outcome.only().committed, 1);
    let ended = "SELECT status || ' ' || (parent_instance_id IS NULL) FROM executions JOIN instances USING (instance_id) ORDER BY 1";
    assert_eq!(scratch.column(ended), ["Completed 0", "Completed 0", "Completed 1"]);
    // One of each of the first two sizes, two large ones, ten at the end, two in each sub-orchestration.
    let activities = "SELECT count(*) || '' FROM history WHERE event_type = 'ActivityCompleted'";
    assert_eq!(scratch.column(activities), ["18"]);
    let sizes = "SELECT (length(event_data) / 1024) || '' FROM history WHERE event_type = 'OrchestrationCompleted' ORDER BY event_data LIKE '%large%', 1";
    assert_eq!(scratch.column(sizes).iter().filter(|kb| *kb == "4").count(), 1);
}

#[test]
fn activities_last_and_run_side_by_side() {
    let scratch = Scratch::new();
    let mut trial = trial_of(&scratch, fan_out(5, 500), 1, count(1));
    trial.connection.options.insert("worker_concurrency".into(), json!(1));
    let lasted = |trial: &Trial| RUNNER.run(trial).only().service.quantile(0.0).expect("one") / 1_000_000;
    // The buckets of the histogram are two in a thousand wide.
    assert!(lasted(&trial) >= 2_490, "five activities of 500 ms, one after the other");
    trial.connection.options.insert("worker_concurrency".into(), json!(8));
    trial.connection.options.insert("wait".into(), json!("told"));
    tries(|tried| {
        trial.databases = vec![file(&scratch.0.path().join(format!("eight-{tried}.db")))];
        let side_by_side = lasted(&trial);
        assert!(side_by_side >= 499, "{side_by_side} ms");
        // The remaining time is the provider's polling and waiting for locks, which a slow disk prolongs.
        timely(side_by_side < 2_000, format_args!("{side_by_side} ms"))
    });
}

#[test]
fn the_time_is_taken_apart() {
    tries(|_| taken_apart());
}

fn taken_apart() -> Result<(), String> {
    let (mut reads, mut noticed) = (Vec::new(), Vec::new());
    for wait in ["poll", "told"] {
        let scratch = Scratch::new();
        let mut trial = trial_of(&scratch, fan_out(3, 100), 2, count(8));
        trial.connection.options.insert("wait".into(), json!(wait));
        let result = RUNNER.run(&trial).result;
        let part = |name: &str| result.timers.get(name).cloned().unwrap_or_default();
        // Of a start that SQLite refused for too long, duroxide tells no time.
        let parts = (part("enqueue").count(), part("notice").count());
        timely(parts == (8, 8), format_args!("{parts:?}"))?;
        // Each activity is acknowledged once, and each orchestration at its start and its end.
        assert!(part("ack").count() >= 8 * (3 + 2) && part("fetch").count() >= 8 * (3 + 2), "{:?}", result.timers);
        reads.push(part("read").count());
        noticed.push(part("notice").sum());
    }
    // The runtime reads as well; but only a client that polls reads at least twice per orchestration, and sleeps up to
    // 100 ms past the end.
    timely(reads[0] > reads[1] + 8 * 2, format_args!("{reads:?}"))?;
    timely(noticed[0] > noticed[1], format_args!("{noticed:?}"))
}

#[test]
fn errors_that_duroxide_tries_again_are_counted_as_cured() {
    let scratch = Scratch::new();
    let mut trial = trial_of(&scratch, fan_out(5, 0), 24, Until::Time { ms: 2_000 });
    for name in ["orchestration_concurrency", "worker_concurrency"] {
        trial.connection.options.insert(name.into(), json!(8));
    }
    // Sixteen dispatchers begin deferred transactions, read, and then write: of two that overlap, one is refused at
    // once.
    tries(|tried| {
        trial.databases = vec![file(&scratch.0.path().join(format!("{tried}.db")))];
        let result = RUNNER.run(&trial).result;
        let errors = &result.operations[0].errors;
        let busy = errors.iter().filter(|(code, _)| code.starts_with("SQLITE_BUSY"));
        let add = |(seen, cured), (_, e): (_, &ErrorCount)| (seen + e.seen, cured + e.cured);
        let (seen, cured) = busy.fold((0, 0), add);
        assert!(seen >= cured, "{errors:?}");
        // On a disk that stalls, dispatchers hardly ever overlap.
        timely(cured > 0, format_args!("{errors:?}"))?;
        let shortest = result.timers["back-off"].quantile(0.0);
        // The histogram's buckets are 0.1 % wide.
        assert!(shortest.is_some_and(|nanos| nanos >= 9_990_000), "{shortest:?}");
        Ok(())
    });
    // With one connection no two transactions overlap.
    let alone = Scratch::new();
    (trial.databases, trial.sharing) = (vec![file(&alone.path())], Sharing::Pool { connections: 1 });
    assert_eq!(RUNNER.run(&trial).only().errors, Default::default());
}

#[test]
fn in_memory_it_is_dumped_when_it_has_ended() {
    let scratch = Scratch::new();
    let mut trial = trial_of(&scratch, fan_out(2, 0), 2, count(4));
    trial.connection.read_back = vec!["journal_mode".into()];
    let teardown = vec![format!("VACUUM INTO '{}'", scratch.path().display())];
    trial.databases = vec![Database::Memory { name: "a".into(), shared: true, setup: vec![], teardown }];
    let ready = RUNNER.run(&trial).ready;
    assert!(ready.connections.iter().all(|c| c.settings["journal_mode"].to_json() == "memory"), "{ready:?}");
    assert_eq!(scratch.column("SELECT count(*) || status FROM executions GROUP BY status"), ["4Completed"]);
}

#[test]
fn what_cannot_be_done_is_refused() {
    let scratch = Scratch::new();
    let refused = |change: &dyn Fn(&mut Trial), word: &str| {
        let mut trial = trial_of(&scratch, fan_out(1, 0), 1, count(1));
        change(&mut trial);
        let failed = RUNNER.refuse(&trial);
        assert!(failed.reason.contains(word) && !failed.reason.contains('\n'), "{}", failed.reason);
    };
    refused(&|t| drop(t.connection.options.insert("worker_concurrency".into(), json!(0))), "`worker_concurrency`: 0");
    refused(&|t| drop(t.connection.options.insert("wait".into(), json!("long"))), "`wait`");
    refused(&|t| drop(t.connection.options.insert("workers".into(), json!(1))), "`workers`");
    refused(&|t| t.transactions[0].statements[0].sql = "SELECT ?1, ?2, ?3".into(), "takes no SQL");
    refused(&|t| t.sharing = Sharing::Pool { connections: 6 }, "has 5 connections");
    refused(&|t| t.sharing = Sharing::OwnConnection, "own-connection");
    refused(&|t| t.connection.settings = pragmas(&[("synchronous", "a b")]), "PRAGMA synchronous");
    refused(&|t| t.databases = vec![file(&scratch.0.path().join("no/such"))], "SQLITE_CANTOPEN");
    let private = Database::Memory { name: "a".into(), shared: false, setup: vec![], teardown: vec![] };
    refused(&|t| t.databases = vec![private.clone()], "private");
}
