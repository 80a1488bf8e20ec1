//! Invocations: operations of a library's interface in the place of SQL statements, `CALL queue.enqueue(?1, ?2)`.

use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::transaction::{Fetch, Statement};

/// A statement that calls an operation of a library's interface. SQLite itself has no `CALL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// Name of the interface, such as `queue`.
    pub interface: String,
    /// Name of the operation, such as `enqueue`.
    pub operation: String,
    /// Number of arguments, which are `?1`, `?2`, … in this order.
    pub arguments: usize,
}

/// An interface that a library offers in place of SQL, as its driver declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Name of the interface, such as `queue`.
    pub name: String,
    /// Operations of the interface.
    pub operations: Vec<Operation>,
}

/// An operation of an interface. Its result has at most one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Name of the operation, such as `enqueue`.
    pub name: String,
    /// Names of the arguments.
    pub arguments: Vec<String>,
    /// Names of the columns of the result.
    pub columns: Vec<String>,
    /// Whether the operation changes the database.
    pub writes: bool,
}

impl Interface {
    /// The operation that is invoked; `None` if the interface does not have it.
    #[must_use]
    pub fn operation(&self, invocation: &Invocation) -> Option<&Operation> {
        self.operations.iter().find(|o| o.name == invocation.operation && self.name == invocation.interface)
    }
}

impl Operation {
    /// An operation that changes the database.
    #[must_use]
    pub fn writing(name: &str, arguments: &[&str], columns: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self { name: name.into(), arguments: owned(arguments), columns: owned(columns), writes: true }
    }

    /// Checks the arguments and the use of the result of a statement that invokes the operation.
    ///
    /// # Errors
    /// The first mistake in one line, which begins with the invocation.
    pub fn check(&self, invocation: &Invocation, statement: &Statement) -> Result<(), String> {
        let (wanted, given, columns) = (self.arguments.len(), statement.bind.len(), &self.columns);
        if invocation.arguments != wanted || given != wanted {
            let (arguments, named) = (invocation.arguments, self.arguments.join(", "));
            return Err(format!("`{invocation}` takes ({named}), and {arguments} arguments are given, {given} bound"));
        }
        if statement.tuples > 1 {
            return Err(format!("`{invocation}` is done once at a time: `rows` has no meaning for it, `repeat` has"));
        }
        if !columns.starts_with(&statement.yields) {
            return Err(format!("`{invocation}` yields {columns:?}, in this order"));
        }
        if columns.is_empty() && (statement.required || statement.fetch != Fetch::None) {
            return Err(format!("`{invocation}` returns nothing, so there is nothing to fetch"));
        }
        Ok(())
    }
}

impl Invocation {
    /// The invocation that a statement contains; `None` for SQL.
    ///
    /// # Errors
    /// One line, if the statement begins with `CALL` but does not have the form `CALL interface.operation(?1, ?2)`.
    pub fn parse(sql: &str) -> Result<Option<Self>, String> {
        let text = sql.trim().trim_end_matches(';').trim_end();
        let Some(("CALL", rest)) = text.split_once(char::is_whitespace) else { return Ok(None) };
        let form = || format!("`{text}` is not of the form `CALL interface.operation(?1, ?2)`");
        let (name, list) = rest.trim().strip_suffix(')').and_then(|r| r.split_once('(')).ok_or_else(form)?;
        let (interface, operation) = name.trim().split_once('.').ok_or_else(form)?;
        let arguments: Vec<&str> =
            if list.trim().is_empty() { Vec::new() } else { list.split(',').map(str::trim).collect() };
        let in_order = arguments.iter().enumerate().all(|(i, a)| *a == format!("?{}", i + 1));
        if !in_order {
            return Err(form());
        }
        Ok(Some(Self { interface: interface.into(), operation: operation.into(), arguments: arguments.len() }))
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.interface, self.operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invocation_is_told_from_sql() {
        let parse = |sql| Invocation::parse(sql).expect("valid");
        assert_eq!(parse("SELECT 1"), None);
        assert_eq!(parse("CALLING"), None);
        let enqueue = parse(" CALL queue.enqueue( ?1, ?2 ) ;").expect("an invocation");
        assert_eq!((enqueue.to_string().as_str(), enqueue.arguments), ("queue.enqueue", 2));
        assert_eq!(parse("CALL queue.claim()").map(|c| c.arguments), Some(0));
    }

    #[test]
    fn what_is_neither_is_refused() {
        for wrong in ["CALL queue", "CALL queue.claim", "CALL claim()", "CALL queue.enqueue(?2, ?1)", "CALL q.e('x')"] {
            assert!(Invocation::parse(wrong).is_err_and(|e| e.contains("CALL interface.operation")), "{wrong}");
        }
    }
}
