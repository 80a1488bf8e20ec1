//! As much of SQL's grammar as it takes to tell code from quotes and comments.

use litelab_protocol::Dialect;

/// The statements of a script, without what is only blank or comment. A semicolon within quotes, comments or PostgreSQL's
/// dollar quotes ends nothing. One within a compound statement (`BEGIN … END` of a routine) does: on MySQL a routine
/// cannot stand in a script, on PostgreSQL its body has to be quoted.
pub(super) fn statements(dialect: Dialect, sql: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut begin, mut at, mut code) = (0, 0, false);
    while at < sql.len() {
        let piece = piece(dialect, sql, at);
        match piece {
            Piece::Code(b';') => {
                if code {
                    found.push(sql[begin..at].trim());
                }
                (begin, code) = (at + 1, false);
            }
            Piece::Code(b) => code |= !b.is_ascii_whitespace(),
            Piece::Quoted(_) => code = true,
            // MariaDB and MySQL run what stands in a comment that begins so.
            Piece::Comment(_) => code |= dialect == Dialect::Mysql && sql[at..].starts_with("/*!"),
        }
        at = piece.end(at);
    }
    if code {
        found.push(sql[begin..].trim());
    }
    found
}

/// What begins at a place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// One byte of code.
    Code(u8),
    /// A string or a quoted name, to this byte.
    Quoted(usize),
    /// A comment, to this byte.
    Comment(usize),
}

impl Piece {
    /// Where the next one begins.
    pub fn end(self, at: usize) -> usize {
        match self {
            Self::Code(_) => at + 1,
            Self::Quoted(end) | Self::Comment(end) => end,
        }
    }
}

/// The piece that begins at byte `at`, which must not lie within one. What is not closed goes to the end.
pub(super) fn piece(dialect: Dialect, sql: &str, at: usize) -> Piece {
    let (bytes, mysql) = (sql.as_bytes(), dialect == Dialect::Mysql);
    let rest = &bytes[at..];
    let to_line_end = || Piece::Comment(rest.iter().position(|b| *b == b'\n').map_or(sql.len(), |n| at + n));
    match rest {
        [b'\'', ..] => Piece::Quoted(quoted(bytes, at, mysql || escapes(bytes, at))),
        [b'"', ..] => Piece::Quoted(quoted(bytes, at, mysql)),
        [b'`', ..] if mysql => Piece::Quoted(quoted(bytes, at, false)),
        // MySQL wants a blank after it: `5--1` is 6.
        [b'-', b'-', next, ..] if mysql && !next.is_ascii_whitespace() => Piece::Code(b'-'),
        [b'-', b'-', ..] => to_line_end(),
        [b'#', ..] if mysql => to_line_end(),
        [b'/', b'*', ..] => Piece::Comment(comment(bytes, at, !mysql)),
        [b'$', ..] if !mysql => dollar(sql, at).map_or(Piece::Code(b'$'), Piece::Quoted),
        [byte, ..] => Piece::Code(*byte),
        [] => Piece::Comment(sql.len()),
    }
}

/// Whether a string is PostgreSQL's `E'…'`, in which a backslash escapes.
fn escapes(bytes: &[u8], at: usize) -> bool {
    at > 0 && matches!(bytes[at - 1], b'e' | b'E') && (at < 2 || !word(bytes[at - 2]))
}

/// The end of a quote. One that is doubled ends a string and begins the next, which comes to the same.
fn quoted(bytes: &[u8], at: usize, backslash: bool) -> usize {
    let mut i = at + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' if backslash => i += 1,
            b if b == bytes[at] => return i + 1,
            _ => {}
        }
        i += 1;
    }
    bytes.len()
}

/// The end of `/* … */`; they nest in PostgreSQL.
fn comment(bytes: &[u8], at: usize, nests: bool) -> usize {
    let (mut depth, mut i) = (1, at + 2);
    while i < bytes.len() {
        match &bytes[i..] {
            [b'*', b'/', ..] => {
                depth -= 1;
                i += 2;
                if depth == 0 {
                    return i;
                }
            }
            [b'/', b'*', ..] if nests => {
                depth += 1;
                i += 2;
            }
            _ => i += 1,
        }
    }
    bytes.len()
}

/// The end of `$tag$ … $tag$`; none where the dollar begins no such quote (`$1`, `a$b`).
fn dollar(sql: &str, at: usize) -> Option<usize> {
    let bytes = sql.as_bytes();
    if at > 0 && word(bytes[at - 1]) {
        return None;
    }
    let length = bytes[at + 1..].iter().position(|b| !word(*b))?;
    let end = at + 1 + length;
    if bytes[end] != b'$' || bytes[at + 1].is_ascii_digit() {
        return None;
    }
    let tag = &sql[at..=end];
    Some(sql[end + 1..].find(tag).map_or(sql.len(), |n| end + 1 + n + tag.len()))
}

/// Whether a byte can stand in a name.
pub(super) fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(dialect: Dialect, sql: &str) -> Vec<&str> {
        statements(dialect, sql)
    }

    #[test]
    fn semicolons_end_statements_only_in_code() {
        let common = "a 'x;''y' ; b \"q;\" -- c;\n d /* ; */ ;; \n;e";
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            assert_eq!(split(dialect, common), ["a 'x;''y'", "b \"q;\" -- c;\n d /* ; */", "e"]);
        }
    }

    #[test]
    fn postgres_has_dollar_quotes_nested_comments_and_escape_strings() {
        let pg = |sql| split(Dialect::Postgres, sql);
        assert_eq!(pg("DO $$ a; b $$; c"), ["DO $$ a; b $$", "c"]);
        assert_eq!(pg("f $t$ ; $$ ; $t$; c"), ["f $t$ ; $$ ; $t$", "c"]);
        assert_eq!(pg("a $1;b $2"), ["a $1", "b $2"]);
        assert_eq!(pg("a$x$;b$x$"), ["a$x$", "b$x$"]);
        assert_eq!(pg("a /* /* ; */ ; */ ; b"), ["a /* /* ; */ ; */", "b"]);
        assert_eq!(pg("a E'\\';' ; b"), ["a E'\\';'", "b"]);
        // In a plain string a backslash is one.
        assert_eq!(pg("a '\\' ; b ''"), ["a '\\'", "b ''"]);
    }

    #[test]
    fn mysql_has_hashes_backticks_and_backslashes() {
        let my = |sql| split(Dialect::Mysql, sql);
        assert_eq!(my("a # ;\n; b"), ["a # ;", "b"]);
        assert_eq!(my("a `;` 'x\\';' ; b"), ["a `;` 'x\\';'", "b"]);
        assert_eq!(my("a 5--1; b"), ["a 5--1", "b"]);
        assert_eq!(my("/*! SET x = 1 */; /* nothing */; b"), ["/*! SET x = 1 */", "b"]);
        assert_eq!(my("a $$;$$"), ["a $$", "$$"]);
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
