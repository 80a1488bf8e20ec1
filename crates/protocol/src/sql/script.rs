//! Separation of a script into statements.

use super::token::{Token, tokens};
use crate::Dialect;

/// The statements of a script, without those that consist of blanks and comments only.
///
/// A semicolon within quotes, comments or PostgreSQL's dollar quotes ends no statement. A semicolon within a compound
/// statement (`BEGIN … END` of a routine) does: a MySQL script cannot define a routine, and a PostgreSQL script has to
/// quote its body.
#[must_use]
pub fn statements(sql: &str, dialect: Dialect) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut begin, mut at, mut code) = (0, 0, false);
    for token in tokens(sql, dialect) {
        let end = at + token.bytes();
        match token {
            Token::Other(";") => {
                if code {
                    found.push(sql[begin..at].trim());
                }
                (begin, code) = (end, false);
            }
            Token::Other(text) => code |= !text.bytes().all(|b| b.is_ascii_whitespace()),
            // MariaDB and MySQL execute the content of `/*! … */` comments.
            Token::Comment(text) => code |= dialect == Dialect::Mysql && text.starts_with("/*!"),
            Token::Name(_) | Token::Variable(_) | Token::Word(_) | Token::Quoted(_) => code = true,
        }
        at = end;
    }
    if code {
        found.push(sql[begin..].trim());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(dialect: Dialect, sql: &str) -> Vec<&str> {
        statements(sql, dialect)
    }

    #[test]
    fn semicolons_end_statements_only_in_code() {
        let common = "a 'x;''y' ; b \"q;\" -- c;\n d /* ; */ ;; \n;e";
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            assert_eq!(split(dialect, common), ["a 'x;''y'", "b \"q;\" -- c;\n d /* ; */", "e"]);
        }
    }

    #[test]
    fn comments_that_mysql_executes_are_statements() {
        let sql = "/*! SET x = 1 */; /* nothing */; b";
        assert_eq!(split(Dialect::Mysql, sql), ["/*! SET x = 1 */", "b"]);
        assert_eq!(split(Dialect::Postgres, sql), ["b"]);
    }

    #[test]
    fn what_says_nothing_is_no_statement() {
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            assert_eq!(split(dialect, " ;; -- only this\n ; /* ; */ "), [""; 0]);
            assert_eq!(split(dialect, "a 'not closed; b"), ["a 'not closed; b"]);
            assert_eq!(split(dialect, "SELECT 'äöü;'; ß"), ["SELECT 'äöü;'", "ß"]);
        }
    }
}
