//! Imitation of libraries with an interface in place of SQL: each operation is SQL for the honest runner. Some drivers
//! falsify the result.

use litelab_protocol::invocation::Operation;
use litelab_protocol::{Database, Fetch, Interface, Invocation, Param, Source, Statement, Transaction, Trial};
use rusqlite::Connection;

use crate::fault::Fault;

/// Tasks. `state` is 0 for a new task, 1 for a claimed, 2 for a completed and 3 for a lost one.
const TASKS: &str = "CREATE TABLE IF NOT EXISTS task(id INTEGER PRIMARY KEY AUTOINCREMENT, payload TEXT NOT NULL, \
    priority INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0, claims INTEGER NOT NULL DEFAULT 0)";

/// Affects only the fifth task, so that a check with one or two tasks does not detect it.
const LOSES: &str = "CREATE TRIGGER IF NOT EXISTS loses AFTER INSERT ON task WHEN new.id = 5 \
    BEGIN UPDATE task SET state = 3 WHERE id = 5; END";

/// Orchestrations, and their beginnings and ends.
const INSTANCES: &str = "\
    CREATE TABLE IF NOT EXISTS instance(id TEXT PRIMARY KEY, succeeded INTEGER NOT NULL, payload BLOB); \
    CREATE TABLE IF NOT EXISTS history(instance TEXT NOT NULL, number INTEGER NOT NULL, event TEXT NOT NULL); \
    CREATE TRIGGER IF NOT EXISTS history AFTER INSERT ON instance \
    BEGIN INSERT INTO history VALUES (new.id, 2 * new.rowid, 'began'), (new.id, 2 * new.rowid + 1, 'ended'); END";

/// Affects only the fifth instance.
const FORGETS: &str = "CREATE TRIGGER IF NOT EXISTS forgets AFTER INSERT ON instance WHEN new.rowid = 5 \
    BEGIN UPDATE instance SET id = 'forgotten' WHERE rowid = 5; END";

/// Affects only the end of the fifth instance.
const LOSES_END: &str = "CREATE TRIGGER IF NOT EXISTS loses AFTER INSERT ON history WHEN new.number = 11 \
    BEGIN DELETE FROM history WHERE number = 11; END";

/// Number of activities: ten follow the sub-orchestrations, each of which has two.
const SUCCEEDED: &str = "?2 + 10 + 2 * ?3";
/// Payload: a third of the activities returns payloads of each size.
const PAYLOAD: &str = "randomblob((?2 / 3 * (?4 + ?5 + ?6) + ?6) * 1024)";

/// The interface of this name, with the operations that the drivers offer.
pub fn interface(name: &str) -> Interface {
    let large = ["instance", "activities", "sub_orchestrations", "small_kb", "medium_kb", "large_kb", "delay_ms"];
    let operations = match name {
        "queue" => vec![
            Operation::writing("enqueue", &["payload", "priority"], &[]),
            Operation::writing("claim", &[], &["id", "payload"]),
            Operation::writing("complete", &["id"], &[]),
            Operation::writing("fail", &["id"], &[]),
        ],
        _ => vec![
            Operation::writing("fan_out", &["instance", "activities", "delay_ms"], &["succeeded"]),
            Operation::writing("large_payload", &large, &["succeeded", "bytes"]),
        ],
    };
    Interface { name: name.into(), operations }
}

/// Creates a table in each database and translates each invocation to SQL. Returns the reason for a refusal.
pub fn translate(fault: Fault, name: &str, trial: &mut Trial) -> Result<(), String> {
    let interface = interface(name);
    for transaction in &mut trial.transactions {
        let delay_us = delay_us(transaction);
        for statement in &mut transaction.statements {
            let Some(invocation) = Invocation::parse(&statement.sql)? else {
                if matches!(fault, Fault::QueueAcceptsSql | Fault::OrchestrationAcceptsSql) {
                    continue;
                }
                return Err(format!("`{}` is SQL, and interface {name} takes none", statement.sql));
            };
            let operation = interface.operation(&invocation);
            operation.ok_or_else(|| format!("there is no operation `{invocation}`"))?.check(&invocation, statement)?;
            if fault != Fault::OrchestrationDoesNotWait {
                statement.hold_us = delay_us;
            }
            statement.sql = match name {
                "queue" => task_sql(fault, &invocation.operation),
                _ => instance_sql(fault, &invocation.operation),
            };
        }
        if fault == Fault::QueueClaimsUnlocked && transaction.name == "claim" {
            unlock(transaction);
        }
    }
    let create = match fault {
        Fault::QueueLosesTask => format!("{TASKS}; {LOSES}"),
        Fault::OrchestrationForgets => format!("{INSTANCES}; {FORGETS}"),
        Fault::OrchestrationLosesEnd => format!("{INSTANCES}; {LOSES_END}"),
        _ => if name == "queue" { TASKS } else { INSTANCES }.to_owned(),
    };
    for database in &trial.databases {
        let Database::File { path } = database else { return Err("it needs a file".into()) };
        let created = Connection::open(path).and_then(|connection| connection.execute_batch(&create));
        created.map_err(|e| format!("{path}: {e}"))?;
    }
    Ok(())
}

