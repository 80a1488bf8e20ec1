//! Error names of database servers, and names of failures of the connection to one.
//!
//! PostgreSQL: the condition names of Appendix A of its manual, in lower case. MySQL and MariaDB: the symbols of their
//! error reference that a client running transactions can meet.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::dialect::Dialect;

/// The JSON table shared by all runners: PostgreSQL names by SQLSTATE, MySQL names by error number, and the names of
/// connection failures.
const SERVER_TABLE: &str = include_str!("../../server-codes.json");

#[derive(Default, Deserialize)]
struct Table {
    postgres: BTreeMap<String, String>,
    mysql: BTreeMap<String, String>,
    connection: Vec<String>,
}

static BY_CODE: LazyLock<Table> =
    // The file is compiled in, and a test checks that it parses.
    LazyLock::new(|| serde_json::from_str(SERVER_TABLE).unwrap_or_default());

/// Error name: the host refused the connection, or its name has no address.
pub const CONNECTION_REFUSED: &str = "CONNECTION_REFUSED";
/// Error name: an open connection ended without an error from the server.
pub const CONNECTION_LOST: &str = "CONNECTION_LOST";
/// Error name: the server sent no answer within the connection's timeout.
pub const CONNECTION_TIMEOUT: &str = "CONNECTION_TIMEOUT";

fn listed(dialect: Dialect) -> Option<&'static BTreeMap<String, String>> {
    match dialect {
        Dialect::Sqlite => None,
        Dialect::Postgres => Some(&BY_CODE.postgres),
        Dialect::Mysql => Some(&BY_CODE.mysql),
    }
}

/// All listed error names of a dialect, sorted and without duplicates. Names of connection failures are included for
/// servers.
pub fn server_names(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&str> = match listed(dialect) {
        None => super::names().collect(),
        Some(table) => table.values().chain(&BY_CODE.connection).map(String::as_str).collect(),
    };
    names.sort_unstable();
    names.dedup();
    names.into_iter()
}

/// Whether a runner may report this name: a listed name, or the generic form of an unlisted code (`sqlstate_…`, `ER_…`,
/// `SQLITE_UNKNOWN`).
#[must_use]
pub fn is_known(dialect: Dialect, name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let state = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    let unlisted = match dialect {
        Dialect::Sqlite => name == "SQLITE_UNKNOWN",
        Dialect::Postgres => name.strip_prefix("sqlstate_").is_some_and(state),
        Dialect::Mysql => name.strip_prefix("ER_").is_some_and(digits),
    };
    unlisted || server_names(dialect).any(|listed| listed == name)
}

/// Error names of a conflict between two transactions, after which a retry can succeed: the default of `retry.on`.
#[must_use]
pub fn contention(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Sqlite => &["SQLITE_BUSY", "SQLITE_LOCKED"],
        Dialect::Postgres => &["serialization_failure", "deadlock_detected"],
        Dialect::Mysql => &["ER_LOCK_DEADLOCK", "ER_LOCK_WAIT_TIMEOUT"],
    }
}

/// Whether a tick counts this error as busy ([`crate::TickCount::busy`]).
#[must_use]
pub fn is_busy(dialect: Dialect, name: &str) -> bool {
    match dialect {
        Dialect::Sqlite => super::primary(name) == Some("SQLITE_BUSY"),
        server => contention(server).contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVERS: [Dialect; 2] = [Dialect::Postgres, Dialect::Mysql];

    #[test]
    fn listed_codes_have_their_names_and_others_a_generic_form() {
        for (dialect, code, name) in [
            (Dialect::Postgres, "40001", "serialization_failure"),
            (Dialect::Postgres, "40P01", "deadlock_detected"),
            (Dialect::Postgres, "53300", "too_many_connections"),
            (Dialect::Postgres, "57P01", "admin_shutdown"),
            (Dialect::Postgres, "23505", "unique_violation"),
            (Dialect::Postgres, "ZZ99X", "sqlstate_ZZ99X"),
            (Dialect::Mysql, "1213", "ER_LOCK_DEADLOCK"),
            (Dialect::Mysql, "1205", "ER_LOCK_WAIT_TIMEOUT"),
            (Dialect::Mysql, "1062", "ER_DUP_ENTRY"),
            (Dialect::Mysql, "1040", "ER_CON_COUNT_ERROR"),
            (Dialect::Mysql, "1047", "ER_UNKNOWN_COM_ERROR"),
            (Dialect::Mysql, "9999", "ER_9999"),
            (Dialect::Sqlite, "5", "SQLITE_UNKNOWN"),
        ] {
            let generic = name.contains(code) || dialect == Dialect::Sqlite;
            let listed = listed(dialect).and_then(|table| table.get(code));
            assert_eq!(listed.map(String::as_str), (!generic).then_some(name), "{code}");
            assert!(is_known(dialect, name), "{name}");
        }
    }

    #[test]
    fn the_table_is_whole_and_well_formed() {
        assert!(BY_CODE.postgres.len() > 250, "{}", BY_CODE.postgres.len());
        assert!(BY_CODE.mysql.len() > 60, "{}", BY_CODE.mysql.len());
        assert_eq!(BY_CODE.connection, [CONNECTION_LOST, CONNECTION_REFUSED, CONNECTION_TIMEOUT]);
        for (state, name) in &BY_CODE.postgres {
            assert_eq!(state.len(), 5, "{name}");
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{name}");
        }
        for (number, name) in &BY_CODE.mysql {
            assert!(number.parse::<u16>().is_ok_and(|n| n >= 1000), "{name} has number {number}");
            assert!(name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'), "{name}");
        }
    }

    #[test]
    fn each_dialect_has_names_of_its_own() {
        for dialect in SERVERS {
            assert!(is_known(dialect, CONNECTION_LOST) && !is_known(dialect, "SQLITE_BUSY"));
            let names: Vec<_> = server_names(dialect).collect();
            assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{dialect}: in order, each once");
        }
        for (dialect, strange) in [
            (Dialect::Sqlite, CONNECTION_LOST),
            (Dialect::Sqlite, "deadlock_detected"),
            (Dialect::Postgres, "ER_LOCK_DEADLOCK"),
            (Dialect::Postgres, "sqlstate_4P01"),
            (Dialect::Postgres, "sqlstate_40p01"),
            (Dialect::Mysql, "deadlock_detected"),
            (Dialect::Mysql, "ER_"),
            (Dialect::Mysql, "ER_LOCK_DEADLOK"),
        ] {
            assert!(!is_known(dialect, strange), "{dialect}: {strange}");
        }
    }

    #[test]
    fn what_contends_is_known_and_busy() {
        for dialect in Dialect::ALL {
            assert!(contention(dialect).iter().all(|name| is_known(dialect, name)), "{dialect}");
        }
        assert!(is_busy(Dialect::Sqlite, "SQLITE_BUSY_SNAPSHOT") && !is_busy(Dialect::Sqlite, "SQLITE_LOCKED"));
        assert!(is_busy(Dialect::Postgres, "deadlock_detected") && !is_busy(Dialect::Postgres, "unique_violation"));
        assert!(is_busy(Dialect::Mysql, "ER_LOCK_WAIT_TIMEOUT") && !is_busy(Dialect::Mysql, CONNECTION_LOST));
    }
}
