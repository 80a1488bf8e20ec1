//! SQL text as a sequence of tokens.

use crate::Dialect;

/// A token of SQL text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// A named parameter `:name`, without the colon.
    Name(&'a str),
    /// `$name` without the dollar: a variable of a study, or a PostgreSQL parameter by its number.
    Variable(&'a str),
    /// A sequence of letters, digits and underscores.
    Word(&'a str),
    /// A string or a quoted name, with its quotes. An unclosed one extends to the end of the text. A doubled quote
    /// inside ends one token and begins the next.
    Quoted(&'a str),
    /// A comment with its delimiters. An unclosed one extends to the end of the text.
    Comment(&'a str),
    /// Any other single character, or `::`.
    Other(&'a str),
}

impl Token<'_> {
    /// Length of the token in the SQL text, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Name(name) | Self::Variable(name) => 1 + name.len(),
            Self::Word(text) | Self::Quoted(text) | Self::Comment(text) | Self::Other(text) => text.len(),
        }
    }

    /// Whether it is this word, ignoring case.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own.eq_ignore_ascii_case(word))
    }

    /// Whether it is a comment or white space.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Comment(_) => true,
            Self::Other(text) => text.trim().is_empty(),
            _ => false,
        }
    }
}

/// The tokens of a text in order. Their concatenation is the text.
#[must_use]
pub fn tokens(sql: &str, dialect: Dialect) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let token = token(c, rest, &out, dialect);
        rest = &rest[token.bytes()..];
        out.push(token);
    }
    out
}

/// The first token of `rest`, whose first character is `c`. `before` are all tokens before it.
fn token<'a>(c: char, rest: &'a str, before: &[Token<'a>], dialect: Dialect) -> Token<'a> {
    let (mysql, postgres) = (dialect == Dialect::Mysql, dialect == Dialect::Postgres);
    let other = || Token::Other(&rest[..c.len_utf8()]);
    let line = || Token::Comment(&rest[..rest.find('\n').unwrap_or(rest.len())]);
    match c {
        '\'' => Token::Quoted(quoted(rest, '\'', mysql || postgres && is_escape(before))),
        '"' => Token::Quoted(quoted(rest, '"', mysql)),
        '`' if !postgres => Token::Quoted(quoted(rest, '`', false)),
        '[' if dialect == Dialect::Sqlite => Token::Quoted(quoted(rest, ']', false)),
        '#' if mysql => line(),
        // MySQL requires a blank after `--`: `5--1` is 6.
        '-' if rest.starts_with("--") && (!mysql || rest[2..].starts_with(|c: char| c.is_ascii_whitespace())) => line(),
        '-' if mysql && rest == "--" => line(),
        '/' if rest.starts_with("/*") => Token::Comment(&rest[..comment(rest, postgres)]),
        // A PostgreSQL cast.
        ':' if rest.starts_with("::") => Token::Other(&rest[..2]),
        ':' => name(rest).map_or_else(other, Token::Name),
        '$' => match dollar(rest).filter(|_| postgres && !before.last().is_some_and(is_word_like)) {
            Some(end) => Token::Quoted(&rest[..end]),
            None => name(rest).map_or_else(other, Token::Variable),
        },
        c if is_word(c) => Token::Word(&rest[..word(rest)]),
        _ => other(),
    }
}

/// Whether a character is allowed in a name.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Byte index of the end of the word at the start of a text.
fn word(text: &str) -> usize {
    text.find(|c| !is_word(c)).unwrap_or(text.len())
}

/// The word that follows the first byte of a text.
fn name(rest: &str) -> Option<&str> {
    match &rest[1..=word(&rest[1..])] {
        "" => None,
        name => Some(name),
    }
}

/// Whether a dollar after this token belongs to the same name, as in `a$b`.
fn is_word_like(before: &Token<'_>) -> bool {
    matches!(before, Token::Word(_) | Token::Variable(_) | Token::Name(_))
}

/// Whether the string after these tokens belongs to PostgreSQL's `E'…'`, in which a backslash escapes: it is the first
/// part or, after a doubled quote, a later one.
fn is_escape(before: &[Token<'_>]) -> bool {
    let is_part = |token: &&Token<'_>| matches!(token, Token::Quoted(text) if text.starts_with('\''));
    matches!(before.iter().rev().find(|token| !is_part(token)), Some(Token::Word("e" | "E")))
}

/// The text up to and including the quote that closes the first one.
fn quoted(rest: &str, close: char, backslash: bool) -> &str {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let closes = *c == close && !escaped;
        escaped = backslash && !escaped && *c == '\\';
        closes
    });
    end.map_or(rest, |(at, c)| &rest[..at + c.len_utf8()])
}

