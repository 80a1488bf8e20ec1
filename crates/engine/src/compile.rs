//! SQLite itself compiles every statement of its arms before anything runs, on an empty database of the arm's schema.
//! That finds mistakes with their place, and tells which transactions write. Those of servers are compiled there, once
//! one runs ([`crate::servers`]).

use std::collections::HashMap;

use litelab_model::{Arm, Plan};
use litelab_protocol::{Begin, Fetch, Invocation, Statement, Transaction};
use rusqlite::Connection;

use litelab_model::error::unknown;
use litelab_protocol::invocation::INTERFACES;
use litelab_record::{describe, open_read_only};

use crate::error::EngineError;

/// Compiles all statements of all arms on SQLite, sets `writes` of each transaction, and leaves reads to autocommit where the
/// `begin` of a scenario was meant for writes.
///
/// # Errors
/// [`EngineError::BadInput`] with the statement, SQLite's message, and the place it points at.
pub fn compile(plan: &mut Plan) -> Result<(), EngineError> {
    let mut compiled: HashMap<String, Vec<Transaction>> = HashMap::new();
    for index in 0..plan.arms.len() {
        let name = plan.arm_name(index);
        let arm = &mut plan.arms[index];
        if arm.server.is_some() {
            on_server(arm).map_err(|e| EngineError::BadInput(format!("{name}: {e}")))?;
            continue;
        }
        let from = arm.data.as_ref().and_then(|d| d.from.clone());
        let key =
            serde_json::to_string(&(&arm.schema, &from, &arm.trial.transactions, &arm.invariants)).unwrap_or_default();
        match compiled.get(&key) {
            Some(done) if !key.is_empty() => arm.trial.transactions.clone_from(done),
            _ => {
                one(arm).map_err(|e| EngineError::BadInput(format!("{name}: {e}")))?;
                compiled.insert(key, arm.trial.transactions.clone());
            }
        }
    }
    Ok(())
}

fn one(arm: &mut Arm) -> Result<(), String> {
    let connection = empty(arm)?;
    if arm.data.as_ref().and_then(|data| data.transaction.as_ref()).is_some_and(invokes) {
        return Err(
            "data.transaction: the core makes the rows, by SQL; it knows no library that could be called".into()
        );
    }
    for transaction in
        arm.trial.transactions.iter_mut().chain(arm.data.iter_mut().filter_map(|d| d.transaction.as_mut()))
    {
        let mut writes = false;
        for (i, statement) in transaction.statements.iter().enumerate() {
            let what = named(transaction, i);
            if let Some(invocation) = Invocation::parse(&statement.sql).map_err(|e| format!("{what}: {e}"))? {
                writes |= invoked(&invocation, statement).map_err(|e| format!("{what}: {e}"))?;
                continue;
            }
            let prepared = prepare(&connection, &statement.sql).map_err(|e| format!("{what}: {e}"))?;
            writes |= !prepared.readonly();
            let (wanted, given) = (prepared.parameter_count(), statement.bind.len() * statement.tuples as usize);
            if wanted != given {
                return Err(format!(
                    "{what}: SQLite counts {wanted} parameters and the workload gives {given}; parameters are written :name"
                ));
            }
            let columns: Vec<String> = prepared.column_names().map(str::to_owned).collect();
            check_columns(statement, &columns).map_err(|e| format!("{what}: {e}"))?;
        }
        set_writes(transaction, writes);
    }
    if arm.trial.transactions.iter().any(invokes) {
        // The library makes its own tables; the invariants' queries on them are compiled when they are asked.
        return Ok(());
    }
    for invariant in &arm.invariants {
        let prepared =
            prepare(&connection, &invariant.sql).map_err(|e| format!("invariant `{}`: {e}", invariant.about))?;
        if prepared.column_count() != 1 || !prepared.readonly() {
            return Err(format!("invariant `{}`: it must be a query of one column", invariant.about));
        }
    }
    for table in &arm.content {
        prepare(&connection, &format!("SELECT * FROM \"{}\"", table.replace('"', "\"\"")))
            .map_err(|e| format!("content: {e}"))?;
    }
    Ok(())
}

/// A transaction, and its statement where it has several, for the head of a message.
pub(crate) fn named(transaction: &Transaction, statement: usize) -> String {
    match transaction.statements.len() {
        0 | 1 => format!("transaction `{}`", transaction.name),
        _ => format!("transaction `{}`, statement {}", transaction.name, statement + 1),
    }
}

/// Checks that a statement returns what is to be fetched, yielded and worked on.
pub(crate) fn check_columns(statement: &Statement, columns: &[String]) -> Result<(), String> {
    if statement.fetch != Fetch::None && columns.is_empty() {
        return Err("it returns no columns, so there is nothing to fetch (add RETURNING, or drop `fetch`)".into());
    }
    if statement.yields.len() > columns.len() {
        return Err(format!("it yields {} names but returns {} columns", statement.yields.len(), columns.len()));
    }
    if let litelab_protocol::Work::Sha256Verify { value, hash } = &statement.work {
        for wanted in [value, hash] {
            if !columns.iter().any(|c| c == wanted) {
                return Err(format!("`sha256-verify` needs a column `{wanted}`; there are {}", columns.join(", ")));
            }
        }
    }
    Ok(())
}