/// Argument `delay_ms` of the operation, in microseconds; 0 without it.
fn delay_us(transaction: &Transaction) -> u64 {
    let delay = transaction.params.iter().find(|param| param.name == "delay_ms");
    match delay.map(|param| &param.source) {
        Some(Source::Value { value }) => 1_000 * value.as_u64().unwrap_or_default(),
        _ => 0,
    }
}

/// Finds a task, and claims it in a second transaction even if another worker has claimed it in between.
fn unlock(claim: &mut Transaction) {
    let Some(look) = claim.statements.first_mut() else { return };
    let update = "UPDATE task SET state = 1 WHERE id = ?1";
    let take = Statement {
        sql: update.into(),
        bind: vec![claim.params.len() as u32],
        fetch: Fetch::None,
        yields: Vec::new(),
        required: false,
        ..look.clone()
    };
    look.sql = "SELECT id, payload FROM task WHERE state = 0 ORDER BY priority DESC, id LIMIT 1".into();
    claim.params.push(Param { name: "id".into(), source: Source::Yielded { name: "id".into() } });
    claim.statements.push(take);
}

fn task_sql(fault: Fault, operation: &str) -> String {
    let claim = |state: &str, otherwise: &str, payload: &str| {
        format!(
            "UPDATE task SET state = {state}, claims = claims + 1 WHERE id = coalesce((SELECT id FROM task \
             WHERE state = 0 ORDER BY priority DESC, id LIMIT 1), {otherwise}) RETURNING id, {payload}"
        )
    };
    match (operation, fault) {
        ("enqueue", _) => "INSERT INTO task(payload, priority) VALUES (?1, ?2)".into(),
        // Only trials in which two workers claim have 100 tasks.
        ("claim", Fault::QueueClaimsTwice) => claim("(id <> 100 OR claims > 0)", "NULL", "payload"),
        ("complete", Fault::QueueClaimsTwice) => {
            "UPDATE task SET state = 2 WHERE id = ?1 AND (id <> 100 OR claims > 1)".into()
        }
        ("claim", Fault::QueueNeverEmpty) => claim("1", "(SELECT max(id) FROM task)", "payload"),
        ("claim", Fault::QueueChangesPayload) => claim("1", "NULL", "substr(payload, 2)"),
        ("claim", _) => claim("1", "NULL", "payload"),
        ("complete", Fault::QueueCompletesNothing) => "UPDATE task SET state = 1 WHERE id = ?1".into(),
        ("complete", _) => "UPDATE task SET state = 2 WHERE id = ?1".into(),
        (_, Fault::QueueKeepsFailed) => "UPDATE task SET state = 3 WHERE id = ?1".into(),
        _ => "UPDATE task SET state = 0 WHERE id = ?1".into(),
    }
}

fn instance_sql(fault: Fault, operation: &str) -> String {
    let insert = |succeeded: &str, payload: &str, columns: &str| {
        // The statement must contain unused parameters, too, because SQLite would refuse to bind them otherwise.
        let when = if fault == Fault::OrchestrationAnswersNothing { "?3 IS NULL" } else { "?3 IS NOT NULL" };
        format!(
            "INSERT INTO instance(id, succeeded, payload) SELECT ?1, {succeeded}, {payload} WHERE {when} RETURNING {columns}"
        )
    };
    match (operation, fault) {
        ("fan_out", _) => insert("?2", "NULL", "succeeded"),
        (_, Fault::OrchestrationShrinksPayload) => {
            insert(SUCCEEDED, "randomblob(?6 + 0 * (?4 + ?5 + ?7))", "succeeded, length(payload) AS bytes")
        }
        _ => insert(SUCCEEDED, &format!("{PAYLOAD} || substr('', ?7)"), "succeeded, length(payload) AS bytes"),
    }
}
