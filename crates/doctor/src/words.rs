//! Words of SQL text.

use litelab_protocol::Dialect;
use litelab_protocol::sql::{Token, tokens};

/// Tokens of SQL text without blanks and comments, as they are written.
pub(crate) fn words(sql: &str) -> Vec<&str> {
    let mut rest = sql;
    let mut words = Vec::new();
    for token in tokens(sql, Dialect::Sqlite) {
        let (word, after) = rest.split_at(token.bytes());
        rest = after;
        if !matches!(token, Token::Comment(_)) && !word.trim().is_empty() {
            words.push(word);
        }
    }
    words
}
