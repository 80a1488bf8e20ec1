//! Analysis of SQL text: named parameters, the `VALUES` tuple, whether a statement writes, and whether it would begin
//! or end a transaction or change a setting, which is reserved to the runner. All other checks are left to the
//! database, which compiles every statement before a run.

mod refused;
#[cfg(test)]
mod tests;

use std::ops::Range;

use litelab_protocol::Dialect;
use litelab_protocol::sql::{Token, tokens, values};

use crate::error::lookup;
use crate::quantity::Vars;

pub use refused::check_statement;

/// A statement with parameters in the syntax of its database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positional {
    /// SQL text with `?1`, `?2`, … in place of `:name`; for PostgreSQL `$1`, `$2`, …, for MySQL `?`.
    pub sql: String,
    /// Names in the order of the parameters of one tuple. MySQL's parameters have no number, so a name that is used
    /// twice occurs twice.
    pub names: Vec<String>,
}

/// The name of a database, and the maximum number of parameters of one statement.
///
/// SQLite: its default `SQLITE_MAX_VARIABLE_NUMBER` since 3.32. Servers: a 16-bit count in the protocol (`Bind` of
/// PostgreSQL, the response to `COM_STMT_PREPARE` of MySQL).
fn max_parameters(dialect: Dialect) -> (&'static str, usize) {
    match dialect {
        Dialect::Sqlite => ("SQLite", 32_766),
        Dialect::Postgres => ("PostgreSQL", 65_535),
        Dialect::Mysql => ("MySQL", 65_535),
    }
}

/// Replaces `:name` by parameters of the dialect, and repeats the tuple of a final `VALUES (…)` `tuples` times.
///
/// PostgreSQL's `COPY … FROM STDIN (:a, :b)` loses its parenthesis: the names in it describe one row, and rows are sent
/// separately.
///
/// # Errors
/// If `tuples` exceeds 1 and there is no `VALUES (…)` or a parameter is outside it, or if the number of parameters
/// exceeds the limit of the database.
pub fn positional(sql: &str, tuples: u32, dialect: Dialect) -> Result<Positional, String> {
    // Some drivers take what follows the statement for another one, and compile both at each execution.
    let sql = sql.trim_end_matches(|c: char| c.is_whitespace() || c == ';');
    let tokens = tokens(sql, dialect);
    let mut numbers = Numbers { dialect, names: Vec::new() };
    if dialect == Dialect::Postgres && is_copy(sql) {
        return copy(&tokens, numbers);
    }
    if tuples <= 1 {
        let sql = numbers.text(&tokens, 0);
        return Ok(Positional { sql, names: numbers.names });
    }
    let Range { start, end } = values(&tokens).ok_or("`rows` repeats the tuple of `VALUES (…)`, and there is none")?;
    if let Some(Token::Name(name)) = tokens[..start].iter().chain(&tokens[end..]).find(|t| matches!(t, Token::Name(_)))
    {
        return Err(format!("with `rows`, parameter `:{name}` must stand inside of `VALUES (…)`"));
    }
    let first = numbers.text(&tokens[start..end], 0);
    let names = numbers.names.clone();
    // A tuple without parameters has the same limit.
    let (total, (who, most)) = (names.len().max(1).saturating_mul(tuples as usize), max_parameters(dialect));
    if total > most {
        return Err(format!(
            "{tuples} rows of {} parameters are {total}: {who} allows {most} in one statement; at most {} rows fit, or \
             use `repeat` in place of `rows`",
            names.len(),
            most / names.len().max(1)
        ));
    }
    let mut out = numbers.text(&tokens[..start], 0);
    out.push_str(&first);
    for i in 1..tuples as usize {
        out.push(',');
        out.push_str(&numbers.text(&tokens[start..end], i * names.len()));
    }
    out.push_str(&numbers.text(&tokens[end..], 0));
    Ok(Positional { sql: out, names })
}

