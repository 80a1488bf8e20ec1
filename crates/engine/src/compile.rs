//! SQLite itself compiles every statement of its arms before anything runs, on an empty database of the arm's schema.
//! That finds mistakes with their place, and tells which transactions write. Those of servers are compiled there, once
//! one runs ([`crate::servers`]).

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use litelab_database::{Guard, Script, SourceError, describe, quoted};
use litelab_model::plan::DataPlan;
use litelab_model::study::Location;
use litelab_model::{Arm, Plan};
use litelab_protocol::{Begin, Fetch, Invocation, Statement, Transaction};
use rusqlite::Connection;

use litelab_model::error::unknown;
use litelab_protocol::invocation::INTERFACES;

use crate::error::EngineError;

/// For the schema of one arm, of which only what makes tables is executed.
const LIMIT: Duration = Duration::from_secs(5);

/// Pages that the database of the check may have: 256 MiB of memory.
const PAGES: u32 = 65_536;

/// Compiles all statements of all arms on SQLite, sets `writes` of each transaction, and leaves reads to autocommit where the
/// `begin` of a scenario was meant for writes.
///
/// # Errors
/// [`EngineError::BadInput`] with the statement, SQLite's message, and the place it points at.
pub fn compile(plan: &mut Plan) -> Result<(), EngineError> {
    let mut compiled: HashMap<String, (Vec<Transaction>, Option<DataPlan>)> = HashMap::new();
    for index in 0..plan.arms.len() {
        let name = plan.arm_name(index);
        let arm = &mut plan.arms[index];
        if arm.server.is_some() {
            on_server(arm).map_err(|e| EngineError::BadInput(format!("{name}: {e}")))?;
            continue;
        }
        let work = (&arm.trial.transactions, &arm.invariants, &arm.content);
        let key = serde_json::to_string(&(&arm.schema, &arm.data, &arm.location, work)).unwrap_or_default();
        match compiled.get(&key) {
            Some((transactions, data)) if !key.is_empty() => {
                arm.trial.transactions.clone_from(transactions);
                arm.data.clone_from(data);
            }
            _ => {
                one(arm).map_err(|e| EngineError::BadInput(format!("{name}: {e}")))?;
                compiled.insert(key, (arm.trial.transactions.clone(), arm.data.clone()));
            }
        }
    }
    Ok(())
}

fn one(arm: &mut Arm) -> Result<(), String> {
    let guard = empty(arm)?;
    if let Some(data) = &mut arm.data {
        if data.transaction.as_ref().is_some_and(invokes) {
            return Err(
                "data.transaction: the core makes the rows, by SQL; it knows no library that could be called".into()
            );
        }
        if let Some(transaction) = &mut data.transaction {
            compile_transaction(&guard, transaction)?;
        }
        if let Some(then) = &data.then {
            // Tables that it makes are there for transactions and invariants.
            guard.script(then, Script::Schema).map_err(|e| format!("data.then: {e}"))?;
        }
    }
    if arm.location != Location::File {
        no_virtual_table(&guard)?;
    }
    for transaction in &mut arm.trial.transactions {
        compile_transaction(&guard, transaction)?;
    }
    if arm.trial.transactions.iter().any(invokes) {
        // The library makes its own tables; the invariants' queries on them are compiled when they are asked.
        return Ok(());
    }
    for invariant in &arm.invariants {
        let prepared = guard.prepare(&invariant.sql).map_err(|e| format!("invariant `{}`: {e}", invariant.about))?;
        if prepared.column_count() != 1 || !prepared.readonly() {
            return Err(format!("invariant `{}`: it must be a query of one column", invariant.about));
        }
    }
    for table in &arm.content {
        guard.prepare(&format!("SELECT * FROM {}", quoted(table))).map_err(|e| format!("content: {e}"))?;
    }
    Ok(())
}

/// Compiles the statements of a transaction and sets whether it writes.
fn compile_transaction(guard: &Guard, transaction: &mut Transaction) -> Result<(), String> {
    let mut writes = false;
    for (i, statement) in transaction.statements.iter().enumerate() {
        let what = named(transaction, i);
        if let Some(invocation) = Invocation::parse(&statement.sql).map_err(|e| format!("{what}: {e}"))? {
            writes |= invoked(&invocation, statement).map_err(|e| format!("{what}: {e}"))?;
            continue;
        }
        let prepared = guard.prepare(&statement.sql).map_err(|e| format!("{what}: {e}"))?;
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

/// An empty database in memory with the arm's schema; with `data.from`, with the schema of that file before it.
fn empty(arm: &Arm) -> Result<Guard, String> {
    let make = || {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(&format!("PRAGMA max_page_count = {PAGES}"))?;
        Guard::new(connection)
    };
    let guard = make().map_err(|e| describe(&e))?;
    guard.within(LIMIT);
    if let Some(from) = arm.data.as_ref().and_then(|d| d.from.as_ref()) {
        for (object, sql) in schema_of(Path::new(from))? {
            guard.script(&sql, Script::Schema).map_err(|e| lacks(from, &object, &e.to_string()))?;
        }
    }
    guard.script(&arm.schema, Script::Schema).map_err(|e| format!("schema: {e}"))?;
    Ok(guard)
}

/// What makes the tables, indexes, views and triggers of a database, each with its kind and name. Tables that belong to a
/// virtual one are left out: they come with it, as SQLite's own tables and indexes do
/// (<https://sqlite.org/vtab.html#xshadowname>).
fn schema_of(from: &Path) -> Result<Vec<(String, String)>, String> {
    litelab_database::read(from, |connection| {
        let failed = |e: rusqlite::Error| Unreadable(format!("{}: {}", from.display(), describe(&e)));
        let virtual_tables = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'";
        for name in texts(connection, virtual_tables).map_err(failed)? {
            // Only with its module it is known which tables belong to it.
            if let Err(error) = connection.prepare(&format!("SELECT 1 FROM {}", quoted(&name))) {
                let object = format!("table `{name}`");
                return Err(Unreadable(lacks(&from.display().to_string(), &object, &describe(&error))));
            }
        }
        let objects = "SELECT type || ' `' || name || '`', sql FROM sqlite_schema \
             WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND tbl_name NOT IN \
             (SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow') ORDER BY rowid";
        let read = || -> rusqlite::Result<Vec<(String, String)>> {
            connection.prepare(objects)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        read().map_err(failed)
    })
    .map_err(|Unreadable(e)| e)
}

/// Why a database cannot be read, as a message.
struct Unreadable(String);

impl From<SourceError> for Unreadable {
    fn from(error: SourceError) -> Self {
        Self(error.to_string())
    }
}

/// What a user's database needs and SQLite as it is built here does not have.
fn lacks(from: &str, object: &str, error: &str) -> String {
    format!(
        "{from}: litelab's own SQLite, which checks all SQL, cannot make its {object}: {error}; measure a copy without it"
    )
}

fn texts(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Virtual tables cannot be copied by statements ([`crate::prepare::setup_statements`]): the tables that belong to them hold
/// what their modules alone write.
fn no_virtual_table(connection: &Connection) -> Result<(), String> {
    let sql = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'virtual'";
    match texts(connection, sql).map_err(|e| describe(&e))?.first() {
        Some(name) => Err(format!("virtual table `{name}` cannot be copied into memory: write location = \"file\"")),
        None => Ok(()),
    }
}
