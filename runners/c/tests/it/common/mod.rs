//! The runner as the core would start it, and trials in short.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use litelab_protocol::{
    Access, Begin, Connection, Database, Executor, Failed, Fetch, Line, Load, Operation, Order, Param, Pragma, Prepare,
    Ready, Retry, Role, Source, Statement, Step, Tick, Transaction, Trial, TrialResult, Until, VERSION, Work,
};

pub use litelab_harness::testing::{timely, tries};

pub const GO: &str = "{\"type\":\"go\"}\n";

/// Runs a verb with this input, which ends after it.
pub fn runner(verb: &str, input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_litelab-runner-c"))
        .arg(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runner");
    // A runner that refuses may not read to the end.
    let _read = child.stdin.take().expect("stdin").write_all(input.as_bytes());
    child.wait_with_output().expect("output")
}

/// One that a sanitizer may have stopped, or that said more than the protocol knows.
pub fn lines(output: &Output) -> Vec<Line> {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// What a trial that went well said.
pub struct Outcome {
    pub ready: Ready,
    pub ticks: Vec<Tick>,
    pub result: TrialResult,
}

impl Outcome {
    pub fn operation(&self, role: &str, transaction: &str) -> &Operation {
        let found = self.result.operations.iter().find(|o| o.role == role && o.transaction == transaction);
        found.unwrap_or_else(|| panic!("no {role} {transaction}"))
    }

    /// Of a trial with one role and transaction.
    pub fn only(&self) -> &Operation {
        assert_eq!(self.result.operations.len(), 1);
        &self.result.operations[0]
    }
}

pub fn json(trial: &Trial) -> String {
    serde_json::to_string(trial).expect("JSON") + "\n"
}

pub fn run(trial: &Trial) -> Outcome {
    let output = runner("run", &(json(trial) + GO));
    let mut said = lines(&output);
    assert_eq!(output.status.code(), Some(0), "{said:?}");
    let Some(Line::Result(result)) = said.pop() else { panic!("no result") };
    let mut said = said.into_iter();
    let Some(Line::Ready(ready)) = said.next() else { panic!("not ready") };
    let tick = |line| if let Line::Tick(tick) = line { tick } else { panic!("{line:?} among the ticks") };
    Outcome { ready, ticks: said.map(tick).collect(), result: *result }
}

/// Runs one that has to fail.
pub fn fail(trial: &Trial) -> Failed {
    let output = runner("run", &(json(trial) + GO));
    assert_eq!(output.status.code(), Some(1));
    match lines(&output).pop() {
        Some(Line::Failed(failed)) => failed,
        other => panic!("{other:?}"),
    }
}

pub fn statement(sql: &str, bind: &[u32]) -> Statement {
    Statement {
        sql: sql.into(),
        bind: bind.to_vec(),
        tuples: 1,
        repeat: 1,
        fetch: Fetch::None,
        work: Work::None,
        yields: vec![],
        required: false,
        hold_us: 0,
    }
}

pub fn select(sql: &str, bind: &[u32], fetch: Fetch) -> Statement {
    Statement { fetch, work: Work::Read, ..statement(sql, bind) }
}

pub fn param(name: &str, source: Source) -> Param {
    Param { name: name.into(), source }
}

pub fn transaction(name: &str, begin: Begin, params: Vec<Param>, statements: Vec<Statement>) -> Transaction {
    let writes = !statements.iter().all(|s| s.sql.starts_with("SELECT"));
    Transaction { name: name.into(), begin, writes, hold_us: 0, timed_rows: true, params, statements }
}

/// A row of `t(id, a, b)`.
pub fn insert(begin: Begin) -> Transaction {
    let params = vec![param("a", Source::Uniform { low: 1, high: 100 }), param("b", Source::Hex { bytes: 8 })];
    transaction("insert", begin, params, vec![statement("INSERT INTO t(a, b) VALUES (?1, ?2)", &[0, 1])])
}

pub fn count(transactions: u64) -> Until {
    Until::Count { transactions }
}

/// Does the given transactions in turn.
pub fn role(name: &str, workers: u32, transactions: &[u32], until: Until) -> Role {
    let step = |&transaction| Step { transaction, weight: 1, stride: workers, offset: 0 };
    Role {
        name: name.into(),
        workers,
        first_worker: 0,
        first_in_role: 0,
        workers_in_role: workers,
        order: Order::Cycle,
        steps: transactions.iter().map(step).collect(),
        load: Load::Closed { think_us: 0 },
        until,
    }
}

pub fn pragmas(list: &[(&str, &str)]) -> Vec<Pragma> {
    list.iter().map(|(name, value)| Pragma { name: (*name).into(), value: (*value).into() }).collect()
}

/// WAL without syncs, 5 s of patience, a connection for each worker, no retry, no warm-up, no probe.
pub fn trial(databases: Vec<Database>, transactions: Vec<Transaction>, roles: Vec<Role>) -> Trial {
    let pragmas = pragmas(&[("busy_timeout", "5000"), ("journal_mode", "WAL"), ("synchronous", "OFF")]);
    Trial {
        protocol: VERSION,
        id: "test".into(),
        driver: "c".into(),
        executor: Executor::Threads,
        access: Access::PerWorker,
        databases,
        connection: Connection { pragmas, read_back: vec![], options: BTreeMap::new() },
        prepare: Prepare::Once,
        retry: Retry { attempts: 1, multiplier: 1.0, ..Retry::default() },
        seed: 7,
        transactions,
        roles,
        warmup_ms: 0,
        tick_ms: 20,
        probe_ms: 0,
        runtime_threads: None,
    }
}

/// A database file with an empty `t`, in a directory that goes with it.
pub struct Scratch {
    directory: tempfile::TempDir,
    pub connection: rusqlite::Connection,
}

impl Scratch {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("directory");
        let connection = rusqlite::Connection::open(directory.path().join("test.db")).expect("open");
        connection.execute_batch("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)").expect("schema");
        Self { directory, connection }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn database(&self) -> Database {
        Database::File { path: self.path("test.db").to_str().expect("UTF-8").into() }
    }

    pub fn run(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    pub fn number(&self, sql: &str) -> i64 {
        self.connection.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// Rows 1 to n, `a` = `id`, `b` some text.
    pub fn fill(&self, n: u32) {
        self.run(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n})
             INSERT INTO t SELECT i, i, 'text of row ' || i FROM n"
        ));
    }
}
