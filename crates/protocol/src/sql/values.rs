//! Position of the tuple in an INSERT statement.

use std::ops::Range;

use super::token::Token;

/// The token range of the parenthesised group directly after `VALUES`; `None` if no group follows or it is unclosed.
///
/// Of several `VALUES`, the last one outside parentheses counts, or the last one if all are inside. `VALUES` after
/// `DUPLICATE KEY` never counts: MySQL has `ON DUPLICATE KEY UPDATE a = VALUES(a)`.
#[must_use]
pub fn values(tokens: &[Token<'_>]) -> Option<Range<usize>> {
    let is_key =
        |after: &[Token<'_>]| after.iter().find(|token| !token.is_blank()).is_some_and(|token| token.is("key"));
    let end = (0..tokens.len()).find(|at| tokens[*at].is("duplicate") && is_key(&tokens[at + 1..]));
    let end = end.unwrap_or(tokens.len());
    let (mut depth, mut outside, mut last) = (0_usize, None, None);
    for (at, token) in tokens[..end].iter().enumerate() {
        match token {
            Token::Other("(") => depth += 1,
            Token::Other(")") => depth = depth.saturating_sub(1),
            token if token.is("values") => {
                last = Some(at);
                if depth == 0 {
                    outside = last;
                }
            }
            _ => {}
        }
    }
    let after = outside.or(last)? + 1;
    let start = after + tokens[after..].iter().position(|token| !token.is_blank())?;
    if tokens[start] != Token::Other("(") {
        return None;
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token {
            Token::Other("(") => depth += 1,
            Token::Other(")") => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(start..at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;
    use crate::sql::tokens;

    fn group(sql: &str) -> Option<String> {
        let tokens = tokens(sql, Dialect::Mysql);
        let at = |token: usize| tokens[..token].iter().map(Token::bytes).sum::<usize>();
        values(&tokens).map(|range| sql[at(range.start)..at(range.end)].to_owned())
    }

    #[test]
    fn the_group_after_values() {
        assert_eq!(group("INSERT INTO t(a) VALUES (:a, f(')')) RETURNING (a)"), Some("(:a, f(')'))".into()));
        assert_eq!(group("insert into t values /* ( */\n(1)"), Some("(1)".into()));
        assert_eq!(group("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a)"), Some("(1)".into()));
        assert_eq!(group("INSERT INTO duplicate(duplicate) VALUES (1)"), Some("(1)".into()));
    }

    #[test]
    fn one_within_parentheses_counts_where_there_is_no_other() {
        let nested = "(1, (SELECT * FROM (VALUES (2)) v))";
        assert_eq!(group(&format!("INSERT INTO t VALUES {nested}")).as_deref(), Some(nested));
        assert_eq!(group("INSERT INTO t SELECT * FROM (VALUES (2)) v"), Some("(2)".into()));
    }

    #[test]
    fn what_is_no_such_group() {
        for sql in ["SELECT 1", "INSERT INTO t DEFAULT VALUES RETURNING (a)", "VALUES", "VALUES ((1)", "VALUES 1, (2)"]
        {
            assert_eq!(group(sql), None, "{sql}");
        }
    }
}
