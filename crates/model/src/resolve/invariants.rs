//! Resolution of invariants: checks of names, and substitution of variables.

use litelab_protocol::Dialect;

use crate::error::{lookup, unknown};
use crate::expression;
use crate::plan::InvariantPlan;
use crate::quantity::{Quantity, Vars, variable};
use crate::workload::{Invariant, Workload};

/// Counts that an invariant can refer to.
const COUNTS: [&str; 5] = ["committed", "empty", "failed", "rows", "verified"];

/// The invariants of a variant: those of the scenario if it has any, otherwise those of the workload.
pub(super) fn invariants(
    workload: &Workload,
    own: &[Invariant],
    of: (&[String], &str, Dialect),
    warmup_ms: u64,
    vars: &Vars,
) -> Result<Vec<InvariantPlan>, String> {
    let (from, list) = match own {
        [] => (format!("workload `{}`: ", workload.name), &workload.invariants[..]),
        own => (String::new(), own),
    };
    let mut plans = Vec::new();
    for (i, invariant) in list.iter().enumerate() {
        let plan = one(invariant, workload, of, warmup_ms, vars);
        plans.extend(plan.map_err(|e| format!("{from}invariant {}: {e}", i + 1))?);
    }
    Ok(plans)
}

/// Resolves one invariant; `None` if it does not apply to this variant.
fn one(
    invariant: &Invariant,
    workload: &Workload,
    (used, driver, dialect): (&[String], &str, Dialect),
    warmup_ms: u64,
    vars: &Vars,
) -> Result<Option<InvariantPlan>, String> {
    for name in &invariant.when {
        lookup("transaction", name, &workload.transactions)?;
    }
    let mut relevant = invariant.when.iter().all(|t| used.contains(t));
    relevant &= invariant.drivers.is_empty() || invariant.drivers.iter().any(|d| same_driver(d, driver));
    let (equals, at_least, at_most) = (&invariant.equals, &invariant.at_least, &invariant.at_most);
    if equals.is_none() && at_least.is_none() && at_most.is_none() {
        return Err("it needs `equals`, `at_least` or `at_most`: without them nothing could break it".into());
    }
    let expression = |quantity: &Option<Quantity>| {
        let Some(quantity) = quantity else { return Ok(None) };
        let text = quantity.to_string();
        for name in expression::names(&text) {
            if name.starts_with('$') {
                variable(vars, &name)?;
                continue;
            }
            let (count, transaction) = name.split_once('.').unwrap_or((&name, ""));
            if !COUNTS.contains(&count) {
                return Err(unknown("count", count, COUNTS));
            }
            lookup("transaction", transaction, &workload.transactions)?;
            if count == "rows" && warmup_ms > 0 {
                return Err(format!(
                    "`{name}` has no rows of the warm-up, and the database does: write `warmup = \"0ms\"`, or use \
                     `committed.{transaction}`"
                ));
            }
            // A count of a transaction that this variant does not run is 0, not an error.
        }
        // Counts remain names; variables are substituted now.
        let text = crate::sql::substitute(&text, vars)?;
        expression::evaluate(&text, &|_| Ok(1.0))?;
        Ok(Some(text))
    };
    let (equals, at_least, at_most) = (expression(equals)?, expression(at_least)?, expression(at_most)?);
    let sql = invariant.sql.of(dialect)?;
    let about = if invariant.about.is_empty() { sql.clone() } else { invariant.about.clone() };
    let sql = crate::sql::substitute_in(sql, vars, dialect)?;
    Ok(relevant.then_some(InvariantPlan { about, sql, equals, at_least, at_most }))
}

/// Whether two names refer to the same driver: `python:sqlite3` and `sqlite3` do, in either order.
fn same_driver(a: &str, b: &str) -> bool {
    let within = |short: &str, long: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with(':'));
    a == b || within(a, b) || within(b, a)
}
