//! Refusal of statements in a workload's transaction: those that begin or end a transaction, which the runner does, and
//! those that change a setting, after which a variant would differ from its displayed settings.

use litelab_protocol::Dialect;
use litelab_protocol::sql::{Token, tokens};

use crate::pragma::{self, Kind, PragmaError, Scope};

/// Settings that are data in the file header: applications write them in migrations, and no other behaviour depends on
/// them.
const DATA: [&str; 2] = ["user_version", "application_id"];

/// Checks that a statement neither begins nor ends a transaction, and changes no setting of its connection.
///
/// Allowed are PRAGMAs that perform work (`PRAGMA optimize`, `wal_checkpoint`, `incremental_vacuum`) and `VACUUM`,
/// PRAGMAs that read, and settings that end with their transaction (`defer_foreign_keys`, PostgreSQL's `SET LOCAL`).
///
/// # Errors
/// The effect of the statement, and the key to use instead.
pub fn check_statement(sql: &str, dialect: Dialect) -> Result<(), String> {
    let tokens = tokens(sql, dialect);
    let mut code = tokens.iter().filter(|token| !token.is_blank() && **token != Token::Other(";")).peekable();
    // SQLite executes some PRAGMAs during their compilation, even under EXPLAIN.
    while code.next_if(|token| ["explain", "query", "plan"].iter().any(|w| token.is(w))).is_some() {}
    let Some(Token::Word(first)) = code.next() else { return Ok(()) };
    let first = first.to_ascii_uppercase();
    let second = code.peek().copied();
    match first.as_str() {
        "BEGIN" | "START" => {
            let mode = ["immediate", "exclusive"].into_iter().find(|mode| second.is_some_and(|token| token.is(mode)));
            Err(format!(
                "`{first}`: the runner begins and commits; leave it out, and write `begin = \"{}\"` as a key of the transaction",
                mode.unwrap_or("deferred")
            ))
        }
        "COMMIT" | "END" => Err(format!(
            "`{first}`: the runner commits after the last statement; leave it out (`begin` is a key of the transaction)"
        )),
        "ROLLBACK" | "ABORT" => Err(format!(
            "`{first}`: the runner ends the transaction, and rolls back after an error; leave it out (a statement with \
             `required = true` that finds no row ends it early)"
        )),
        "SAVEPOINT" | "RELEASE" => Err(format!(
            "`{first}`: the runner begins and ends transactions, and has no savepoints; leave it out (`begin` is a key of the \
             transaction)"
        )),
        "PRAGMA" if dialect.is_sqlite() => {
            let mut name = code.next();
            let mut next = code.next();
            if next == Some(&Token::Other(".")) {
                (name, next) = (code.next(), code.next());
            }
            let sets = matches!(next, Some(Token::Other("=" | "(")));
            name.map_or(Ok(()), |name| check_pragma(name, sets))
        }
        "SET" | "RESET" | "DISCARD" if !dialect.is_sqlite() => {
            let own: &[&str] = match dialect {
                Dialect::Postgres => &["local", "transaction", "constraints"],
                _ => &["statement"],
            };
            // In MySQL `@name` is a user variable, `@@name` a setting.
            let mut rest = code.clone();
            let variable = rest.next() == Some(&Token::Other("@")) && rest.next() != Some(&Token::Other("@"));
            if variable || second.is_some_and(|token| own.iter().any(|word| token.is(word))) {
                return Ok(());
            }
            Err(format!(
                "`{first}` changes settings while they are measured; put them into a profile's [setting], or vary \
                 \"setting.NAME\""
            ))
        }
        _ => Ok(()),
    }
}

fn check_pragma(name: &Token<'_>, sets: bool) -> Result<(), String> {
    let (Token::Word(name) | Token::Quoted(name)) = name else { return Ok(()) };
    let name = name.trim_matches(['"', '\'', '`', '[', ']']);
    let Some(known) = pragma::find(name) else {
        return Err(PragmaError::unknown(name).to_string());
    };
    let changes = matches!(known.kind, Kind::Setting { scope, .. } if scope != Scope::Transaction);
    if !sets || !changes || DATA.contains(&known.name) {
        return Ok(());
    }
    Err(format!(
        "`PRAGMA {0}` changes a setting while it is measured; put it into a profile's [pragma], or vary \"pragma.{0}\"",
        known.name
    ))
}
