//! SQL, settings and error names per dialect.
//!
//! The statements of checks are written once, with parameters `?1`, `?2`, …, and per dialect only where they must
//! differ.

use litelab_protocol::{Dialect, Statement};

/// Selects the value for a dialect.
pub fn by<T>(dialect: Dialect, sqlite: T, postgres: T, mysql: T) -> T {
    match dialect {
        Dialect::Sqlite => sqlite,
        Dialect::Postgres => postgres,
        Dialect::Mysql => mysql,
    }
}

/// Translates the parameters `?1`, `?2`, … to the dialect: `$1`, … or `?`, for which a parameter that occurs twice is
/// bound twice. The text must contain no other question mark.
pub fn placed(dialect: Dialect, statement: Statement) -> Statement {
    match dialect {
        Dialect::Sqlite => statement,
        Dialect::Postgres => Statement { sql: statement.sql.replace('?', "$"), ..statement },
        Dialect::Mysql => {
            let mut pieces = statement.sql.split('?');
            let mut sql = pieces.next().unwrap_or_default().to_owned();
            let mut bind = Vec::new();
            for piece in pieces {
                let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit());
                let number: usize = piece[..piece.len() - rest.len()].parse().unwrap_or_default();
                bind.extend(statement.bind.get(number.wrapping_sub(1)));
                sql.push('?');
                sql.push_str(rest);
            }
            // The parameters of all tuples after the first follow in order, and are drawn for each tuple.
            Statement { sql, bind, ..statement }
        }
    }
}

/// Quotes an identifier that is a reserved word.
pub fn quoted(dialect: Dialect, name: &str) -> String {
    let mark = by(dialect, '"', '"', '`');
    format!("{mark}{name}{mark}")
}

/// Setting and value that make a connection fail on a lock at once, or after the shortest timeout that the server
/// allows.
pub fn impatient(dialect: Dialect) -> (&'static str, &'static str) {
    by(dialect, ("busy_timeout", "0"), ("lock_timeout", "1"), ("innodb_lock_wait_timeout", "0"))
}

/// Error code of a connection that finds a lock held, under [`impatient`].
pub fn locked_out(dialect: Dialect) -> &'static str {
    by(dialect, "SQLITE_BUSY", "lock_not_available", "ER_LOCK_WAIT_TIMEOUT")
}

/// Error code of a second row with the same unique value.
pub fn not_unique(dialect: Dialect) -> &'static str {
    by(dialect, "SQLITE_CONSTRAINT_UNIQUE", "unique_violation", "ER_DUP_ENTRY")
}

/// Settings for checks that are not about settings: five seconds of waiting for a lock, and no sync at commit where a
/// session can choose that.
pub fn usual(dialect: Dialect) -> &'static [(&'static str, &'static str)] {
    by(
        dialect,
        &[("journal_mode", "WAL"), ("synchronous", "OFF"), ("busy_timeout", "5000")],
        &[("synchronous_commit", "off"), ("lock_timeout", "5000")],
        &[("innodb_lock_wait_timeout", "5")],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::statement;

    #[test]
    fn what_is_bound_twice_has_one_number_or_two_places() {
        let written = statement("INSERT INTO t VALUES (?2, ?1, 'a', ?2)", &[7, 8]);
        let of = |dialect| {
            let placed = placed(dialect, written.clone());
            (placed.sql, placed.bind)
        };
        assert_eq!(of(Dialect::Sqlite), (written.sql.clone(), vec![7, 8]));
        assert_eq!(of(Dialect::Postgres), ("INSERT INTO t VALUES ($2, $1, 'a', $2)".into(), vec![7, 8]));
        assert_eq!(of(Dialect::Mysql), ("INSERT INTO t VALUES (?, ?, 'a', ?)".into(), vec![8, 7, 8]));
        // Two rows of two columns: `bind` does not list the values of the second row.
        let rows = Statement { tuples: 2, ..statement("INSERT INTO t VALUES (?1, ?2), (?3, ?4)", &[0, 1]) };
        let rows = placed(Dialect::Mysql, rows);
        assert_eq!((rows.sql.as_str(), rows.bind), ("INSERT INTO t VALUES (?, ?), (?, ?)", vec![0, 1]));
    }
}