/// The names of all parameters without duplicates, in the order of their first use.
#[must_use]
pub fn names(sql: &str, dialect: Dialect) -> Vec<&str> {
    let mut names = Vec::new();
    for token in tokens(sql, dialect) {
        if let Token::Name(name) = token
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// Replaces `$name` by the value of a variable, outside quotes and comments of SQLite.
///
/// # Errors
/// If the variable is not declared.
pub fn substitute(sql: &str, vars: &Vars) -> Result<String, String> {
    substitute_in(sql, vars, Dialect::Sqlite)
}

/// Replaces `$name` as [`substitute`] does, outside quotes and comments of a dialect.
///
/// # Errors
/// If the variable is not declared.
pub fn substitute_in(sql: &str, vars: &Vars, dialect: Dialect) -> Result<String, String> {
    let mut out = String::with_capacity(sql.len());
    for token in tokens(sql, dialect) {
        match token {
            Token::Variable(name) => out.push_str(&lookup("variable", name, vars)?.to_string()),
            Token::Name(name) => {
                out.push(':');
                out.push_str(name);
            }
            Token::Word(text) | Token::Quoted(text) | Token::Comment(text) | Token::Other(text) => out.push_str(text),
        }
    }
    Ok(out)
}

/// Whether a server's statement changes data or takes row locks, as far as its keywords show: a call of a writing
/// function is not detected. (SQLite reports this itself.)
#[must_use]
pub fn writes(sql: &str, dialect: Dialect) -> bool {
    let tokens = tokens(sql, dialect);
    let words = || {
        tokens.iter().filter_map(|t| match t {
            Token::Word(word) if word.starts_with(char::is_alphabetic) => Some(*word),
            _ => None,
        })
    };
    let is = |word: &str, list: &[&str]| list.iter().any(|other| word.eq_ignore_ascii_case(other));
    let Some(first) = words().next() else { return false };
    if is(first, &["show", "explain", "values", "table"]) {
        return false;
    }
    if is(first, &["select", "with"]) {
        let follows = |a: &str, b: &[&str]| words().zip(words().skip(1)).any(|(x, y)| is(x, &[a]) && is(y, b));
        let modifies = is(first, &["with"]) && words().any(|word| is(word, &["insert", "update", "delete", "merge"]));
        return modifies || follows("for", &["update", "share", "no", "key"]);
    }
    true
}

/// Whether a statement is PostgreSQL's `COPY … FROM STDIN`, for which a runner uses the COPY protocol.
#[must_use]
pub fn is_copy(sql: &str) -> bool {
    sql.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("copy "))
}

/// The statement `COPY t(a, b) FROM STDIN (:a, :b)` without its last parenthesis.
fn copy(tokens: &[Token<'_>], mut numbers: Numbers) -> Result<Positional, String> {
    let form = "write `COPY table(columns) FROM STDIN (:a, :b)`, the parameters of one row at the end";
    let at = tokens.iter().position(|t| t.is("stdin")).ok_or(form)?;
    let (before, row) = tokens.split_at(at + 1);
    if before.iter().any(|t| matches!(t, Token::Name(_))) {
        return Err(form.into());
    }
    // Each column is sent separately, so a name that is used twice is bound twice.
    let mut row_numbers = Numbers { dialect: Dialect::Mysql, names: Vec::new() };
    let text = row_numbers.text(row, 0);
    let list = text.trim().trim_end_matches(';').trim();
    let inside = list.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).ok_or(form)?;
    if inside.split(',').any(|one| one.trim() != "?") {
        return Err(form.into());
    }
    let sql = numbers.text(before, 0);
    Ok(Positional { sql: sql.trim().to_owned(), names: row_numbers.names })
}

/// Writer of parameters in the syntax of a dialect; it collects their names.
struct Numbers {
    dialect: Dialect,
    names: Vec<String>,
}

impl Numbers {
    /// The SQL text of tokens, with parameter numbers after `offset`.
    fn text(&mut self, tokens: &[Token<'_>], offset: usize) -> String {
        let mut out = String::new();
        for token in tokens {
            match token {
                Token::Name(name) => match self.dialect {
                    Dialect::Mysql => {
                        self.names.push((*name).to_owned());
                        out.push('?');
                    }
                    Dialect::Sqlite => out.push_str(&format!("?{}", offset + self.number(name))),
                    Dialect::Postgres => out.push_str(&format!("${}", offset + self.number(name))),
                },
                Token::Variable(name) => {
                    out.push('$');
                    out.push_str(name);
                }
                Token::Word(text) | Token::Quoted(text) | Token::Comment(text) | Token::Other(text) => {
                    out.push_str(text);
                }
            }
        }
        out
    }

    /// The number of a parameter, from 1.
    fn number(&mut self, name: &str) -> usize {
        self.names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) + 1
    }
}
