//! SQL text in pieces, as far as names are to be told from quotes and comments.

use litelab_protocol::Dialect;

/// A piece of SQL text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// `:name`.
    Name(&'a str),
    /// `$name`.
    Variable(&'a str),
    /// Anything else: words, single other characters, and quoted or commented stretches as a whole.
    Other(&'a str),
}

/// The pieces of a text, which together are the text.
pub(super) fn tokens(sql: &str, dialect: Dialect) -> Vec<Token<'_>> {
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
pub(super) fn tuple(tokens: &[Token<'_>]) -> Option<(usize, usize)> {
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
