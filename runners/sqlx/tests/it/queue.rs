//! Contents of the library's own tables after operations, and its settings.

use litelab_harness::testing::*;
use litelab_protocol::{Begin, Description, Fetch, Sharing, Source, Statement, Transaction, Trial, Work};
use serde_json::{Value, json};

const RUNNER: Program = Program(env!("CARGO_BIN_EXE_litelab-runner-sqlx"));

const CLAIM: &str = "CALL queue.claim()";

/// A transaction of one operation, without BEGIN.
fn operation(name: &str, statement: Statement, params: Vec<(&str, Source)>) -> Transaction {
    let params = params.into_iter().map(|(name, source)| param(name, source)).collect();
    transaction(name, Begin::None, params, vec![statement])
}

/// All four operations; priorities are 0, 1, 2, …
fn operations() -> Vec<Transaction> {
    let yielded = || vec![("id", Source::Yielded { name: "id".into() })];
    let mut claim = select(CLAIM, &[], Fetch::First);
    claim.yields = vec!["id".into(), "payload".into()];
    claim.required = true;
    let enqueue = statement("CALL queue.enqueue(?1, ?2)", &[0, 1]);
    let drawn = vec![("payload", Source::Hex { bytes: 4 }), ("priority", Source::Sequence { start: 0, step: 1 })];
    vec![
        operation("enqueue", enqueue, drawn),
        operation("claim", claim, vec![]),
        operation("complete", statement("CALL queue.complete(?1)", &[0]), yielded()),
        operation("fail", statement("CALL queue.fail(?1)", &[0]), yielded()),
    ]
}

const ENQUEUE: u32 = 0;
const TAKE: u32 = 1;
const COMPLETE: u32 = 2;
const FAIL: u32 = 3;

/// One worker that executes these steps in turn.
fn turns(scratch: &Scratch, steps: &[u32], times: u64) -> Trial {
    trial("apalis-sqlite", vec![scratch.database()], operations(), vec![role("r", 1, steps, count(times))])
}

fn tasks(scratch: &Scratch) -> Vec<String> {
    scratch.column("SELECT priority || ' ' || status || ' ' || attempts FROM Jobs ORDER BY priority")
}

#[test]
fn describe_names_the_builds() {
    let description: Description = serde_json::from_slice(&RUNNER.verb("describe", "").stdout).expect("description");
    let driver = description.drivers.iter().find(|driver| driver.name == "apalis-sqlite").expect("described");
    assert_eq!(driver.interface.as_ref().map(|i| i.name.as_str()), Some("queue"));
    assert!(driver.version.starts_with("1."), "{}", driver.version);
    let sqlite = driver.sqlite.as_ref().expect("build");
    assert!(sqlite.version.starts_with("3.") && sqlite.source_id.starts_with("20"), "{sqlite:?}");
    assert!(sqlite.compile_options.iter().any(|option| option.starts_with("THREADSAFE=")), "{sqlite:?}");
}

#[test]
fn the_librarys_settings_stay_unless_others_are_asked_for() {
    let names = ["synchronous", "journal_mode", "busy_timeout", "cache_size", "foreign_keys", "no_such"];
    let own = [json!(0), json!("wal"), json!(5000), json!(64000), json!(1), Value::Null];
    let asked = [json!(2), json!("wal"), json!(77), json!(-500), json!(1), Value::Null];
    let profile = pragmas(&[("synchronous", "FULL"), ("busy_timeout", "77"), ("cache_size", "-500")]);
    for (pragmas, expected) in [(vec![], own), (profile, asked)] {
        let scratch = Scratch::new();
        let mut trial = turns(&scratch, &[ENQUEUE], 4);
        (trial.connection.settings, trial.connection.read_back) = (pragmas, names.map(String::from).to_vec());
        trial.roles[0] = role("r", 2, &[ENQUEUE], count(4));
        // The library creates a file that is not there.
        trial.databases = vec![file(&scratch.path("new.db"))];
        let ready = RUNNER.run(&trial).ready;
        assert_eq!(ready.connections.len(), 2);
        for connection in ready.connections {
            assert_eq!(names.map(|name| connection.settings[name].to_json()), expected);
        }
    }
}

