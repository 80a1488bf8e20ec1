//! Compilation of every statement of the variants on SQLite before a run, on an empty database with the variant's
//! schema.
//!
//! Compilation finds mistakes with their position, and shows which transactions write. Statements of a server's
//! variants are compiled by that server once it runs ([`crate::servers`]).

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use litelab_database::{Guard, Script, describe, quoted};
use litelab_model::plan::DataPlan;
use litelab_model::study::Location;
use litelab_model::{Plan, Variant};
use litelab_protocol::sql::{Token, statements, tokens};
use litelab_protocol::{DriverDescription, Fetch, Invocation, Statement, Transaction};
use rusqlite::Connection;

use crate::error::EngineError;

/// Time limit for the schema of one variant, of which only the statements that create tables are executed.
const LIMIT: Duration = Duration::from_secs(5);

/// Maximum number of pages of the database used for the check: 256 MiB of memory.
const PAGES: u32 = 65_536;

/// Compiles all statements of all variants on SQLite, sets `writes` of each transaction, and gives those that only read
/// the `begin` of their workload, because that of a scenario applies to writes.
///
/// # Errors
/// [`EngineError::BadInput`] with the statement, SQLite's message, and the position in the statement.
pub fn compile(plan: &mut Plan) -> Result<(), EngineError> {
    let mut compiled: HashMap<String, (Vec<Transaction>, Option<DataPlan>)> = HashMap::new();
    for index in 0..plan.variants.len() {
        let name = plan.variant_name(index);
        let variant = &mut plan.variants[index];
        settings(variant).map_err(|e| EngineError::BadInput(format!("{name}: {e}")))?;
        if variant.server.is_some() {
            on_server(variant).map_err(|e| EngineError::BadInput(format!("{name}: {e}")))?;
            keep_begins(variant);
            continue;
        }
        let work = (&variant.trial.transactions, &variant.invariants, &variant.content);
        let key = serde_json::to_string(&(&variant.schema, &variant.data, &variant.location, work)).unwrap_or_default();
        match compiled.get(&key) {
            Some((transactions, data)) if !key.is_empty() => {
                variant.trial.transactions.clone_from(transactions);
                variant.data.clone_from(data);
            }
            _ => {
                one(variant).map_err(|e| EngineError::BadInput(format!("{name}: {e}")))?;
                compiled.insert(key, (variant.trial.transactions.clone(), variant.data.clone()));
            }
        }
        if !variant.trial.transactions.iter().any(invokes) {
            keep_begins(variant);
        }
    }
    Ok(())
}

/// Checks that settings are single statements that set something. They are executed without a [`Guard`], and those of a
/// run file need not come from a profile.
fn settings(variant: &Variant) -> Result<(), String> {
    let verb = if variant.dialect.is_sqlite() { "PRAGMA" } else { "SET" };
    let own = variant.settings.iter().filter_map(|setting| Some((&setting.name, setting.sql.as_ref()?)));
    let sent = variant.trial.connection.settings.iter().map(|setting| (&setting.name, &setting.sql));
    for (name, sql) in own.chain(sent) {
        let first = tokens(sql, variant.dialect).into_iter().find_map(|token| match token {
            Token::Word(word) => Some(word),
            _ => None,
        });
        let is_set = first.is_some_and(|word| word.eq_ignore_ascii_case(verb));
        if !is_set || statements(sql, variant.dialect).len() != 1 {
            return Err(format!("setting `{name}`: {sql:?} is not one statement {verb}"));
        }
    }
    Ok(())
}

