//! Counts compared with rows, for every sharing.

use litelab_protocol::draw::Value;
use litelab_protocol::{Executor, Sharing, Trial, TrialResult};

use super::{Found, ensure, passed, settings, skipped};
use crate::draft::{Draft, TABLE, count, insert, read, slow_insert};
use crate::place::CheckDatabase;
use crate::subject::Subject;

const INSERTS: u64 = 61;
const READS: u64 = 20;
/// Transactions of three concurrent writers, of half a millisecond each. On a busy machine a writer may finish before
/// the next one starts and never meet it; this count gives each writer about 20 ms of work.
const CONTENDED: u64 = 120;

/// Runs two writers and a reader under every combination of executor and sharing that the driver claims.
pub fn sharing(subject: &Subject<'_>) -> Found {
    let ways = subject.ways();
    ensure!(!ways.is_empty(), "it has no sharing that goes with one of its executors");
    let mut names = Vec::new();
    for (executor, sharing) in ways {
        let name = format!("{sharing} on {executor}");
        let path = subject.database(&format!("{}-{executor}.db", sharing.kind()), TABLE)?;
        let mut draft = Draft::new(subject).on(&path).transaction(insert()).transaction(read());
        (draft.trial.executor, draft.trial.sharing) = (executor, sharing);
        let trial = draft.role("w", 2, &["insert"], count(INSERTS)).role("r", 1, &["read"], count(READS)).build();
        let heard = subject.run(&trial).map_err(|e| format!("{name}: {e}"))?;
        let here = |e: String| format!("{name}: {e}");
        settings::connections(&trial, &heard.connections).map_err(here)?;
        for operation in &heard.result.operations {
            let wanted = if operation.role == "w" { INSERTS } else { READS };
            let (did, o) = (operation.committed, &operation.transaction);
            ensure!(did == wanted, "{name}: {did} of {wanted} `{o}` were committed; errors: {:?}", operation.errors);
            // A worker with its own connection waits for nothing.
            let shares = match sharing {
                Sharing::OwnConnection => false,
                Sharing::AppLock => operation.role == "w",
                _ => true,
            };
            ensure!(
                operation.timers.contains_key("wait") == shares,
                "{name}: `{o}` has a `wait` histogram: {}",
                !shares
            );
        }
        share(&trial, &heard.result).map_err(here)?;
        if subject.has_database() {
            of_workers(&trial, &heard.result, &path, 0).map_err(here)?;
        }
        names.push(name);
    }
    passed(names.join(", "))
}

/// Worker k of W must run the transactions k, k + W, … of a role with a count.
fn share(trial: &Trial, result: &TrialResult) -> Result<(), String> {
    for role in &trial.roles {
        let litelab_protocol::Until::Count { transactions } = role.until else { continue };
        let all = u64::from(role.workers);
        for k in 0..all {
            let due = (transactions + all - 1 - k) / all;
            let index = role.first_worker + k as u32;
            let found = result.workers.iter().find(|w| w.role == role.name && w.worker == index);
            let did = found.map(|w| w.committed).ok_or(format!("worker {index} was not reported"))?;
            ensure!(did == due, "worker {index} is to do {due} of the {transactions} transactions, and did {did}");
        }
    }
    Ok(())
}

/// The rows in the table must be those of the first operations of each worker of the first role, as many as the worker
/// reports as committed.
pub fn of_workers(trial: &Trial, result: &TrialResult, place: &CheckDatabase, database: u32) -> Result<(), String> {
    let role = &trial.roles[0];
    let step = &role.steps[0];
    let found = place.rows("SELECT id, worker FROM t ORDER BY id")?;
    let mut expected = Vec::new();
    for worker in result.workers.iter().filter(|w| w.role == role.name && w.database == database) {
        let k = u64::from(worker.worker - role.first_worker);
        for n in 0..worker.committed {
            let operation = n * u64::from(step.stride) + u64::from(step.offset) + k;
            expected.push((operation as i64, i64::from(worker.worker)));
        }
    }
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
    if !subject.has_database() {
        return skipped(super::NO_DATABASE);
    }
    let excludes = |a: &Sharing| !matches!(a, Sharing::OwnConnection | Sharing::Pool { .. });
    let ways: Vec<_> = subject.ways().into_iter().filter(|(e, a)| excludes(a) && *e != Executor::Processes).collect();
    if ways.is_empty() {
        return skipped("it has no sharing under which writers take turns");
    }
    for (executor, sharing) in &ways {
        let path = subject.database(&format!("exclusion-{}-{executor}.db", sharing.kind()), TABLE)?;
        let mut draft = Draft::new(subject).on(&path).setting("busy_timeout", "0").transaction(slow_insert(500));
        (draft.trial.executor, draft.trial.sharing) = (*executor, *sharing);
        let trial = draft.role("w", 3, &["insert"], count(CONTENDED)).build();
        let heard = subject.run(&trial).map_err(|e| format!("{sharing} on {executor}: {e}"))?;
        let errors = &heard.result.operations[0].errors;
        ensure!(errors.is_empty(), "{sharing} on {executor}: its writers met at SQLite's lock: {errors:?}");
    }
    passed(format!("{} combinations without an error", ways.len()))
}

/// Every role must run with all its workers on each of two databases.
pub fn databases(subject: &Subject<'_>) -> Found {
    let paths = [subject.database("first.db", TABLE)?, subject.database("second.db", TABLE)?];
    let draft = Draft::new(subject).on(&paths[0]).on(&paths[1]).transaction(insert());
    let trial = draft.role("w", 2, &["insert"], count(11)).build();
    let heard = subject.run(&trial)?;
    settings::connections(&trial, &heard.connections)?;
    for (i, path) in paths.iter().enumerate() {
        let workers: Vec<u64> =
            heard.result.workers.iter().filter(|w| w.database == i as u32).map(|w| w.committed).collect();
        ensure!(
            workers.iter().sum::<u64>() == 11,
            "its workers of database {i} committed {workers:?}, in all 11 are due"
        );
        if subject.has_database() {
            of_workers(&trial, &heard.result, path, i as u32).map_err(|e| format!("database {i}: {e}"))?;
        }
    }
    passed("11 transactions on each of 2")
}
