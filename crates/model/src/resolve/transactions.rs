//! Resolution of transactions: substitution of variables, numbering of parameters, and defaults.

use litelab_protocol::sql::{Token, tokens};
use litelab_protocol::{Begin, Dialect, Fetch, Param, Role, Source, Statement, Transaction, Work};

use crate::error::{lookup, nearest, unknown};
use crate::parameter;
use crate::quantity::{Quantity, Vars};
use crate::sql;
use crate::study::Scenario;
use crate::workload::{StatementSpec, TransactionSpec, Verify, Workload};

/// The transactions that roles use, in the order of `used`.
pub(super) fn resolve(
    workload: &Workload,
    used: &[String],
    (vars, dialect): (&Vars, Dialect),
    begin: Option<Begin>,
) -> Result<Vec<Transaction>, String> {
    used.iter().map(|name| one(workload, name, (vars, dialect), begin, false)).collect()
}

/// The workload's own `begin` of each transaction that roles use, if the scenario states another; else none.
///
/// # Errors
/// If the variant has another `begin` than the others of its scenario, and all its transactions are autocommits, which
/// keep their own: the variants would be identical.
pub(super) fn own_begins(
    workload: &Workload,
    used: &[String],
    of: (&Vars, Dialect),
    scenario: &Scenario,
    is_dimension: bool,
) -> Result<Vec<Begin>, String> {
    if scenario.begin.is_none() {
        return Ok(Vec::new());
    }
    let own = resolve(workload, used, of, None)?;
    if is_dimension && own.iter().all(|t| t.begin == Begin::None && !is_long(&t.statements)) {
        let names: Vec<_> = own.iter().map(|t| format!("`{}`", t.name)).collect();
        return Err(format!(
            "dimension `begin` has no effect on autocommits, such as {}: give one a `begin` in the workload",
            names.join(", ")
        ));
    }
    Ok(own.iter().map(|t| t.begin).collect())
}

/// Whether statements are executed more than once in all.
fn is_long(statements: &[Statement]) -> bool {
    statements.len() > 1 || statements.iter().any(|s| s.repeat > 1)
}

