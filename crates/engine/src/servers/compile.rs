//! Compilation of every statement of a server's variants by the server before a run, in a schema with their tables.
//! Counterpart of [`crate::compile`] for SQLite.

use std::collections::HashSet;

use litelab_model::{Plan, Variant, sql};
use litelab_protocol::{Dialect, Statement};
use litelab_servers::{Admin, Prepared};

use super::Servers;
use super::schema::Schemas;
use crate::compile::{check_columns, named};
use crate::error::EngineError;

/// Compiles all statements of all variants on servers, and compares the settings of servers that belong to the user.
///
/// # Errors
/// [`EngineError::BadInput`] with the statement and the server's message.
pub(crate) fn compile(plan: &Plan, servers: &Servers) -> Result<(), EngineError> {
    let mut done = HashSet::new();
    for (index, variant) in
        plan.variants.iter().enumerate().filter(|(_, variant)| variant.server.is_some() && variant.skipped.is_none())
    {
        let what =
            (variant.server, &variant.schema, &variant.trial.transactions, &variant.invariants, &variant.settings);
        let key = serde_json::to_string(&what).unwrap_or_default();
        if !done.insert(key) {
            continue;
        }
        one(variant, servers).map_err(|e| EngineError::BadInput(format!("{}: {e}", plan.variant_name(index))))?;
    }
    Ok(())
}

fn one(variant: &Variant, servers: &Servers) -> Result<(), String> {
    let mut schemas = Schemas::none(servers.target(variant)?.url())?;
    servers.settle(variant, &mut schemas)?;
    let (admin, name) = schemas.make_empty(servers.next_schema(), variant)?;
    let name = name.as_str();
    let data = variant.data.as_ref().and_then(|d| d.transaction.as_ref());
    for transaction in variant.trial.transactions.iter().chain(data) {
        for (i, statement) in transaction.statements.iter().enumerate() {
            let here = |e: String| format!("{}: {e}", named(transaction, i));
            check(admin, name, statement, variant.dialect).map_err(here)?;
        }
    }
    for invariant in &variant.invariants {
        let fail = |e: String| format!("invariant `{}`: {e}", invariant.about);
        let prepared = admin.prepare_check(name, &invariant.sql).map_err(|e| fail(e.to_string()))?;
        if prepared.columns.len() != 1 || sql::writes(&invariant.sql, variant.dialect) {
            return Err(fail("it must be a query of one column".into()));
        }
    }
    for table in &variant.content {
        let quote = if variant.dialect == Dialect::Mysql { "`" } else { "\"" };
        let quoted = format!("{quote}{}{quote}", table.replace(quote, &quote.repeat(2)));
        admin.prepare_check(name, &format!("SELECT * FROM {quoted}")).map_err(|e| format!("content: {e}"))?;
    }
    Ok(())
}

fn check(admin: &mut Admin, schema: &str, statement: &Statement, dialect: Dialect) -> Result<(), String> {
    let Prepared { columns, parameters } = admin.prepare_check(schema, &statement.sql).map_err(|e| e.to_string())?;
    // The rows of a COPY are sent one by one; its parameters are its columns.
    let tuples = if dialect == Dialect::Postgres && sql::is_copy(&statement.sql) { 1 } else { statement.tuples };
    let given = statement.bind.len() * tuples as usize;
    if parameters != given {
        return Err(format!(
            "the server counts {parameters} parameters and the workload gives {given}; parameters are written :name"
        ));
    }
    check_columns(statement, &columns)
}
