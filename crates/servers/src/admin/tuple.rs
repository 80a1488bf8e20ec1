//! Expands an INSERT of one row to many rows: most of the cost of a row is its round trip.

use litelab_protocol::Dialect;
use litelab_protocol::sql::{Token, tokens, values};

/// Largest number of bound values in PostgreSQL and MySQL.
const PARAMETERS: usize = 65_535;
/// More rows per statement gain nothing.
const ROWS: usize = 500;

/// An INSERT whose values are one tuple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tuple<'a> {
    head: &'a str,
    tuple: &'a str,
    tail: &'a str,
    /// Byte range of each placeholder in `tuple`, and its number.
    placeholders: Vec<(std::ops::Range<usize>, usize)>,
    /// Number of values per row.
    pub parameters: usize,
    dialect: Dialect,
}

impl<'a> Tuple<'a> {
    /// Parses `… VALUES (tuple) …` with all placeholders in the tuple. `None` for any other statement, which is then
    /// run once per row.
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
        let (head, tuple, tail) = (&sql[..open], &sql[open..close], &sql[close..]);
        Some(Self { head, tuple, tail, placeholders, parameters, dialect })
    }

    /// Number of rows per statement.
    pub fn rows(&self) -> usize {
        (PARAMETERS / self.parameters).clamp(1, ROWS)
    }

    /// The statement that inserts `rows` rows.
    pub fn of(&self, rows: usize) -> String {
        let mut sql = self.head.to_owned();
        for row in 0..rows {
            if row > 0 {
                sql.push(',');
            }
            let mut from = 0;
            for (range, number) in &self.placeholders {
                sql.push_str(&self.tuple[from..range.start]);
                match self.dialect {
                    Dialect::Postgres => sql.push_str(&format!("${}", row * self.parameters + number)),
                    _ => sql.push('?'),
                }
                from = range.end;
            }
            sql.push_str(&self.tuple[from..]);
        }
        sql + self.tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(dialect: Dialect, sql: &str) -> Option<String> {
        Tuple::find(dialect, sql).map(|t| t.of(2))
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
        // One value bound twice.
        assert_eq!(
            two(Dialect::Postgres, "INSERT INTO t VALUES ($1, $2, $1)"),
            Some("INSERT INTO t VALUES ($1, $2, $1),($3, $4, $3)".into())
        );
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

    #[test]
    fn no_statement_binds_more_than_the_servers_allow() {
        let wide = format!("INSERT INTO t VALUES ({})", vec!["?"; 1000].join(","));
        assert_eq!(Tuple::find(Dialect::Mysql, &wide).unwrap().rows(), 65);
        assert_eq!(Tuple::find(Dialect::Mysql, "INSERT INTO t VALUES (?)").unwrap().rows(), 500);
    }
}