/// Checks that each `yielded` parameter of a role is yielded by a transaction of the same role: a worker's yielded
/// values are null until one of its own statements sets them.
pub(super) fn check_yielded(roles: &[Role], transactions: &[Transaction]) -> Result<(), String> {
    for role in roles {
        let run = || role.steps.iter().filter_map(|step| transactions.get(step.transaction as usize));
        let yields: Vec<&str> = run().flat_map(|t| &t.statements).flat_map(|s| &s.yields).map(String::as_str).collect();
        for transaction in run() {
            let bound = transaction.statements.iter().flat_map(|s| &s.bind);
            for param in bound.filter_map(|index| transaction.params.get(*index as usize)) {
                if let Source::Yielded { name } = &param.source
                    && !yields.contains(&name.as_str())
                {
                    return Err(format!(
                        "role `{}`: transaction `{}`: param `{}`: no transaction of the role yields it: {}",
                        role.name,
                        transaction.name,
                        param.name,
                        unknown("yielded name", name, yields.iter().copied())
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The transaction that inserts the rows of `[data]`: one row per execution, regardless of its batch size, if it has
/// one statement.
pub(super) fn for_data(
    workload: &Workload,
    name: &str,
    (vars, dialect): (&Vars, Dialect),
) -> Result<Transaction, String> {
    one(workload, name, (vars, dialect), Some(Begin::None), true)
}

fn one(
    workload: &Workload,
    name: &str,
    (vars, dialect): (&Vars, Dialect),
    begin: Option<Begin>,
    single: bool,
) -> Result<Transaction, String> {
    let here = |e: String| format!("workload `{}`: transaction `{name}`: {e}", workload.name);
    let spec = lookup("transaction", name, &workload.transactions);
    let spec = spec.map_err(|e| format!("workload `{}`: {e}", workload.name))?;
    transaction(name, spec, (vars, dialect), begin, single).map_err(here)
}

fn transaction(
    name: &str,
    spec: &TransactionSpec,
    (vars, dialect): (&Vars, Dialect),
    begin: Option<Begin>,
    single: bool,
) -> Result<Transaction, String> {
    if let Some((name, bare)) = spec.params.keys().find_map(|name| Some((name, name.strip_prefix([':', '@', '$'])?))) {
        return Err(format!("param `{name}`: its name is `{bare}`, and only SQL has the colon, as in `:{bare}`"));
    }
    let params = parameter::resolve(&spec.params, vars)?;
    let specs = statements(spec, dialect)?;
    let mut statements = Vec::new();
    // With one statement, which a batch only repeats, `data.rows` counts rows; with several related ones, executions.
    let row = single && specs.len() == 1;
    for (i, statement) in specs.iter().enumerate() {
        let resolved = one_statement(statement, &params, (vars, dialect), row)
            .map_err(|e| if specs.len() > 1 { format!("statement {}: {e}", i + 1) } else { e })?;
        statements.push(resolved);
    }
    check_use(spec, &params)?;
    let long = is_long(&statements);
    let own = spec.begin.unwrap_or(if long { Begin::Immediate } else { Begin::None });
    Ok(Transaction {
        name: name.to_owned(),
        // A scenario's `begin` applies to transactions that write; reads and autocommits keep their own. Only SQLite's
        // compilation shows whether one writes: the engine gives those that read theirs ([`own_begins`]).
        begin: match begin {
            Some(begin) if single || own != Begin::None || long => begin,
            _ => own,
        },
        writes: false,
        hold_us: hold(spec.hold.as_ref(), vars)?,
        timed_rows: false,
        params,
        statements,
    })
}

/// Checks that some statement uses each parameter, in any dialect: the set of parameters, and therefore their values,
/// does not depend on the dialect.
fn check_use(spec: &TransactionSpec, params: &[Param]) -> Result<(), String> {
    let mut used: Vec<&str> = Vec::new();
    for statement in spec.sql.values().flat_map(|list| &list.0) {
        for sql in statement.0.sql.values() {
            used.extend(Dialect::ALL.into_iter().flat_map(|dialect| sql::names(sql, dialect)));
        }
    }
    for (index, param) in params.iter().enumerate() {
        let source = |p: &Param| matches!(p.source, Source::Sha256Of { param } if param as usize == index);
        if !used.contains(&param.name.as_str()) && !params.iter().any(source) {
            let name = param.name.as_str();
            return Err(format!(
                "param `{name}` is used by no statement: SQL has it as `:{name}` (not `?`, `@{name}` or `${name}`)"
            ));
        }
    }
    Ok(())
}

/// The statements of a transaction. The transaction's own keys apply to its only statement.
fn statements(spec: &TransactionSpec, dialect: Dialect) -> Result<Vec<StatementSpec>, String> {
    let mut out: Vec<StatementSpec> = spec.sql.of(dialect)?.0.iter().map(|statement| statement.0.clone()).collect();
    if out.is_empty() {
        return Err("`sql` is empty".into());
    }
    let short = [
        ("rows", spec.rows.is_some()),
        ("repeat", spec.repeat.is_some()),
        ("fetch", spec.fetch.is_some()),
        ("verify", spec.verify.is_some()),
        ("yields", spec.yields.is_some()),
    ];
    if let [only] = out.as_mut_slice() {
        only.rows = only.rows.take().or_else(|| spec.rows.clone());
        only.repeat = only.repeat.take().or_else(|| spec.repeat.clone());
        only.fetch = only.fetch.or(spec.fetch);
        only.verify = only.verify.take().or_else(|| spec.verify.clone());
        if let Some(yields) = &spec.yields {
            only.yields.clone_from(yields);
        }
    } else if let Some((key, _)) = short.iter().find(|(_, given)| *given) {
        return Err(format!("it has several statements: put `{key}` into the one it belongs to"));
    }
    Ok(out)
}

fn one_statement(
    spec: &StatementSpec,
    params: &[Param],
    (vars, dialect): (&Vars, Dialect),
    row: bool,
) -> Result<Statement, String> {
    let text = spec.sql.of(dialect)?;
    let count = |q: &Option<Quantity>, key: &str| match q {
        Some(q) if !row => q.integer(vars, 1, 100_000_000).map(|n| n as u32).map_err(|e| format!("{key}: {e}")),
        _ => Ok(1),
    };
    let (tuples, repeat) = (count(&spec.rows, "rows")?, count(&spec.repeat, "repeat")?);
    let substituted = sql::substitute_in(text, vars, dialect)?;
    sql::check_statement(&substituted, dialect)?;
    let positional = sql::positional(&substituted, tuples, dialect)?;
    let bind = positional
        .names
        .iter()
        .map(|name| {
            params.iter().position(|p| p.name == *name).map(|i| i as u32).ok_or_else(|| without_param(name, params))
        })
        .collect::<Result<Vec<u32>, String>>()?;
    let first = tokens(&substituted, dialect).into_iter().find_map(|token| match token {
        Token::Word(word) if word.starts_with(char::is_alphabetic) => Some(word),
        _ => None,
    });
    let selects = first.is_some_and(|first| ["select", "with", "values"].iter().any(|w| first.eq_ignore_ascii_case(w)));
    let fetch = spec.fetch.unwrap_or(match (spec.yields.is_empty(), selects) {
        (false, _) => Fetch::First,
        (true, true) => Fetch::All,
        (true, false) => Fetch::None,
    });
    if !spec.yields.is_empty() && fetch == Fetch::None {
        return Err("it yields columns, so it must fetch a row: `fetch` cannot be `none`".into());
    }
    let required = spec.required.unwrap_or(!spec.yields.is_empty());
    if required && fetch == Fetch::None {
        return Err(
            "`required` needs a row to be fetched: add `fetch = \"first\"` (and RETURNING, where it writes)".into()
        );
    }
    let work = match (&spec.verify, fetch) {
        (Some(_), Fetch::None) => return Err("`verify` needs rows, so `fetch` cannot be `none`".into()),
        (Some(Verify { value, hash }), _) => Work::Verify { value: value.clone(), hash: hash.clone() },
        (None, Fetch::None) => Work::None,
        (None, _) => Work::Read,
    };
    Ok(Statement {
        sql: positional.sql,
        bind,
        tuples,
        repeat,
        fetch,
        work,
        yields: spec.yields.clone(),
        required,
        hold_us: hold(spec.hold.as_ref(), vars)?,
    })
}

/// The error for an SQL parameter without a definition.
fn without_param(name: &str, params: &[Param]) -> String {
    let known = || params.iter().map(|p| p.name.as_str());
    match nearest(name, known()) {
        Some(near) => format!("`:{name}` has no value: did you mean `:{near}`?"),
        None => format!("`:{name}` has no value: add `param.{name}`, as in `param.{name} = {{ sequence = {{}} }}`"),
    }
}

fn hold(q: Option<&Quantity>, vars: &Vars) -> Result<u64, String> {
    q.map_or(Ok(0), |q| q.micros(vars).map_err(|e| format!("hold: {e}")))
}
