//! Checks before anything is opened: they refuse what the runner cannot do, or would do wrong without an error.

use litelab_protocol::{Begin, Database, Interface, Invocation, Order, Statement, Trial, Until, VERSION};

use crate::driver::Driver;
use crate::fault::Fault;

fn fail(reason: String) -> Result<(), Fault> {
    Err(Fault::Other(reason))
}

/// Checks the version of a request before any other part of it is parsed.
pub fn protocol(version: u32) -> Result<(), Fault> {
    if version == VERSION { Ok(()) } else { fail(format!("protocol {version} is not {VERSION}")) }
}

/// Checks that the driver supports the trial's sharing, executor, kind of database and operations.
pub fn driver(trial: &Trial, driver: &Driver) -> Result<(), Fault> {
    if !driver.executors.contains(&trial.executor) {
        return fail(format!("executor {} is not supported", trial.executor));
    }
    if !driver.sharings.contains(&trial.sharing.kind()) {
        return fail(format!("sharing {} is not supported", trial.sharing));
    }
    if trial.databases.iter().any(|database| matches!(database, Database::Server { .. })) {
        return fail(format!("driver `{}` opens databases of SQLite, and this one is a server's", driver.name));
    }
    let Some(interface) = &driver.interface else { return Ok(()) };
    if !driver.in_memory && trial.databases.iter().any(|database| matches!(database, Database::Memory { .. })) {
        return fail(format!("driver `{}` keeps its tables in a file, not in memory", driver.name));
    }
    if interface.name == "orchestration" && trial.retry.attempts > 1 {
        let reason = "an orchestration that has failed cannot be tried again under its name";
        return fail(format!("{reason}: use a profile without [retry]"));
    }
    for transaction in &trial.transactions {
        if transaction.begin != Begin::None {
            let name = &transaction.name;
            let reason = "a library's operations are transactions of their own; write begin = \"none\"";
            return fail(format!("transaction `{name}`: {reason}"));
        }
        transaction.statements.iter().try_for_each(|statement| operation(statement, interface, driver.name))?;
    }
    Ok(())
}

/// Checks that a statement is an operation of the interface, with its arguments and columns.
fn operation(statement: &Statement, interface: &Interface, driver: &str) -> Result<(), Fault> {
    let (sql, name) = (&statement.sql, &interface.name);
    let Some(invocation) = Invocation::parse(sql).map_err(Fault::Other)? else {
        return fail(format!("driver `{driver}` takes no SQL but operations of interface `{name}`, not `{sql}`"));
    };
    let Some(operation) = interface.operation(&invocation) else {
        return fail(format!("driver `{driver}` has interface `{name}`, and no operation `{invocation}`"));
    };
    operation.check(&invocation, statement).map_err(Fault::Other)
}

/// Checks that every role has steps and an end, and a worker index within its range.
pub fn roles(trial: &Trial) -> Result<(), Fault> {
    for role in &trial.roles {
        let name = &role.name;
        if role.steps.iter().any(|step| step.transaction as usize >= trial.transactions.len()) {
            return fail(format!("role `{name}` has a step without its transaction"));
        }
        if role.steps.is_empty() || (role.order == Order::Weighted && role.steps.iter().all(|s| s.weight == 0)) {
            return fail(format!("role `{name}` has no step to do"));
        }
        if u64::from(role.first_in_role) + u64::from(role.workers) > u64::from(role.workers_in_role) {
            return fail(format!("role `{name}` has more workers here than in all"));
        }
        // A chain of roles that wait for each other must lead to a role that ends by itself.
        let mut waits_for = role;
        for _ in 0..=trial.roles.len() {
            let Until::Role { name: other } = &waits_for.until else { break };
            match trial.roles.iter().find(|r| r.name == *other) {
                Some(next) => waits_for = next,
                None => return fail(format!("role `{name}` waits for `{other}`, and there is none")),
            }
        }
        if let Until::Role { .. } = waits_for.until {
            return fail(format!("role `{name}` never ends"));
        }
    }
    Ok(())
}
