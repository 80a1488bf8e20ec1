//! What the core must know of SQL text: its named parameters and its `VALUES` tuple. Nothing else is parsed here;
//! SQLite itself compiles every statement before a run.

use crate::quantity::Vars;

/// A statement with numbered parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positional {
    /// `?1`, `?2`, … in place of `:name`.
    pub sql: String,
    /// Names in the order of their numbers (of one tuple).
    pub names: Vec<String>,
}

/// SQLite's default limit of parameters in one statement (`SQLITE_MAX_VARIABLE_NUMBER` since 3.32).
pub const MAX_PARAMETERS: usize = 32_766;

/// Replaces `:name` by numbers, and repeats the tuple of a final `VALUES (…)` `tuples` times.
///
/// # Errors
/// When several tuples are asked for and there is no `VALUES (…)`, when a parameter stands outside of it, or when
/// there would be more parameters than SQLite allows.
pub fn positional(sql: &str, tuples: u32) -> Result<Positional, String> {
    let tokens = tokens(sql);
    let mut names: Vec<String> = Vec::new();
    if tuples <= 1 {
        let sql = number(&tokens, &mut names, 0);
        return Ok(Positional { sql, names });
    }
    let (start, end) = tuple(&tokens).ok_or("`rows` repeats the tuple of `VALUES (…)`, and there is none")?;
    if let Some(Token::Name(name)) = tokens[..start].iter().chain(&tokens[end..]).find(|t| matches!(t, Token::Name(_)))
    {
        return Err(format!("with `rows`, parameter `:{name}` must stand inside of `VALUES (…)`"));
    }
    let first = number(&tokens[start..end], &mut names, 0);
    let total = names.len().saturating_mul(tuples as usize);
    if total > MAX_PARAMETERS {
        return Err(format!(
            "{tuples} rows of {} parameters are {total}: SQLite allows {MAX_PARAMETERS} in one statement; at most {} \
             rows fit, or use `repeat` in place of `rows`",
            names.len(),
            MAX_PARAMETERS / names.len().max(1)
        ));
    }
    let mut out = number(&tokens[..start], &mut Vec::new(), 0);
    out.push_str(&first);
    for i in 1..tuples as usize {
        out.push(',');
        out.push_str(&number(&tokens[start..end], &mut names.clone(), i * names.len()));
    }
    out.push_str(&number(&tokens[end..], &mut Vec::new(), 0));
    Ok(Positional { sql: out, names })
}