/// What is known of the statements of a server's arm before the server runs: whether they write.
fn on_server(arm: &mut Arm) -> Result<(), String> {
    let dialect = arm.dialect;
    for transaction in
        arm.trial.transactions.iter_mut().chain(arm.data.iter_mut().filter_map(|d| d.transaction.as_mut()))
    {
        if invokes(transaction) {
            return Err(format!(
                "{}: `CALL` names a library's operations, and a server takes SQL",
                named(transaction, 0)
            ));
        }
        let writes = transaction.statements.iter().any(|s| litelab_model::sql::writes(&s.sql, dialect));
        set_writes(transaction, writes);
    }
    Ok(())
}

/// Leaves a single read to autocommit, for which the `begin` of a scenario was not meant.
fn set_writes(transaction: &mut Transaction, writes: bool) {
    transaction.writes = writes;
    if !writes && transaction.begin != Begin::None && transaction.statements.len() <= 1 {
        transaction.begin = Begin::None;
    }
}

fn invokes(transaction: &Transaction) -> bool {
    transaction.statements.iter().any(|s| matches!(Invocation::parse(&s.sql), Ok(Some(_))))
}

/// Checks an invocation against its interface. Returns whether it writes.
fn invoked(invocation: &Invocation, statement: &Statement) -> Result<bool, String> {
    let Some(operation) = invocation.definition() else {
        let known = INTERFACES.iter().flat_map(|(name, list)| list.iter().map(move |o| format!("{name}.{}", o.name)));
        let known: Vec<String> = known.collect();
        return Err(unknown("operation", &invocation.to_string(), known.iter().map(String::as_str)));
    };
    let (wanted, given) = (operation.arguments, statement.bind.len());
    if invocation.arguments != wanted.len() || given != wanted.len() {
        return Err(format!("`{invocation}` takes ({}), and {given} arguments are given", wanted.join(", ")));
    }
    if statement.tuples > 1 {
        return Err(format!("`{invocation}` is done once at a time: `rows` has no meaning for it, `repeat` has"));
    }
    let columns = operation.columns;
    if statement.yields.iter().zip(columns).any(|(name, column)| name != column)
        || statement.yields.len() > columns.len()
    {
        return Err(format!("`{invocation}` yields {columns:?}, in this order"));
    }
    if columns.is_empty() && statement.fetch != Fetch::None {
        return Err(format!("`{invocation}` returns nothing, so there is nothing to fetch"));
    }
    Ok(operation.writes)
}

/// An empty database in memory with the arm's schema; with `data.from`, with the schema of that file.
fn empty(arm: &Arm) -> Result<Connection, String> {
    let connection = Connection::open_in_memory().map_err(|e| describe(&e))?;
    let mut schema = arm.schema.clone();
    if let Some(from) = arm.data.as_ref().and_then(|d| d.from.as_ref()) {
        let original = open_read_only(std::path::Path::new(from)).map_err(|e| e.to_string())?;
        let read = || -> rusqlite::Result<Vec<String>> {
            // Internal tables and indexes come with what they belong to.
            let mut statement = original
                .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        let statements = read().map_err(|e| format!("{from}: {}", describe(&e)))?;
        schema = format!("{};{schema}", statements.join(";"));
    }
    connection.execute_batch(&schema).map_err(|e| format!("schema: {}", with_place(&schema, &e)))?;
    Ok(connection)
}

fn prepare<'c>(connection: &'c Connection, sql: &str) -> Result<rusqlite::Statement<'c>, String> {
    connection.prepare(sql).map_err(|e| with_place(sql, &e))
}

/// SQLite's message, and where in the SQL it points.
fn with_place(sql: &str, error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, offset, .. } if *offset >= 0 => {
            let at = (*offset as usize).min(sql.len());
            let before: Vec<char> = sql.get(..at).unwrap_or_default().chars().collect();
            let near: String = sql.get(at..).unwrap_or_default().chars().take(20).collect();
            format!(
                "{msg} at character {} (…{}⟨here⟩{near}…)",
                before.len() + 1,
                before[before.len().saturating_sub(20)..].iter().collect::<String>()
            )
        }
        rusqlite::Error::MultipleStatement => "it holds several statements: make `sql` a list".into(),
        other => describe(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_shown_in_place() {
        let connection = Connection::open_in_memory().expect("memory");
        let Err(error) = prepare(&connection, "SELECT 1 FRM t") else { panic!("it must fail") };
        assert!(error.contains("near \"t\"") && error.contains("character 14"), "{error}");
    }
}
