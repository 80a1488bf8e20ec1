//! Words of SQL text, and numbers of versions.

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

/// Numbers of a version: `v1.14.52` as 1, 14 and 52.
pub(crate) fn numbers(version: &str) -> Vec<u64> {
    version.trim_start_matches('v').split('.').map_while(|part| part.parse().ok()).collect()
}
