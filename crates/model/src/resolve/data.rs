//! Initial content of a database: the schema of a workload and its `[data]`.

use std::path::Path;

use litelab_protocol::{Dialect, Source};

use super::{set_variable, transactions};
use crate::by_dialect::ByDialect;
use crate::error::{ModelError, unknown};
use crate::library;
use crate::plan::DataPlan;
use crate::quantity::{Quantity, Scalar, Vars};
use crate::workload::Workload;

/// The schema and the data of a workload for SQLite, without a study. `name` is a built-in workload or a path, `schema`
/// an alternative of its schema, `rows` stands in the place of `data.rows`, `vars` in the place of its own variables.
///
/// # Errors
/// If the workload, the alternative or a variable does not exist, or the workload has no rows.
pub fn of_workload(
    name: &str,
    schema: Option<&str>,
    rows: Option<u64>,
    vars: &Vars,
) -> Result<(String, DataPlan), ModelError> {
    let (workload, text) = library::workload(name, None)?;
    let resolved = || -> Result<(String, DataPlan), String> {
        let mut all = workload.vars.clone();
        vars.iter().try_for_each(|(name, value)| set_variable(&mut all, name, value))?;
        if workload.data.is_none() {
            return Err(format!("workload `{}` has no [data]", workload.name));
        }
        let rows = rows.map(|rows| Quantity::from(Scalar::Integer(i64::try_from(rows).unwrap_or(i64::MAX))));
        let place = (&workload, text.directory.as_deref());
        let data = data(place, rows.as_ref(), &mut all, ("rusqlite", Dialect::Sqlite))?;
        let data = data.filter(|data| data.rows > 0 || data.from.is_some());
        let data = data.ok_or_else(|| format!("workload `{}` has no rows of its own: add --rows", workload.name))?;
        Ok((self::schema(&workload, schema, (&all, Dialect::Sqlite))?, data))
    };
    resolved().map_err(|message| ModelError::new(&text.file, message))
}

/// The data of a workload. Leaves the number of its rows among the variables.
pub(super) fn data(
    (workload, place): (&Workload, Option<&Path>),
    rows: Option<&Quantity>,
    vars: &mut Vars,
    (driver, dialect): (&str, Dialect),
) -> Result<Option<DataPlan>, String> {
    let Some(spec) = &workload.data else {
        if rows.is_some() {
            return Err(format!("`data_rows` is set, but workload `{}` has no [data]", workload.name));
        }
        vars.insert("data_rows".into(), Scalar::Integer(0));
        return Ok(None);
    };
    let wrong = |key: &str, e: String| format!("workload `{}`: data.{key}: {e}", workload.name);
    let data_rows = match (rows, &spec.rows) {
        (Some(q), _) => q.integer(vars, 0, 1 << 40)?,
        (None, Some(q)) => q.integer(vars, 0, 1 << 40).map_err(|e| wrong("rows", e))?,
        (None, None) => 0,
    };
    vars.insert("data_rows".into(), Scalar::Integer(0));
    let transaction = match &spec.transaction {
        Some(name) => Some(transactions::for_data(workload, name, (&*vars, dialect))?),
        None if data_rows > 0 => return Err("`data.rows` needs `data.transaction`, which inserts them".into()),
        None => None,
    };
    let mut params = transaction.iter().flat_map(|t| &t.params);
    if let Some(param) = params.find(|p| matches!(p.source, Source::Yielded { .. })) {
        return Err(format!(
            "data.transaction: param `{}` is yielded, and while rows are made no result is read: compute it, as \
             with `sequence`",
            param.name
        ));
    }
    if let (Some(from), false) = (&spec.from, dialect.is_sqlite()) {
        return Err(format!("data.from: `{from}` is a database of SQLite, and driver `{driver}` is one of {dialect}"));
    }
    vars.insert("data_rows".into(), Scalar::Integer(data_rows));
    let substituted = |then: &ByDialect<String>| crate::sql::substitute_in(then.of(dialect)?, vars, dialect);
    let then = spec.then.as_ref().map(substituted).transpose().map_err(|e| wrong("then", e))?;
    let from = spec.from.as_ref().map(|path| resolve_path(path, place));
    Ok(Some(DataPlan { from, transaction, rows: data_rows as u64, then }))
}

/// The schema of a workload; `variant` is one of its own, or `default`.
pub(super) fn schema(
    workload: &Workload,
    alternative: Option<&str>,
    (vars, dialect): (&Vars, Dialect),
) -> Result<String, String> {
    let sql = match alternative {
        None | Some("default") => &workload.schema.sql,
        Some(name) => workload.schema.alternative.get(name).ok_or_else(|| {
            unknown(
                "alternative schema",
                name,
                workload.schema.alternative.keys().map(String::as_str).chain(["default"]),
            )
        })?,
    };
    sql.of(dialect)
        .and_then(|sql| crate::sql::substitute_in(sql, vars, dialect))
        .map_err(|e| format!("workload `{}`: schema: {e}", workload.name))
}

/// A path in a workload is relative to the workload; it must hold for processes in other directories, too.
fn resolve_path(path: &str, directory: Option<&Path>) -> String {
    let path = directory.map_or_else(|| Path::new(path).to_path_buf(), |dir| dir.join(path));
    std::path::absolute(&path).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, schema: Option<&str>, rows: Option<u64>) -> String {
        of_workload(name, schema, rows, &Vars::new()).expect_err("refused").to_string()
    }

    #[test]
    fn a_workload_has_its_data_without_a_study() {
        let (schema, data) = of_workload("pgbench", None, None, &Vars::new()).expect("resolves");
        assert_eq!(data.rows, 100_000);
        assert!(schema.contains("bid INTEGER PRIMARY KEY") && data.then.is_some_and(|sql| sql.contains("ANALYZE")));
        let vars = Vars::from([("scale".to_owned(), Scalar::Integer(3))]);
        assert_eq!(of_workload("pgbench", None, None, &vars).expect("resolves").1.rows, 300_000);
        let (schema, data) = of_workload("sqlite3perf", Some("integer"), Some(7), &Vars::new()).expect("resolves");
        assert!(schema.contains("ID INTEGER") && data.rows == 7);
    }

    #[test]
    fn what_has_no_rows_is_refused_with_the_remedy() {
        assert!(refused("sqlite3perf", None, None).contains("add --rows"));
        assert!(refused("sqlite3perf", None, Some(0)).contains("add --rows"));
        assert!(refused("sqlite3perf", None, Some(u64::MAX)).contains("allowed"));
        assert!(refused("sqlite3perf", Some("integr"), Some(1)).contains("`integer`"));
        assert!(refused("queue", None, Some(1)).contains("has no [data]"));
    }
}
