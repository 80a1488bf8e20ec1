//! Parts of a trial, with the values that most tests share.

use std::path::Path;

use litelab_protocol::{
    Begin, Connection, Database, Executor, Fetch, Inspect, Load, Order, Param, Prepare, Retry, Role, Setting, Sharing,
    Source, Statement, Step, Transaction, Trial, Until, VERSION, Work,
};

/// Executors of a single process.
pub const EXECUTORS: [Executor; 4] = [Executor::Threads, Executor::Inline, Executor::Offload, Executor::Dedicated];

/// A request for three connections by a data source name, without settings.
#[must_use]
pub fn inspect_request(driver: &str, dsn: &str) -> Inspect {
    Inspect {
        protocol: VERSION,
        driver: driver.into(),
        database: String::new(),
        connections: 3,
        options: [].into(),
        settings: vec![],
        read_back: vec![],
        dsn: Some(dsn.into()),
    }
}

/// A statement that fetches and yields nothing.
#[must_use]
pub fn statement(sql: &str, bind: &[u32]) -> Statement {
    Statement::new(sql, bind)
}

/// A query of which every fetched column is read.
#[must_use]
pub fn select(sql: &str, bind: &[u32], fetch: Fetch) -> Statement {
    Statement { fetch, work: Work::Read, ..statement(sql, bind) }
}

/// A parameter.
#[must_use]
pub fn param(name: &str, source: Source) -> Param {
    Param { name: name.into(), source }
}

/// A parameter drawn from the integers `low..=high`.
#[must_use]
pub fn uniform(name: &str, low: i64, high: i64) -> Param {
    param(name, Source::Uniform { low, high })
}

/// A transaction; it writes unless all its statements begin with `SELECT`.
#[must_use]
pub fn transaction(name: &str, begin: Begin, params: Vec<Param>, statements: Vec<Statement>) -> Transaction {
    let reads = |s: &Statement| s.sql.trim_start().to_uppercase().starts_with("SELECT");
    let writes = !statements.iter().all(reads);
    Transaction { name: name.into(), begin, writes, hold_us: 0, timed_rows: true, params, statements }
}

/// An end after this number of transactions of all workers together.
#[must_use]
pub fn count(transactions: u64) -> Until {
    Until::Count { transactions }
}

/// A role that executes the given transactions in turn, under a closed load.
#[must_use]
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

/// Settings from names and values, in order.
#[must_use]
pub fn pragmas(list: &[(&str, &str)]) -> Vec<Setting> {
    list.iter().map(|(name, value)| Setting { name: (*name).into(), sql: format!("PRAGMA {name} = {value}") }).collect()
}

/// A database file at this path.
#[must_use]
pub fn file(path: &Path) -> Database {
    Database::File { path: path.to_str().expect("UTF-8").into() }
}

/// A trial with one connection for each worker, and no settings, retry, warm-up or probe.
#[must_use]
pub fn trial(driver: &str, databases: Vec<Database>, transactions: Vec<Transaction>, roles: Vec<Role>) -> Trial {
    Trial {
        protocol: VERSION,
        id: "test".into(),
        driver: driver.into(),
        executor: Executor::Threads,
        sharing: Sharing::OwnConnection,
        databases,
        connection: Connection::default(),
        prepare: Prepare::Once,
        retry: Retry { attempts: 1, multiplier: 1.0, ..Retry::default() },
        seed: 7,
        transactions,
        roles,
        warmup_ms: 0,
        drain_ms: 10_000,
        tick_ms: 20,
        probe_ms: 0,
        runtime_threads: None,
    }
}
