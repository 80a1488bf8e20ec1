//! What the core must know of SQL text: its named parameters, its `VALUES` tuple, and whether it writes. Nothing else is
//! parsed here; the database itself compiles every statement before a run.

use litelab_protocol::Dialect;

use crate::quantity::Vars;

/// A statement with the parameters that its database understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positional {
    /// `?1`, `?2`, … in place of `:name`; for PostgreSQL `$1`, `$2`, …, for MySQL `?`.
    pub sql: String,
    /// Names in the order of the parameters of one tuple. For MySQL, whose parameters have no number, a name that is used
    /// twice stands here twice.
    pub names: Vec<String>,
}

/// The most parameters of one statement: SQLite's default `SQLITE_MAX_VARIABLE_NUMBER` since 3.32; a 16-bit count in the
/// protocols of both servers (`Bind` of PostgreSQL's, `COM_STMT_PREPARE`'s response of MySQL's).
#[must_use]
pub fn max_parameters(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Sqlite => 32_766,
        Dialect::Postgres | Dialect::Mysql => 65_535,
    }
}

/// Replaces `:name` by the dialect's parameters, and repeats the tuple of a final `VALUES (…)` `tuples` times. Of
/// PostgreSQL's `COPY … FROM STDIN (:a, :b)`, the parenthesis is cut off: its names are one row, and rows are sent apart.
///
/// # Errors
/// When several tuples are asked for and there is no `VALUES (…)`, when a parameter stands outside of it, or when
/// there would be more parameters than the database allows.
pub fn positional(sql: &str, tuples: u32, dialect: Dialect) -> Result<Positional, String> {
    let tokens = tokens(sql, dialect);
    let mut numbers = Numbers { dialect, names: Vec::new() };
    if dialect == Dialect::Postgres && is_copy(sql) {
        return copy(&tokens, numbers);
    }
    if tuples <= 1 {
        let sql = numbers.text(&tokens, 0);
        return Ok(Positional { sql, names: numbers.names });
    }
    let (start, end) = tuple(&tokens).ok_or("`rows` repeats the tuple of `VALUES (…)`, and there is none")?;
    if let Some(Token::Name(name)) = tokens[..start].iter().chain(&tokens[end..]).find(|t| matches!(t, Token::Name(_)))
    {
        return Err(format!("with `rows`, parameter `:{name}` must stand inside of `VALUES (…)`"));
    }
    let first = numbers.text(&tokens[start..end], 0);
    let names = numbers.names.clone();
    let (total, most) = (names.len().saturating_mul(tuples as usize), max_parameters(dialect));
    if total > most {
        let who = match dialect {
            Dialect::Sqlite => "SQLite",
            Dialect::Postgres => "PostgreSQL",
            Dialect::Mysql => "MySQL",
        };
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

/// The names of all parameters, each once, in the order of their first use.
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

/// Replaces `$name` by the text of a variable, outside of quotes and comments.
///
/// # Errors
/// When the variable is not declared.
pub fn substitute(sql: &str, vars: &Vars) -> Result<String, String> {
    substitute_in(sql, vars, Dialect::Sqlite)
}

/// As [`substitute`], with the quotes and comments of a dialect.
///
/// # Errors
/// When the variable is not declared.
pub fn substitute_in(sql: &str, vars: &Vars, dialect: Dialect) -> Result<String, String> {
    let mut out = String::with_capacity(sql.len());
    for token in tokens(sql, dialect) {
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

/// Whether a statement of a server changes data or takes row locks, as far as its words tell: a function that writes is
/// not seen. (Of SQLite the database itself says it.)
#[must_use]
pub fn writes(sql: &str, dialect: Dialect) -> bool {
    let tokens = tokens(sql, dialect);
    let words = || {
        tokens.iter().filter_map(|t| match t {
            Token::Other(word) if word.starts_with(|c: char| c.is_alphabetic()) => Some(*word),
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

/// Whether it is PostgreSQL's `COPY … FROM STDIN`, which a runner sends by the protocol of the same name.
#[must_use]
pub fn is_copy(sql: &str) -> bool {
    sql.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("copy "))
}

/// `COPY t(a, b) FROM STDIN (:a, :b)` without its last parenthesis.
fn copy(tokens: &[Token<'_>], mut numbers: Numbers) -> Result<Positional, String> {
    let form = "write `COPY table(columns) FROM STDIN (:a, :b)`, the parameters of one row at the end";
    let at = tokens.iter().position(|t| matches!(t, Token::Other(w) if w.eq_ignore_ascii_case("stdin"))).ok_or(form)?;
    let (before, row) = tokens.split_at(at + 1);
    if before.iter().any(|t| matches!(t, Token::Name(_))) {
        return Err(form.into());
    }
    let text = Numbers { dialect: Dialect::Mysql, names: Vec::new() }.text(row, 0);
    let list = text.trim().trim_end_matches(';').trim();
    let inside = list.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).ok_or(form)?;
    if inside.split(',').any(|one| one.trim() != "?") {
        return Err(form.into());
    }
    let sql = numbers.text(before, 0);
    // A column is sent for each place, so that a name used twice is bound twice.
    let mut row_numbers = Numbers { dialect: Dialect::Mysql, names: Vec::new() };
    row_numbers.text(row, 0);
    Ok(Positional { sql: sql.trim().to_owned(), names: row_numbers.names })
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

fn tokens(sql: &str, dialect: Dialect) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let word = |text: &str| text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
        let quoted = |close: char| {
            let mut escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                // MySQL alone takes a backslash in a string for more than itself.
                let closes = *c == close && !escaped;
                escaped = !escaped && *c == '\\' && dialect == Dialect::Mysql && close != '`';
                closes
            });
            end.map_or(rest.len(), |(at, c)| at + c.len_utf8())
        };
        let (token, len) = match c {
            // A cast, and the body of a function.
            ':' if rest.starts_with("::") => (Token::Other(&rest[..2]), 2),
            '$' if rest.starts_with("$$") && dialect == Dialect::Postgres => {
                let end = rest[2..].find("$$").map_or(rest.len(), |at| at + 4);
                (Token::Other(&rest[..end]), end)
            }
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
            '[' if dialect == Dialect::Sqlite => {
                let end = quoted(']');
                (Token::Other(&rest[..end]), end)
            }
            '#' if dialect == Dialect::Mysql => {
                let end = rest.find('\n').unwrap_or(rest.len());
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

/// Token range of the parenthesised group after the last `VALUES`; MySQL has others of that name in `ON DUPLICATE KEY
/// UPDATE a = VALUES(a)`.
fn tuple(tokens: &[Token<'_>]) -> Option<(usize, usize)> {
    let is = |token: &Token<'_>, word: &str| matches!(token, Token::Other(w) if w.eq_ignore_ascii_case(word));
    let end = tokens.iter().position(|t| is(t, "duplicate")).unwrap_or(tokens.len());
    let values = tokens[..end].iter().rposition(|t| is(t, "values"))?;
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

/// Writes parameters as a dialect has them, and keeps their names.
struct Numbers {
    dialect: Dialect,
    names: Vec<String>,
}

impl Numbers {
    /// The text of tokens; numbers begin after `offset`.
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
                Token::Other(text) => out.push_str(text),
            }
        }
        out
    }

    /// From 1.
    fn number(&mut self, name: &str) -> usize {
        self.names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) + 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::quantity::Scalar;

    const SQLITE: Dialect = Dialect::Sqlite;
    const POSTGRES: Dialect = Dialect::Postgres;
    const MYSQL: Dialect = Dialect::Mysql;

    #[test]
    fn names_become_numbers() {
        let p = positional("SELECT ':x', a FROM t -- :y\nWHERE a = :a AND b = :b OR c = :a", 1, SQLITE).expect("valid");
        assert_eq!(p.sql, "SELECT ':x', a FROM t -- :y\nWHERE a = ?1 AND b = ?2 OR c = ?1");
        assert_eq!(p.names, ["a", "b"]);
    }

    #[test]
    fn a_tuple_is_repeated() {
        let p =
            positional("INSERT INTO t(a, b) VALUES (:a, lower(:b)) ON CONFLICT DO NOTHING", 3, SQLITE).expect("valid");
        assert_eq!(
            p.sql,
            "INSERT INTO t(a, b) VALUES (?1, lower(?2)),(?3, lower(?4)),(?5, lower(?6)) ON CONFLICT DO NOTHING"
        );
        assert_eq!(p.names, ["a", "b"]);
    }

    #[test]
    fn tuples_that_cannot_be_are_refused() {
        assert!(positional("SELECT :a", 2, SQLITE).is_err_and(|e| e.contains("there is none")));
        assert!(positional("INSERT INTO t VALUES (:a) RETURNING :b", 2, SQLITE).is_err_and(|e| e.contains(":b")));
        assert!(positional("INSERT INTO t VALUES (:a, :b, :c)", 20_000, SQLITE).is_err_and(|e| e.contains("10922")));
        assert!(positional("INSERT INTO t VALUES ((:a)", 2, SQLITE).is_err());
    }

    #[test]
    fn every_dialect_has_its_parameters() {
        let sql = "SELECT a::text, b FROM t WHERE a = :a AND b = :b OR c = :a";
        let postgres = positional(sql, 1, POSTGRES).expect("valid");
        assert_eq!(postgres.sql, "SELECT a::text, b FROM t WHERE a = $1 AND b = $2 OR c = $1");
        assert_eq!(postgres.names, ["a", "b"]);
        let mysql = positional(sql, 1, MYSQL).expect("valid");
        assert_eq!(mysql.sql, "SELECT a::text, b FROM t WHERE a = ? AND b = ? OR c = ?");
        assert_eq!(mysql.names, ["a", "b", "a"]);
        let rows = "INSERT INTO t VALUES (:a, :b, :a)";
        assert_eq!(positional(rows, 2, POSTGRES).expect("valid").sql, "INSERT INTO t VALUES ($1, $2, $1),($3, $4, $3)");
        let mysql = positional(&format!("{rows} ON DUPLICATE KEY UPDATE b = VALUES(b)"), 2, MYSQL).expect("valid");
        assert_eq!(mysql.sql, "INSERT INTO t VALUES (?, ?, ?),(?, ?, ?) ON DUPLICATE KEY UPDATE b = VALUES(b)");
        assert_eq!(mysql.names.len(), 3, "of one tuple");
    }

    #[test]
    fn every_dialect_has_its_quotes() {
        let names = |sql, dialect| super::names(sql, dialect).join(" ");
        assert_eq!((names("[:a] :b", SQLITE), names("[:a] :b", POSTGRES)), ("b".into(), "a b".into()));
        assert_eq!((names(r"'\':a' :b", MYSQL), names(r"'\' :a", SQLITE)), ("b".into(), "a".into()));
        assert_eq!((names("1 # :a\n, :b", MYSQL), names("a #> :a", POSTGRES)), ("b".into(), "a".into()));
        assert_eq!(names("DO $$ :a $$ :b :b", POSTGRES), "b");
    }

    #[test]
    fn a_server_allows_more_parameters() {
        let rows = |n, dialect| positional("INSERT INTO t VALUES (:a, :b, :c)", n, dialect);
        assert!(rows(10_922, SQLITE).is_ok() && rows(10_923, SQLITE).is_err());
        for dialect in [POSTGRES, MYSQL] {
            assert!(rows(21_845, dialect).is_ok());
            assert!(rows(21_846, dialect).is_err_and(|e| e.contains("at most 21845 rows")));
        }
    }

    #[test]
    fn a_copy_has_its_row_at_the_end() {
        let p = positional("COPY t(a, b) FROM STDIN (:b, :a)", 50_000, POSTGRES).expect("valid");
        assert_eq!(
            (p.sql.as_str(), p.names.as_slice()),
            ("COPY t(a, b) FROM STDIN", &["b".to_owned(), "a".into()][..])
        );
        for wrong in
            ["COPY t FROM STDIN", "COPY t FROM 'x' (:a)", "COPY t FROM STDIN (:a, 5)", "COPY (:a) FROM STDIN ()"]
        {
            let error = positional(wrong, 2, POSTGRES).expect_err(wrong);
            assert!(error.contains("FROM STDIN (:a, :b)"), "{error}");
        }
    }

    #[test]
    fn a_server_statement_that_locks_counts_as_writing() {
        for sql in ["SELECT 1", "with a as (select 1) select * from a", "/* UPDATE */ SELECT 'DELETE'", "SHOW x", ""] {
            assert!(!writes(sql, POSTGRES), "{sql}");
        }
        for sql in [
            "INSERT INTO t VALUES (1)",
            "SELECT id FROM t LIMIT 1 FOR UPDATE SKIP LOCKED",
            "SELECT id FROM t FOR NO KEY UPDATE",
            "WITH a AS (DELETE FROM t RETURNING id) SELECT * FROM a",
            "COPY t FROM STDIN",
        ] {
            assert!(writes(sql, POSTGRES), "{sql}");
        }
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
            for dialect in Dialect::ALL {
                let _either = positional(&sql, tuples, dialect);
                let _either = positional(&format!("COPY {sql}"), tuples, dialect);
                let _either = substitute_in(&sql, &Vars::new(), dialect);
                let _either = writes(&sql, dialect);
            }
        }

        #[test]
        fn sql_pieces_never_panic(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["VALUES", "STDIN", "::", "$$", "#", "\\", "(", ")", ":a", "$b", "'", "\"", "[", "--", "/*", "*/", ",", " ", "é"]),
                0..30,
            ),
            tuples in 1_u32..4,
        ) {
            let sql = pieces.concat();
            for dialect in Dialect::ALL {
                let _either = positional(&sql, tuples, dialect);
                let _either = positional(&format!("COPY {sql}"), tuples, dialect);
                let _either = substitute_in(&sql, &Vars::new(), dialect);
                let _either = writes(&sql, dialect);
            }
        }

        /// Every parameter a runner is to bind stands in the text, as often as it is bound, and nothing else does.
        #[test]
        fn parameters_are_as_many_as_are_bound(
            columns in prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..6),
            tuples in 1_u32..5,
        ) {
            let tuple: Vec<String> = columns.iter().map(|c| format!(":{c}")).collect();
            let sql = format!("INSERT INTO t VALUES ({})", tuple.join(", "));
            for dialect in Dialect::ALL {
                let p = positional(&sql, tuples, dialect).expect("valid");
                let total = p.names.len() * tuples as usize;
                let mark = if dialect == POSTGRES { '$' } else { '?' };
                prop_assert_eq!(p.sql.matches(mark).count(), columns.len() * tuples as usize);
                let highest = p.sql.split(mark).skip(1).filter_map(|rest| {
                    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
                });
                match dialect {
                    MYSQL => prop_assert_eq!(&p.names, &columns),
                    _ => prop_assert_eq!(highest.max(), Some(total)),
                }
            }
        }
    }
}
