//! Converts a statement that inserts one row into one that inserts many.

use litelab_protocol::sql::{Token, tokens, values};
use litelab_protocol::{Dialect, Statement};

/// An INSERT of `rows` rows; its parameters are those of the first row, then those of the second, and so on. `None` if
/// the statement is more than `INSERT INTO t VALUES (…)` with a tuple of parameters, constants and operators: a
/// function or a subquery may depend on the previous row, and a clause after the tuple may contain a parameter.
pub(crate) fn of_rows(statement: &Statement, rows: u64) -> Option<String> {
    let pieces = tokens(&statement.sql, Dialect::Sqlite);
    let tuple = values(&pieces)?;
    let (before, after) = (&pieces[..tuple.start], &pieces[tuple.end..]);
    let is = |piece: &Token<'_>, word: &str| matches!(piece, Token::Word(w) if w.eq_ignore_ascii_case(word));
    let plain = statement.repeat == 1
        && statement.tuples == 1
        && before.iter().filter(|piece| is(piece, "values")).count() == 1
        && !before.iter().any(|piece| is(piece, "select") || *piece == Token::Other("?"))
        && after.iter().all(|piece| matches!(piece, Token::Other(text) if text.trim().is_empty()));
    if !plain {
        return None;
    }
    let begin: usize = before.iter().map(Token::bytes).sum();
    let mut sql = statement.sql[..begin].to_owned();
    let inner = &pieces[tuple.start + 1..tuple.end - 1];
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ",(" });
        let mut is_parameter = false;
        for piece in inner {
            match piece {
                Token::Word(number) if is_parameter => {
                    let number = number.parse::<u64>().ok()?;
                    sql.push_str(&(number + row * statement.bind.len() as u64).to_string());
                }
                Token::Word(word) if word.starts_with(|c: char| c.is_ascii_digit()) || is(piece, "null") => {
                    sql.push_str(word)
                }
                Token::Quoted(text) if text.starts_with('\'') => sql.push_str(text),
                Token::Other(text) => sql.push_str(text),
                _ => return None,
            }
            is_parameter = *piece == Token::Other("?");
        }
        sql.push(')');
    }
    Some(sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(sql: &str) -> Option<String> {
        let json = serde_json::json!({
            "sql": sql, "bind": [0, 1], "tuples": 1, "repeat": 1, "fetch": "none", "work": { "kind": "none" },
            "yields": [], "required": false, "hold_us": 0,
        });
        of_rows(&serde_json::from_value(json).expect("a statement"), 3)
    }

    #[test]
    fn a_tuple_is_repeated_with_parameters_of_its_own() {
        let many = three("INSERT OR REPLACE INTO t(a, b, c) VALUES (?1, -1.5, 'it''s', NULL, ?2) ");
        let expected = "INSERT OR REPLACE INTO t(a, b, c) VALUES (?1, -1.5, 'it''s', NULL, ?2),\
            (?3, -1.5, 'it''s', NULL, ?4),(?5, -1.5, 'it''s', NULL, ?6)";
        assert_eq!(many.as_deref(), Some(expected));
        assert_eq!(
            three("INSERT INTO t VALUES ((?1 - 1) / 2)").as_deref(),
            Some("INSERT INTO t VALUES ((?1 - 1) / 2),((?3 - 1) / 2),((?5 - 1) / 2)")
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
