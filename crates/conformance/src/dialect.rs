//! What the same work is called in each dialect.
//!
//! Statements of checks are written once, with `?1`, `?2`, … for what is bound, and per dialect only where they must differ.

use litelab_protocol::{Dialect, Statement};

/// One of three, by dialect.
pub fn by<T>(dialect: Dialect, sqlite: T, postgres: T, mysql: T) -> T {
    match dialect {
        Dialect::Sqlite => sqlite,
        Dialect::Postgres => postgres,
        Dialect::Mysql => mysql,
    }
}

/// A statement written with `?1`, `?2`, … as the dialect wants it: `$1`, or `?` in the order of its values, of which one that
/// is used twice is bound twice. No text of a check holds a question mark.
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
            // Those of the tuples after the first are numbered on, and drawn for each.
            Statement { sql, bind, ..statement }
        }
    }
}

/// A name that is a word of the language.
pub fn quoted(dialect: Dialect, name: &str) -> String {
    let mark = by(dialect, '"', '"', '`');
    format!("{mark}{name}{mark}")
}

/// Of a connection without patience: who meets a lock is refused at once, or as soon as can be asked for.
pub fn impatient(dialect: Dialect) -> (&'static str, &'static str) {
    by(dialect, ("busy_timeout", "0"), ("lock_timeout", "1"), ("innodb_lock_wait_timeout", "0"))
}

/// What it is told then.
pub fn locked_out(dialect: Dialect) -> &'static str {
    by(dialect, "SQLITE_BUSY", "lock_not_available", "ER_LOCK_WAIT_TIMEOUT")
}

/// What a second row with a unique value is told.
pub fn not_unique(dialect: Dialect) -> &'static str {
    by(dialect, "SQLITE_CONSTRAINT_UNIQUE", "unique_violation", "ER_DUP_ENTRY")
}

/// Settings of a check that is not about settings, no commit of which waits for a disk where a session may choose that, and
/// which wait for a lock for five seconds.
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
        // Two rows of two columns: the second row's values have no place in `bind`.
        let rows = Statement { tuples: 2, ..statement("INSERT INTO t VALUES (?1, ?2), (?3, ?4)", &[0, 1]) };
        let rows = placed(Dialect::Mysql, rows);
        assert_eq!((rows.sql.as_str(), rows.bind), ("INSERT INTO t VALUES (?, ?), (?, ?)", vec![0, 1]));
    }
}