#[test]
fn the_highest_priority_is_claimed_and_completed() {
    let scratch = Scratch::new();
    assert_eq!(RUNNER.run(&turns(&scratch, &[ENQUEUE], 3)).only().committed, 3);
    assert_eq!(tasks(&scratch), ["0 Pending 0", "1 Pending 0", "2 Pending 0"]);
    let payloads = scratch.column("SELECT CAST(job AS TEXT) FROM Jobs WHERE length(job) = 10");
    assert_eq!(payloads.len(), 3, "eight digits and two quotation marks");
    let outcome = RUNNER.run(&turns(&scratch, &[TAKE, COMPLETE, TAKE], 3));
    let rows = |name| outcome.operation("r", name).rows;
    assert_eq!((rows("claim"), rows("complete")), (2, 1));
    assert_eq!(tasks(&scratch), ["0 Pending 0", "1 Queued 0", "2 Done 1"]);
}

#[test]
fn one_given_back_is_claimed_again_with_its_next_attempt() {
    let scratch = Scratch::new();
    let outcome = RUNNER.run(&turns(&scratch, &[ENQUEUE, TAKE, FAIL, TAKE, FAIL], 5));
    assert_eq!((outcome.operation("r", "claim").committed, outcome.operation("r", "claim").empty), (2, 0));
    assert_eq!(tasks(&scratch), ["0 Failed 2"]);
    RUNNER.run(&turns(&scratch, &[TAKE, COMPLETE], 2));
    assert_eq!(tasks(&scratch), ["0 Done 3"]);
}

#[test]
fn what_is_not_held_is_not_finished() {
    let scratch = Scratch::new();
    // The first completion has no claimed task, and the last one has a task that was given back already.
    let outcome = RUNNER.run(&turns(&scratch, &[COMPLETE, ENQUEUE, TAKE, FAIL, COMPLETE], 5));
    let rows = |name| (outcome.operation("r", name).committed, outcome.operation("r", name).rows);
    assert_eq!((rows("complete"), rows("fail")), ((2, 0), (1, 1)));
    assert_eq!(tasks(&scratch), ["0 Failed 1"]);
}

#[test]
fn a_batch_is_handed_over_one_by_one_and_its_rest_given_back() {
    for (batch, rest) in [(1, "0 Pending 0"), (10, "0 Pending 1")] {
        let scratch = Scratch::new();
        RUNNER.run(&turns(&scratch, &[ENQUEUE], 5));
        let mut two = turns(&scratch, &[TAKE, COMPLETE], 4);
        two.connection.options.insert("batch_size".into(), json!(batch));
        assert_eq!(RUNNER.run(&two).operation("r", "claim").committed, 2);
        let tasks = tasks(&scratch);
        assert_eq!(tasks.iter().filter(|task| task.ends_with("Done 1")).count(), 2, "{tasks:?}");
        assert_eq!(tasks.iter().filter(|task| task[2..] == rest[2..]).count(), 3, "{tasks:?}");
        let mut all = turns(&scratch, &[TAKE, COMPLETE], 8);
        all.sharing = Sharing::OneConnection;
        let outcome = RUNNER.run(&all);
        let claim = outcome.operation("r", "claim");
        assert_eq!((claim.committed, claim.empty), (3, 2), "{batch}");
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    let scratch = Scratch::new();
    let refused = |change: &dyn Fn(&mut Trial), word: &str| {
        let mut trial = turns(&scratch, &[ENQUEUE, TAKE], 2);
        change(&mut trial);
        let failed = RUNNER.refuse(&trial);
        assert!(failed.reason.contains(word) && !failed.reason.contains('\n'), "{}", failed.reason);
    };
    refused(&|t| drop(t.connection.options.insert("batch_size".into(), json!(0))), "`batch_size`: 0");
    refused(&|t| drop(t.connection.options.insert("batch".into(), json!(1))), "`batch`");
    refused(&|t| t.transactions[0].statements[0].sql = "SELECT ?1, ?2".into(), "takes no SQL");
    refused(&|t| t.sharing = Sharing::WriterReaders { readers: 1 }, "writer-readers(1)");
    refused(&|t| t.connection.settings = pragmas(&[("synchronous", "a b")]), "PRAGMA synchronous");
    let verify = Work::Verify { value: "payload".into(), hash: "hash".into() };
    refused(&|t| t.transactions[1].statements[0].work = verify.clone(), "`hash`");
    refused(&|t| t.databases = vec![file(&scratch.path("no/such.db"))], "SQLITE_CANTOPEN");
}