fn one(variant: &mut Variant) -> Result<(), String> {
    let guard = empty(variant)?;
    if let Some(data) = &mut variant.data {
        if data.transaction.as_ref().is_some_and(invokes) {
            return Err(
                "data.transaction: the core makes the rows, by SQL; it knows no library that could be called".into()
            );
        }
        if let Some(transaction) = &mut data.transaction {
            compile_transaction(&guard, transaction)?;
        }
        if let Some(then) = &data.then {
            // Tables that it creates are visible to transactions and invariants.
            guard.script(then, Script::Schema).map_err(|e| format!("data.then: {e}"))?;
        }
    }
    if variant.location != Location::File {
        no_virtual_table(&guard)?;
    }
    for transaction in &mut variant.trial.transactions {
        compile_transaction(&guard, transaction)?;
    }
    if variant.trial.transactions.iter().any(invokes) {
        // The library creates its own tables; queries of invariants on them are compiled when they are executed.
        return Ok(());
    }
    for invariant in &variant.invariants {
        let prepared = guard.prepare(&invariant.sql).map_err(|e| format!("invariant `{}`: {e}", invariant.about))?;
        if prepared.column_count() != 1 || !prepared.readonly() {
            return Err(format!("invariant `{}`: it must be a query of one column", invariant.about));
        }
    }
    for table in &variant.content {
        guard.prepare(&format!("SELECT * FROM {}", quoted(table))).map_err(|e| format!("content: {e}"))?;
    }
    Ok(())
}