/// Byte index of the end of `/* … */`. Such comments nest in PostgreSQL.
fn comment(rest: &str, nests: bool) -> usize {
    let bytes = rest.as_bytes();
    let (mut depth, mut at) = (1, 2);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            [b'/', b'*', ..] if nests => {
                depth += 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Byte index of the end of `$tag$ … $tag$`; `None` if the dollar begins no such quote (`$1`, `$name`).
///
/// An unclosed `$$` extends to the end of the text. A tag that does not occur again is treated as a variable.
fn dollar(rest: &str) -> Option<usize> {
    let length = 1 + word(&rest[1..]);
    let tag =
        rest.get(..=length).filter(|tag| tag.ends_with('$') && !tag[1..].starts_with(|c: char| c.is_ascii_digit()))?;
    match rest[tag.len()..].find(tag) {
        Some(at) => Some(at + 2 * tag.len()),
        None => (tag == "$$").then_some(rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Token::{Comment, Name, Other, Quoted, Variable, Word};

    const ALL: [Dialect; 3] = Dialect::ALL;

    #[test]
    fn pieces_are_told_apart() {
        let sql = "a_1 := :b::c+$n -- :x\n'y''z'/* $x */";
        let of_all = [
            Word("a_1"),
            Other(" "),
            Other(":"),
            Other("="),
            Other(" "),
            Name("b"),
            Other("::"),
            Word("c"),
            Other("+"),
            Variable("n"),
            Other(" "),
            Comment("-- :x"),
            Other("\n"),
            Quoted("'y'"),
            Quoted("'z'"),
            Comment("/* $x */"),
        ];
        for dialect in ALL {
            assert_eq!(tokens(sql, dialect), of_all, "{dialect}");
        }
    }

    #[test]
    fn each_dialect_has_its_quotes_and_comments() {
        let is = |sql: &str, of: [&[Token<'_>]; 3]| {
            for (dialect, tokens_of) in ALL.into_iter().zip(of) {
                assert_eq!(tokens(sql, dialect), tokens_of, "{dialect}: {sql}");
            }
        };
        is("`a`", [&[Quoted("`a`")], &[Other("`"), Word("a"), Other("`")], &[Quoted("`a`")]]);
        is("[a]", [&[Quoted("[a]")], &[Other("["), Word("a"), Other("]")], &[Other("["), Word("a"), Other("]")]]);
        is(r"'\'", [&[Quoted(r"'\'")], &[Quoted(r"'\'")], &[Quoted(r"'\'")]]);
        is(
            r"'\' '",
            [
                &[Quoted(r"'\'"), Other(" "), Quoted("'")],
                &[Quoted(r"'\'"), Other(" "), Quoted("'")],
                &[Quoted(r"'\' '")],
            ],
        );
        is(
            r"E'\''",
            [&[Word("E"), Quoted(r"'\'"), Quoted("'")], &[Word("E"), Quoted(r"'\''")], &[Word("E"), Quoted(r"'\''")]],
        );
        is(
            r"E'a''\':b'",
            [
                &[Word("E"), Quoted("'a'"), Quoted(r"'\'"), Name("b"), Quoted("'")],
                &[Word("E"), Quoted("'a'"), Quoted(r"'\':b'")],
                &[Word("E"), Quoted("'a'"), Quoted(r"'\':b'")],
            ],
        );
        is("#a", [&[Other("#"), Word("a")], &[Other("#"), Word("a")], &[Comment("#a")]]);
        is("--1", [&[Comment("--1")], &[Comment("--1")], &[Other("-"), Other("-"), Word("1")]]);
        is("--", [&[Comment("--")], &[Comment("--")], &[Comment("--")]]);
        is(
            "/*/**/*/",
            [
                &[Comment("/*/**/"), Other("*"), Other("/")],
                &[Comment("/*/**/*/")],
                &[Comment("/*/**/"), Other("*"), Other("/")],
            ],
        );
        is(
            "$$:a$$",
            [
                &[Other("$"), Other("$"), Name("a"), Other("$"), Other("$")],
                &[Quoted("$$:a$$")],
                &[Other("$"), Other("$"), Name("a"), Other("$"), Other("$")],
            ],
        );
        is(
            "$t$:a$t$",
            [
                &[Variable("t"), Other("$"), Name("a"), Variable("t"), Other("$")],
                &[Quoted("$t$:a$t$")],
                &[Variable("t"), Other("$"), Name("a"), Variable("t"), Other("$")],
            ],
        );
        is("a$$", [&[Word("a"), Other("$"), Other("$")]; 3]);
        is("$1$2", [&[Variable("1"), Variable("2")]; 3]);
        is("$a$b", [&[Variable("a"), Variable("b")]; 3]);
    }

    #[test]
    fn what_is_not_closed_goes_to_the_end() {
        for (sql, dialect) in [
            ("'a ;", Dialect::Sqlite),
            ("[a ;", Dialect::Sqlite),
            ("/* a", Dialect::Sqlite),
            ("$$ a", Dialect::Postgres),
            ("`a \\", Dialect::Mysql),
        ] {
            assert_eq!(tokens(sql, dialect).len(), 1, "{sql}");
        }
    }

    #[test]
    fn pieces_together_are_the_text() {
        let sql = "é:ñ$$ $ü$''\"`[#--/*\\\n*/;🦀";
        let starts = (0..sql.len()).filter(|at| sql.is_char_boundary(*at));
        for text in starts.map(|at| &sql[at..]) {
            for dialect in ALL {
                let bytes: usize = tokens(text, dialect).iter().map(Token::bytes).sum();
                assert_eq!(bytes, text.len(), "{dialect}: {text}");
            }
        }
    }
}
