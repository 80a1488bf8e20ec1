//! Invocations: operations of a library's interface in the place of SQL statements, `CALL queue.enqueue(?1, ?2)`.

use std::fmt;

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

/// An operation of an interface with its arguments and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Name of the operation, such as `enqueue`.
    pub name: &'static str,
    /// Names of the arguments.
    pub arguments: &'static [&'static str],
    /// Names of the columns of the result, which has at most one row.
    pub columns: &'static [&'static str],
    /// Whether the operation changes the database file.
    pub writes: bool,
}

/// All interfaces with their operations; `docs/PROTOCOL.md` describes each operation.
pub const INTERFACES: [(&str, &[Operation]); 2] = [
    (
        "queue",
        &[
            Operation { name: "enqueue", arguments: &["payload", "priority"], columns: &[], writes: true },
            Operation { name: "claim", arguments: &[], columns: &["id", "payload"], writes: true },
            Operation { name: "complete", arguments: &["id"], columns: &[], writes: true },
            Operation { name: "fail", arguments: &["id"], columns: &[], writes: true },
        ],
    ),
    (
        "orchestration",
        &[
            Operation {
                name: "fan_out",
                arguments: &["instance", "activities", "delay_ms"],
                columns: &["succeeded"],
                writes: true,
            },
            Operation {
                name: "large_payload",
                arguments: &[
                    "instance",
                    "activities",
                    "sub_orchestrations",
                    "small_kb",
                    "medium_kb",
                    "large_kb",
                    "delay_ms",
                ],
                columns: &["succeeded", "bytes"],
                writes: true,
            },
        ],
    ),
];

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

    /// The operation in [`INTERFACES`]; `None` if the interface or the operation does not exist.
    #[must_use]
    pub fn definition(&self) -> Option<Operation> {
        let (_, operations) = INTERFACES.iter().find(|(name, _)| *name == self.interface)?;
        operations.iter().find(|o| o.name == self.operation).copied()
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
        assert_eq!(enqueue.definition().map(|o| o.arguments.len()), Some(2));
        assert_eq!(parse("CALL queue.claim()").map(|c| c.arguments), Some(0));
        let fan_out = parse("CALL orchestration.fan_out(?1, ?2, ?3)").expect("an invocation");
        assert_eq!(fan_out.definition().map(|o| o.columns), Some(&["succeeded"][..]));
        let other = parse("CALL orchestration.claim()").expect("an invocation");
        assert_eq!(other.definition(), None);
    }

    #[test]
    fn what_is_neither_is_refused() {
        for wrong in ["CALL queue", "CALL queue.claim", "CALL claim()", "CALL queue.enqueue(?2, ?1)", "CALL q.e('x')"] {
            assert!(Invocation::parse(wrong).is_err_and(|e| e.contains("CALL interface.operation")), "{wrong}");
        }
    }
}