/// Replaces `$name` by the text of a variable, outside of quotes and comments.
///
/// # Errors
/// When the variable is not declared.
pub fn substitute(sql: &str, vars: &Vars) -> Result<String, String> {
    let mut out = String::with_capacity(sql.len());
    for token in tokens(sql) {
        match token {
            Token::Variable(name) => match vars.get(name) {
                Some(value) => out.push_str(&value.to_string()),
                None => return Err(crate::error::unknown("variable", name, vars.keys().map(String::as_str))),
            },
            Token::Name(name) => {
                out.push(':');
                out.push_str(name);
            }
            Token::Other(text) => out.push_str(text),
        }
    }
    Ok(out)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    /// `:name`.
    Name(&'a str),
    /// `$name`.
    Variable(&'a str),
    /// Anything else: words, single other characters, and quoted or commented stretches as a whole.
    Other(&'a str),
}

fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let word = |text: &str| text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
        let quoted = |close: char| {
            rest[c.len_utf8()..].find(close).map_or(rest.len(), |at| c.len_utf8() + at + close.len_utf8())
        };
        let (token, len) = match c {
            ':' | '$' => {
                let end = 1 + word(&rest[1..]);
                match (c, end) {
                    (_, 1) => (Token::Other(&rest[..1]), 1),
                    (':', _) => (Token::Name(&rest[1..end]), end),
                    _ => (Token::Variable(&rest[1..end]), end),
                }
            }
            '\'' | '"' | '`' => {
                let end = quoted(c);
                (Token::Other(&rest[..end]), end)
            }
            '[' => {
                let end = quoted(']');
                (Token::Other(&rest[..end]), end)
            }
            '-' if rest.starts_with("--") => {
                let end = rest.find('\n').unwrap_or(rest.len());
                (Token::Other(&rest[..end]), end)
            }
            '/' if rest.starts_with("/*") => {
                let end = rest[2..].find("*/").map_or(rest.len(), |at| at + 4);
                (Token::Other(&rest[..end]), end)
            }
            c if c.is_alphanumeric() || c == '_' => {
                let end = word(rest);
                (Token::Other(&rest[..end]), end)
            }
            c => (Token::Other(&rest[..c.len_utf8()]), c.len_utf8()),
        };
        out.push(token);
        rest = &rest[len..];
    }
    out
}

/// Token range of the parenthesised group after the last `VALUES`.
fn tuple(tokens: &[Token<'_>]) -> Option<(usize, usize)> {
    let values = tokens.iter().rposition(|t| matches!(t, Token::Other(w) if w.eq_ignore_ascii_case("values")))?;
    let start = values + tokens[values..].iter().position(|t| *t == Token::Other("("))?;
    let mut depth = 0_u32;
    for (i, token) in tokens.iter().enumerate().skip(start) {
        match token {
            Token::Other("(") => depth += 1,
            Token::Other(")") => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((start, i + 1));
        }
    }
    None
}

fn number(tokens: &[Token<'_>], names: &mut Vec<String>, offset: usize) -> String {
    let mut out = String::new();
    for token in tokens {
        match token {
            Token::Name(name) => {
                let at = names.iter().position(|n| n == name).unwrap_or_else(|| {
                    names.push((*name).to_owned());
                    names.len() - 1
                });
                out.push_str(&format!("?{}", offset + at + 1));
            }
            Token::Variable(name) => {
                out.push('$');
                out.push_str(name);
            }
            Token::Other(text) => out.push_str(text),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::quantity::Scalar;

    #[test]
    fn names_become_numbers() {
        let p = positional("SELECT ':x', a FROM t -- :y\nWHERE a = :a AND b = :b OR c = :a", 1).expect("valid");
        assert_eq!(p.sql, "SELECT ':x', a FROM t -- :y\nWHERE a = ?1 AND b = ?2 OR c = ?1");
        assert_eq!(p.names, ["a", "b"]);
    }

    #[test]
    fn a_tuple_is_repeated() {
        let p = positional("INSERT INTO t(a, b) VALUES (:a, lower(:b)) ON CONFLICT DO NOTHING", 3).expect("valid");
        assert_eq!(
            p.sql,
            "INSERT INTO t(a, b) VALUES (?1, lower(?2)),(?3, lower(?4)),(?5, lower(?6)) ON CONFLICT DO NOTHING"
        );
        assert_eq!(p.names, ["a", "b"]);
    }

    #[test]
    fn tuples_that_cannot_be_are_refused() {
        assert!(positional("SELECT :a", 2).is_err_and(|e| e.contains("there is none")));
        assert!(positional("INSERT INTO t VALUES (:a) RETURNING :b", 2).is_err_and(|e| e.contains(":b")));
        assert!(positional("INSERT INTO t VALUES (:a, :b, :c)", 20_000).is_err_and(|e| e.contains("10922")));
        assert!(positional("INSERT INTO t VALUES ((:a)", 2).is_err());
    }

    #[test]
    fn variables_are_substituted_outside_of_quotes() {
        let vars = Vars::from([("n".to_owned(), Scalar::Integer(5)), ("key".to_owned(), Scalar::Text("INT".into()))]);
        assert_eq!(
            substitute("CREATE TABLE t(id $key) -- $no\n; SELECT '$n', $n, :n", &vars).as_deref(),
            Ok("CREATE TABLE t(id INT) -- $no\n; SELECT '$n', 5, :n")
        );
        assert!(substitute("SELECT $m", &vars).is_err_and(|e| e.contains("`m`")));
    }

    proptest! {
        #[test]
        fn no_text_panics(sql in "\\PC{0,60}", tuples in 0_u32..5) {
            let _either = positional(&sql, tuples);
            let _either = substitute(&sql, &Vars::new());
        }

        #[test]
        fn sql_pieces_never_panic(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["VALUES", "(", ")", ":a", "$b", "'", "\"", "[", "--", "/*", "*/", ",", " ", "é"]),
                0..30,
            ),
            tuples in 1_u32..4,
        ) {
            let sql = pieces.concat();
            let _either = positional(&sql, tuples);
            let _either = substitute(&sql, &Vars::new());
        }
    }
}
