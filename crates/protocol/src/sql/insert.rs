//! Expansion of an INSERT of one row to many rows.

use std::ops::Range;

use super::token::{Token, tokens};
use super::values::values;
use crate::Dialect;

/// An INSERT whose values are one tuple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert<'a> {
    /// Text before the tuple, the tuple with its parentheses, and the text after it.
    pub parts: [&'a str; 3],
    /// Number of values per row.
    pub parameters: usize,
    /// Byte range of each placeholder in the tuple, and its number.
    placeholders: Vec<(Range<usize>, usize)>,
    dialect: Dialect,
}

/// Words of an INSERT that may refer to rows inserted before.
const DEPENDENT: [&str; 3] = ["select", "update", "last_insert_id"];

impl<'a> Insert<'a> {
    /// Parses `… VALUES (tuple) …` with all placeholders in the tuple: `?1` in SQLite, `$1` in PostgreSQL, `?` in MySQL.
    /// `None` for any other statement.
    #[must_use]
    pub fn find(dialect: Dialect, sql: &'a str) -> Option<Self> {
        let tokens = tokens(sql, dialect);
        let tuple = values(&tokens)?;
        let (mut at, mut depth, mut open, mut close) = (0, 0_usize, 0, 0);
        let mut placeholders = Vec::new();
        for (index, token) in tokens.iter().enumerate() {
            let end = at + token.bytes();
            if index == tuple.start {
                if depth > 0 {
                    return None;
                }
                open = at;
            }
            let number = match token {
                Token::Other("(") => {
                    depth += 1;
                    None
                }
                Token::Other(")") => {
                    depth = depth.checked_sub(1)?;
                    None
                }
                // A second tuple.
                Token::Other(",") if depth == 0 && index >= tuple.end => return None,
                Token::Other("?") if dialect == Dialect::Mysql => Some(placeholders.len() + 1),
                // The number follows.
                Token::Other("?") if dialect == Dialect::Sqlite => None,
                Token::Word(number)
                    if dialect == Dialect::Sqlite && index > 0 && tokens[index - 1] == Token::Other("?") =>
                {
                    Some(number.parse().ok()?)
                }
                Token::Other("$") if dialect == Dialect::Postgres => return None,
                Token::Variable(number) if dialect == Dialect::Postgres => Some(number.parse().ok()?),
                _ => None,
            };
            if let Some(number) = number {
                if !tuple.contains(&index) {
                    return None;
                }
                placeholders.push((at - open..end - open, number));
            }
            at = end;
            if index + 1 == tuple.end {
                close = at;
            }
        }
        let parameters = placeholders.iter().map(|(_, number)| *number).max()?;
        Some(Self { parts: [&sql[..open], &sql[open..close], &sql[close..]], parameters, placeholders, dialect })
    }

    /// Whether one statement of many rows does the same as many statements of one row, as far as the text tells. A
    /// subquery does not see the rows of its own statement, and PostgreSQL refuses to update a row twice in one.
    #[must_use]
    pub fn is_independent(&self) -> bool {
        let depends = |token: &Token<'_>| DEPENDENT.iter().any(|word| token.is(word));
        !self.parts.iter().any(|part| tokens(part, self.dialect).iter().any(depends))
    }

    /// The statement that inserts `rows` rows.
    #[must_use]
    pub fn of_rows(&self, rows: usize) -> String {
        let [head, tuple, tail] = self.parts;
        let mut sql = head.to_owned();
        for row in 0..rows {
            if row > 0 {
                sql.push(',');
            }
            let mut from = 0;
            for (range, number) in &self.placeholders {
                sql.push_str(&tuple[from..range.start]);
                let number = row * self.parameters + number;
                match self.dialect {
                    Dialect::Postgres => sql.push_str(&format!("${number}")),
                    // The question mark is not part of the range.
                    Dialect::Sqlite => sql.push_str(&number.to_string()),
                    Dialect::Mysql => sql.push('?'),
                }
                from = range.end;
            }
            sql.push_str(&tuple[from..]);
        }
        sql + tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(dialect: Dialect, sql: &str) -> Option<String> {
        Insert::find(dialect, sql).map(|insert| insert.of_rows(2))
    }

    #[test]
    fn the_tuple_is_repeated_and_what_is_around_it_kept() {
        assert_eq!(
            two(Dialect::Postgres, "INSERT INTO t(a, b) VALUES ($1, lower($2) || '$3') ON CONFLICT (a) DO NOTHING"),
            Some(
                "INSERT INTO t(a, b) VALUES ($1, lower($2) || '$3'),($3, lower($4) || '$3') ON CONFLICT (a) DO NOTHING"
                    .into()
            )
        );
        assert_eq!(
            two(Dialect::Mysql, "insert into `values`(a) values(?, '?') -- ?"),
            Some("insert into `values`(a) values(?, '?'),(?, '?') -- ?".into())
        );
        assert_eq!(
            two(Dialect::Sqlite, "INSERT INTO t VALUES (?2, '?1', 7, ?1)"),
            Some("INSERT INTO t VALUES (?2, '?1', 7, ?1),(?4, '?1', 7, ?3)".into())
        );
        // One value bound twice.
        assert_eq!(
            two(Dialect::Postgres, "INSERT INTO t VALUES ($1, $2, $1)"),
            Some("INSERT INTO t VALUES ($1, $2, $1),($3, $4, $3)".into())
        );
    }

    #[test]
    fn what_refers_to_earlier_rows_is_not_independent() {
        let is = |dialect, sql| Insert::find(dialect, sql).expect("one tuple").is_independent();
        assert!(is(Dialect::Postgres, "INSERT INTO t(a, b) VALUES ($1, 'select') ON CONFLICT (a) DO NOTHING"));
        assert!(is(Dialect::Mysql, "INSERT INTO t(`update`) VALUES (?)"));
        for (dialect, sql) in [
            (Dialect::Postgres, "INSERT INTO t VALUES ($1, (SELECT count(*) FROM t))"),
            (Dialect::Postgres, "INSERT INTO t VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = t.b + 1"),
            (Dialect::Mysql, "INSERT INTO t VALUES (?) ON DUPLICATE KEY UPDATE b = b + 1"),
            (Dialect::Mysql, "INSERT INTO t VALUES (?, Last_Insert_Id())"),
        ] {
            assert!(!is(dialect, sql), "{sql}");
        }
    }

    #[test]
    fn what_is_no_single_tuple_is_left_alone() {
        for sql in [
            "INSERT INTO t SELECT $1",
            "INSERT INTO t VALUES ($1), ($2)",
            "INSERT INTO t VALUES ($1) ON CONFLICT (a) DO UPDATE SET a = $2",
            "WITH x AS (SELECT $1) INSERT INTO t VALUES ($2)",
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t DEFAULT VALUES",
            "SELECT 1)",
        ] {
            assert_eq!(two(Dialect::Postgres, sql), None, "{sql}");
        }
    }
}
