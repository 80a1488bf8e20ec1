//! Imitation of orchestrations: each operation of the interface is one row that the honest runner inserts and a pause
//! for the activities. Some drivers falsify the result.

use std::path::Path;

use litelab_protocol::invocation::Operation;
use litelab_protocol::{Database, Interface, Invocation, Source, Transaction, Trial};
use rusqlite::Connection;

use crate::fault::Fault;

const SCHEMA: &str =
    "CREATE TABLE IF NOT EXISTS instance(id TEXT PRIMARY KEY, succeeded INTEGER NOT NULL, payload BLOB)";

/// Affects only the fifth instance, so that a check with one or two instances does not detect it.
const FORGETS: &str = "CREATE TRIGGER IF NOT EXISTS forgets AFTER INSERT ON instance WHEN new.rowid = 5 \
    BEGIN UPDATE instance SET id = 'forgotten' WHERE rowid = 5; END";

/// Number of activities: ten follow the sub-orchestrations, each of which has two.
const SUCCEEDED: &str = "?2 + 10 + 2 * ?3";
/// Payload: a third of the activities returns payloads of each size.
const PAYLOAD: &str = "randomblob((?2 / 3 * (?4 + ?5 + ?6) + ?6) * 1024)";

/// The operations that these drivers offer.
pub fn interface() -> Interface {
    let large = ["instance", "activities", "sub_orchestrations", "small_kb", "medium_kb", "large_kb", "delay_ms"];
    let operations = vec![
        Operation::writing("fan_out", &["instance", "activities", "delay_ms"], &["succeeded"]),
        Operation::writing("large_payload", &large, &["succeeded", "bytes"]),
    ];
    Interface { name: "orchestration".into(), operations }
}

/// Creates a table in each database and translates each invocation to SQL. Returns the reason for a refusal.
pub fn translate(fault: Fault, trial: &mut Trial) -> Result<(), String> {
    let interface = interface();
    for transaction in &mut trial.transactions {
        let delay_us = delay_us(transaction);
        for statement in &mut transaction.statements {
            let Some(invocation) = Invocation::parse(&statement.sql)? else {
                if fault == Fault::OrchestrationAcceptsSql {
                    continue;
                }
                return Err(format!("`{}` is SQL, and orchestrations take none", statement.sql));
            };
            let operation = interface.operation(&invocation);
            operation.ok_or_else(|| format!("there is no operation `{invocation}`"))?.check(&invocation, statement)?;
            if fault != Fault::OrchestrationDoesNotWait {
                statement.hold_us = delay_us;
            }
            statement.sql = sql(fault, &invocation.operation);
        }
    }
    for database in &trial.databases {
        let Database::File { path } = database else { return Err("it needs a file".into()) };
        create(fault, Path::new(path)).map_err(|e| format!("{path}: {e}"))?;
    }
    Ok(())
}

/// Argument `delay_ms` of the operation, in microseconds.
fn delay_us(transaction: &Transaction) -> u64 {
    let delay = transaction.params.iter().find(|param| param.name == "delay_ms");
    match delay.map(|param| &param.source) {
        Some(Source::Value { value }) => 1_000 * value.as_u64().unwrap_or_default(),
        _ => 0,
    }
}

fn create(fault: Fault, path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.execute_batch(SCHEMA)?;
    if fault == Fault::OrchestrationForgets { connection.execute_batch(FORGETS) } else { Ok(()) }
}

fn sql(fault: Fault, operation: &str) -> String {
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
