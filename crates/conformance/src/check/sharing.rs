//! Counts compared with rows, for every sharing.

use litelab_protocol::draw::Value;
use litelab_protocol::{Executor, Role, Sharing, Trial, TrialResult, Until};

use super::{Found, passed, settings, skipped};
use crate::database::CheckDatabase;
use crate::draft::{Draft, TABLE, count, insert, read, slow_insert};
use crate::error::{At, Result, ensure};
use crate::subject::Subject;

const INSERTS: u64 = 61;
const READS: u64 = 20;
/// Transactions of three concurrent writers, of half a millisecond each. On a busy machine a writer may finish before
/// the next one starts and never meet it; this count gives each writer about 20 ms of work.
const CONTENDED: u64 = 120;

/// Runs two writers and a reader under every combination of executor and sharing that the driver claims.
pub fn sharing(subject: &Subject<'_>) -> Found {
    passed(subject.in_all_ways(one)?)
}

fn one(subject: &Subject<'_>) -> Result {
    let database = subject.database(TABLE)?;
    let draft = Draft::new(subject).on(&*database).transaction(insert()).transaction(read());
    let trial = draft.role("w", 2, &["insert"], count(INSERTS)).role("r", 1, &["read"], count(READS)).build();
    let heard = subject.run(&trial)?;
    settings::connections(&trial, &heard.connections)?;
    for operation in &heard.result.operations {
        let wanted = if operation.role == "w" { INSERTS } else { READS };
        let (did, o) = (operation.committed, &operation.transaction);
        ensure!(did == wanted, "{did} of {wanted} `{o}` were committed; errors: {:?}", operation.errors);
        // A worker with its own connection waits for nothing.
        let shares = match subject.sharing {
            Sharing::OwnConnection => false,
            Sharing::AppLock => operation.role == "w",
            _ => true,
        };
        ensure!(operation.timers.contains_key("wait") == shares, "`{o}` has a `wait` histogram: {}", !shares);
    }
    share(&trial, &heard.result)?;
    of_workers(subject, &trial, &heard.result, &*database, 0)
}

/// Worker k of W must run the transactions k, k + W, … of a role with a count.
fn share(trial: &Trial, result: &TrialResult) -> Result {
    for role in &trial.roles {
        for k in 0..role.workers {
            let (due, index) = (due(role, k), role.first_worker + k);
            let found = result.workers.iter().find(|w| w.role == role.name && w.worker == index);
            let did = found.map(|w| w.committed).ok_or(format!("worker {index} was not reported"))?;
            ensure!(did == due, "worker {index} is to do {due} transactions, and did {did}");
        }
    }
    Ok(())
}

/// Number of transactions of worker k of a role with a count.
pub fn due(role: &Role, k: u32) -> u64 {
    let Until::Count { transactions } = role.until else { return 0 };
    (transactions + u64::from(role.workers - 1 - k)) / u64::from(role.workers)
}

/// Row and worker of each value that worker k of a role of one step draws in its first transactions.
pub fn drawn(role: &Role, k: u32, transactions: u64, rows_each: u64) -> impl Iterator<Item = (i64, i64)> {
    let (step, worker) = (&role.steps[0], i64::from(role.first_worker + k));
    let operation = move |n| n * u64::from(step.stride) + u64::from(step.offset) + u64::from(k);
    let rows = move |n| operation(n) * rows_each..(operation(n) + 1) * rows_each;
    (0..transactions).flat_map(rows).map(move |row| (row as i64, worker))
}

/// The rows in the table must be those of the first operations of each worker of the first role, as many as the worker
/// reports as committed. There are none to compare if the driver has no database.
pub fn of_workers(
    subject: &Subject<'_>,
    trial: &Trial,
    result: &TrialResult,
    on: &dyn CheckDatabase,
    database: u32,
) -> Result {
    if !subject.has_database() {
        return Ok(());
    }
    let role = &trial.roles[0];
    let workers = result.workers.iter().filter(|w| w.role == role.name && w.database == database);
    rows_are(on, workers.flat_map(|w| drawn(role, w.worker - role.first_worker, w.committed, 1)).collect())
}

/// The table must have these rows of these workers, and no others.
pub fn rows_are(on: &dyn CheckDatabase, mut expected: Vec<(i64, i64)>) -> Result {
    let found = on.rows("SELECT id, worker FROM t ORDER BY id")?;
    expected.sort_unstable();
    ensure!(
        found.len() == expected.len(),
        "{} inserts are counted, and {} rows are there",
        expected.len(),
        found.len()
    );
    for (row, (id, worker)) in found.iter().zip(expected) {
        ensure!(
            row[..] == [Value::Integer(id), Value::Integer(worker)],
            "row {id} of worker {worker} is counted, and found is row {:?} of worker {:?}",
            row[0],
            row[1]
        );
    }
    Ok(())
}

/// Writers that share a connection or a lock never compete for SQLite's lock: without a busy timeout, none of them
/// fails.
pub fn exclusion(subject: &Subject<'_>) -> Found {
    let excludes = |s: &Subject<'_>| !matches!(s.sharing, Sharing::OwnConnection | Sharing::Pool { .. });
    let ways: Vec<_> =
        subject.ways().into_iter().filter(|s| excludes(s) && s.executor != Executor::Processes).collect();
    if ways.is_empty() {
        return skipped("it has no sharing under which writers take turns");
    }
    for way in &ways {
        let database = way.database(TABLE)?;
        let draft = Draft::new(way).on(&*database).setting("busy_timeout", "0").transaction(slow_insert(500));
        let heard = way.run(&draft.only(3, count(CONTENDED))).at(way.way())?;
        let errors = &heard.first().errors;
        ensure!(errors.is_empty(), "{}: its writers met at SQLite's lock: {errors:?}", way.way());
    }
    passed(format!("{} combinations without an error", ways.len()))
}

/// Every role must run with all its workers on each of two databases.
pub fn databases(subject: &Subject<'_>) -> Found {
    let databases = [subject.database(TABLE)?, subject.database(TABLE)?];
    let trial = Draft::new(subject).on(&*databases[0]).on(&*databases[1]).transaction(insert()).only(2, count(11));
    let heard = subject.run(&trial)?;
    settings::connections(&trial, &heard.connections)?;
    for (i, database) in databases.iter().enumerate() {
        let of_database = heard.result.workers.iter().filter(|w| w.database == i as u32);
        let workers: Vec<u64> = of_database.map(|w| w.committed).collect();
        ensure!(
            workers.iter().sum::<u64>() == 11,
            "its workers of database {i} committed {workers:?}, in all 11 are due"
        );
        of_workers(subject, &trial, &heard.result, &**database, i as u32).at(format_args!("database {i}"))?;
    }
    passed("11 transactions on each of 2")
}
