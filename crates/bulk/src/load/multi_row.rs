//! Converts a statement that inserts one row into one that inserts many.

use litelab_protocol::sql::{Insert, Token, tokens};
use litelab_protocol::{Dialect, Statement};

/// An INSERT of `rows` rows; its parameters are those of the first row, then those of the second, and so on. `None` if
/// the statement is more than `INSERT INTO t VALUES (…)` with a tuple of parameters, constants and operators: a
/// function or a subquery may depend on the previous row.
pub(crate) fn of_rows(statement: &Statement, rows: usize) -> Option<String> {
    let insert = Insert::find(Dialect::Sqlite, &statement.sql)?;
    let [before, tuple, after] = insert.parts;
    let head = tokens(before, Dialect::Sqlite);
    let plain = head.iter().filter(|token| token.is("values")).count() == 1
        && !head.iter().any(|token| token.is("select"))
        && after.trim().is_empty();
    let constant = |token: &Token<'_>| match token {
        Token::Word(word) => word.starts_with(|c: char| c.is_ascii_digit()) || token.is("null"),
        Token::Quoted(text) => text.starts_with('\''),
        Token::Other(_) => true,
        _ => false,
    };
    let once = statement.repeat == 1 && statement.tuples == 1 && insert.parameters == statement.bind.len();
    let single = once && plain && tokens(tuple, Dialect::Sqlite).iter().all(constant);
    single.then(|| insert.of_rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(sql: &str) -> Option<String> {
        let json = serde_json::json!({
            "sql": sql, "bind": vec![0; sql.matches('?').count()], "tuples": 1, "repeat": 1, "fetch": "none", "work": { "kind": "none" },
            "yields": [], "required": false, "hold_us": 0,
        });
        of_rows(&serde_json::from_value(json).expect("a statement"), 3)
    }

    #[test]
    fn a_tuple_is_repeated_with_parameters_of_its_own() {
        let many = three("INSERT OR REPLACE INTO t(a, b, c) VALUES (?1, -1.5, 'it''s', NULL, ?2) ");
        let expected = "INSERT OR REPLACE INTO t(a, b, c) VALUES (?1, -1.5, 'it''s', NULL, ?2),\
            (?3, -1.5, 'it''s', NULL, ?4),(?5, -1.5, 'it''s', NULL, ?6)";
        assert_eq!(many.as_deref().map(str::trim_end), Some(expected));
        assert_eq!(
            three("INSERT INTO t VALUES ((?1 - 1) / 2)").as_deref(),
            Some("INSERT INTO t VALUES ((?1 - 1) / 2),((?2 - 1) / 2),((?3 - 1) / 2)")
        );
        assert_eq!(
            three("insert into t values(?2,?1)").as_deref(),
            Some("insert into t values(?2,?1),(?4,?3),(?6,?5)")
        );
    }

    #[test]
    fn what_may_depend_on_the_row_before_stays_single() {
        for sql in [
            "INSERT INTO t VALUES (?1, (SELECT max(a) FROM t))",
            "INSERT INTO t VALUES (?1, last_insert_rowid())",
            "INSERT INTO t VALUES (?1, random())",
            "INSERT INTO t VALUES (?1, \"b\")",
            "INSERT INTO t VALUES (?1, ?2) ON CONFLICT DO UPDATE SET b = ?2",
            "INSERT INTO t VALUES (?1, ?2), (3, 4)",
            "INSERT INTO t VALUES (1, 2), (?1, ?2)",
            "INSERT INTO t VALUES (1, 2) UNION ALL VALUES (?1, ?2)",
            "INSERT INTO t SELECT max(column1), ?2 FROM (VALUES (?1))",
            "INSERT INTO t(a) SELECT 1 UNION VALUES (?1)",
            "WITH c AS (VALUES (?2)) INSERT INTO t VALUES (?1)",
            "UPDATE t SET a = ?1 WHERE b = ?2",
        ] {
            assert_eq!(three(sql), None, "{sql}");
        }
    }
}