/// Compiles the statements of a transaction and sets whether it writes.
fn compile_transaction(guard: &Guard, transaction: &mut Transaction) -> Result<(), String> {
    let mut writes = false;
    for (i, statement) in transaction.statements.iter().enumerate() {
        let what = named(transaction, i);
        if Invocation::parse(&statement.sql).map_err(|e| format!("{what}: {e}"))?.is_some() {
            // The driver describes the operation: see [`crate::runner::check_support`].
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
    transaction.writes = writes;
    Ok(())
}

/// Name of a transaction, with the number of its statement if it has several, for the start of a message.
pub(crate) fn named(transaction: &Transaction, statement: usize) -> String {
    match transaction.statements.len() {
        0 | 1 => format!("transaction `{}`", transaction.name),
        _ => format!("transaction `{}`, statement {}", transaction.name, statement + 1),
    }
}

/// Checks that a statement returns enough columns for `fetch`, `yields` and `work`.
pub(crate) fn check_columns(statement: &Statement, columns: &[String]) -> Result<(), String> {
    if statement.fetch != Fetch::None && columns.is_empty() {
        return Err("it returns no columns, so there is nothing to fetch (add RETURNING, or drop `fetch`)".into());
    }
    if statement.yields.len() > columns.len() {
        return Err(format!("it yields {} names but returns {} columns", statement.yields.len(), columns.len()));
    }
    if let litelab_protocol::Work::Verify { value, hash } = &statement.work {
        for wanted in [value, hash] {
            if !columns.iter().any(|c| c == wanted) {
                return Err(format!("`verify` needs a column `{wanted}`; there are {}", columns.join(", ")));
            }
        }
    }
    Ok(())
}

/// Derives `writes` of the statements of a server's variant, before the server runs.
fn on_server(variant: &mut Variant) -> Result<(), String> {
    let dialect = variant.dialect;
    for transaction in
        variant.trial.transactions.iter_mut().chain(variant.data.iter_mut().filter_map(|d| d.transaction.as_mut()))
    {
        if invokes(transaction) {
            return Err(format!(
                "{}: `CALL` names a library's operations, and a server takes SQL",
                named(transaction, 0)
            ));
        }
        transaction.writes = transaction.statements.iter().any(|s| litelab_model::sql::writes(&s.sql, dialect));
    }
    Ok(())
}

/// Gives transactions that only read the workload's own `begin`: that of a scenario is for those that write.
fn keep_begins(variant: &mut Variant) {
    for (transaction, own) in variant.trial.transactions.iter_mut().zip(&variant.own_begins) {
        if !transaction.writes {
            transaction.begin = *own;
        }
    }
}

fn invokes(transaction: &Transaction) -> bool {
    transaction.statements.iter().any(|s| matches!(Invocation::parse(&s.sql), Ok(Some(_))))
}

/// Checks the invocations of a variant against the interface of its driver, and sets `writes` of their transactions.
pub(crate) fn operations(driver: &DriverDescription, variant: &mut Variant) -> Result<(), String> {
    let called = |statement: &Statement| Invocation::parse(&statement.sql).ok().flatten();
    let statements = || variant.trial.transactions.iter().flat_map(|t| &t.statements);
    let (name, first) = (&driver.name, statements().find_map(called));
    if first.is_some() && statements().any(|s| called(s).is_none()) {
        return Err("the workload mixes SQL with `CALL`: a driver takes one or the other".into());
    }
    let interface = match (first, &driver.interface) {
        (None, None) => return Ok(()),
        (Some(first), Some(interface)) if first.interface == interface.name => interface,
        (Some(Invocation { interface, .. }), _) => {
            return Err(format!("driver `{name}` has no interface `{interface}`, which the workload is written for"));
        }
        (None, Some(interface)) => {
            return Err(format!(
                "driver `{name}` takes no SQL but the operations of interface `{}`: use a workload made of them",
                interface.name
            ));
        }
    };
    let known: Vec<_> = interface.operations.iter().map(|o| format!("{}.{}", interface.name, o.name)).collect();
    for transaction in &mut variant.trial.transactions {
        let mut writes = false;
        for (i, statement) in transaction.statements.iter().enumerate() {
            let Some(invocation) = called(statement) else { continue };
            let operation = interface.operation(&invocation).ok_or_else(|| {
                litelab_model::unknown("operation", &invocation.to_string(), known.iter().map(String::as_str))
            });
            let checked = operation.and_then(|o| o.check(&invocation, statement).map(|()| o.writes));
            writes |= checked.map_err(|e| format!("{}: {e}", named(transaction, i)))?;
        }
        transaction.writes = writes;
    }
    keep_begins(variant);
    Ok(())
}

/// An empty in-memory database with the variant's schema, preceded by the schema of the file in `data.from`.
fn empty(variant: &Variant) -> Result<Guard, String> {
    let make = || {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(&format!("PRAGMA max_page_count = {PAGES}"))?;
        Guard::new(connection)
    };
    let guard = make().map_err(|e| describe(&e))?;
    guard.within(LIMIT);
    if let Some(from) = variant.data.as_ref().and_then(|d| d.from.as_ref()) {
        for (object, sql) in schema_of(Path::new(from))? {
            guard.script(&sql, Script::Schema).map_err(|e| lacks(from, &object, &e.to_string()))?;
        }
    }
    guard.script(&variant.schema, Script::Schema).map_err(|e| format!("schema: {e}"))?;
    Ok(guard)
}

/// SQL of the tables, indexes, views and triggers of a database, each with its kind and name. Shadow tables of virtual
/// tables and SQLite's own tables and indexes are omitted, because SQLite creates them itself
/// (<https://sqlite.org/vtab.html#xshadowname>).
fn schema_of(from: &Path) -> Result<Vec<(String, String)>, String> {
    litelab_database::read(from, |connection| {
        let failed = |e: rusqlite::Error| EngineError::BadInput(format!("{}: {}", from.display(), describe(&e)));
        let virtual_tables = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'";
        for name in texts(connection, virtual_tables).map_err(failed)? {
            // SQLite can only identify the shadow tables of a virtual table if its module is available.
            if let Err(error) = connection.prepare(&format!("SELECT 1 FROM {}", quoted(&name))) {
                let object = format!("table `{name}`");
                return Err(EngineError::BadInput(lacks(&from.display().to_string(), &object, &describe(&error))));
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
    .map_err(|e| e.to_string())
}

/// Message for an object of a user's database that litelab's build of SQLite does not support.
fn lacks(from: &str, object: &str, error: &str) -> String {
    format!(
        "{from}: litelab's own SQLite, which checks all SQL, cannot make its {object}: {error}; measure a copy without it"
    )
}

fn texts(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Refuses virtual tables: [`crate::prepare::setup_statements`] cannot copy them by statements, because only their
/// modules can write their shadow tables.
fn no_virtual_table(connection: &Connection) -> Result<(), String> {
    let sql = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'virtual'";
    match texts(connection, sql).map_err(|e| describe(&e))?.first() {
        Some(name) => Err(format!("virtual table `{name}` cannot be copied into memory: write location = \"file\"")),
        None => Ok(()),
    }
}
