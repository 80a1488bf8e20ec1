//! Imitation of a task queue: each operation of the interface is SQL for the honest runner. Some drivers falsify the
//! result.

use std::path::Path;

use litelab_protocol::invocation::Operation;
use litelab_protocol::{Database, Fetch, Interface, Invocation, Param, Source, Statement, Transaction, Trial};
use rusqlite::Connection;

use crate::fault::Fault;

/// Tasks. `state` is 0 for a new task, 1 for a claimed, 2 for a completed and 3 for a lost one.
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS task(id INTEGER PRIMARY KEY AUTOINCREMENT, payload TEXT NOT NULL, \
    priority INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0, claims INTEGER NOT NULL DEFAULT 0)";

/// Affects only the fifth task, so that a check with one or two tasks does not detect it.
const LOSES: &str = "CREATE TRIGGER IF NOT EXISTS loses AFTER INSERT ON task WHEN new.id = 5 \
    BEGIN UPDATE task SET state = 3 WHERE id = 5; END";

/// The operations that these drivers offer.
pub fn interface() -> Interface {
    let operations = vec![
        Operation::writing("enqueue", &["payload", "priority"], &[]),
        Operation::writing("claim", &[], &["id", "payload"]),
        Operation::writing("complete", &["id"], &[]),
        Operation::writing("fail", &["id"], &[]),
    ];
    Interface { name: "queue".into(), operations }
}

/// Creates a table in each database and translates each invocation to SQL. Returns the reason for a refusal.
pub fn translate(fault: Fault, trial: &mut Trial) -> Result<(), String> {
    let interface = interface();
    for statement in trial.transactions.iter_mut().flat_map(|t| &mut t.statements) {
        let Some(invocation) = Invocation::parse(&statement.sql)? else {
            if fault == Fault::QueueAcceptsSql {
                continue;
            }
            return Err(format!("`{}` is SQL, and a queue takes none", statement.sql));
        };
        let operation = interface.operation(&invocation);
        operation.ok_or_else(|| format!("there is no operation `{invocation}`"))?.check(&invocation, statement)?;
        statement.sql = sql(fault, &invocation.operation);
    }
    if fault == Fault::QueueClaimsUnlocked {
        trial.transactions.iter_mut().filter(|t| t.name == "claim").for_each(unlock);
    }
    for database in &trial.databases {
        let Database::File { path } = database else { return Err("a queue needs a file".into()) };
        create(fault, Path::new(path)).map_err(|e| format!("{path}: {e}"))?;
    }
    Ok(())
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

fn create(fault: Fault, path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.execute_batch(SCHEMA)?;
    if fault == Fault::QueueLosesTask { connection.execute_batch(LOSES) } else { Ok(()) }
}

fn sql(fault: Fault, operation: &str) -> String {
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
