//! Parameters, tuples and quotes of each dialect.

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
    let p = positional("INSERT INTO t(a, b) VALUES (:a, lower(:b)) ON CONFLICT DO NOTHING", 3, SQLITE).expect("valid");
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
    let rows = "20000 rows of 3 parameters are 60000: SQLite allows 32766 in one statement; at most 10922 rows fit, or \
                use `repeat` in place of `rows`";
    assert_eq!(positional("INSERT INTO t VALUES (:a, :b, :c)", 20_000, SQLITE), Err(rows.to_owned()));
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
    assert_eq!((p.sql.as_str(), p.names.as_slice()), ("COPY t(a, b) FROM STDIN", &["b".to_owned(), "a".into()][..]));
    for wrong in ["COPY t FROM STDIN", "COPY t FROM 'x' (:a)", "COPY t FROM STDIN (:a, 5)", "COPY (:a) FROM STDIN ()"] {
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
fn a_statement_that_begins_ends_or_sets_is_refused_with_its_key() {
    for (sql, dialect, key) in [
        ("BEGIN", SQLITE, "`begin = \"deferred\"`"),
        ("begin immediate transaction", SQLITE, "`begin = \"immediate\"`"),
        ("/* x */ ; BEGIN\nEXCLUSIVE", SQLITE, "`begin = \"exclusive\"`"),
        ("START TRANSACTION", MYSQL, "`begin = \"deferred\"`"),
        ("COMMIT", SQLITE, "the runner commits"),
        ("END TRANSACTION", POSTGRES, "the runner commits"),
        ("ROLLBACK TO a", SQLITE, "`required = true`"),
        ("SAVEPOINT a", SQLITE, "no savepoints"),
        ("RELEASE a", POSTGRES, "no savepoints"),
        ("PRAGMA synchronous=OFF", SQLITE, "a profile's [pragma], or vary \"pragma.synchronous\""),
        ("explain pragma main . \"journal_mode\" (delete)", SQLITE, "\"pragma.journal_mode\""),
        ("EXPLAIN QUERY PLAN PRAGMA cache_size = 1", SQLITE, "\"pragma.cache_size\""),
        ("PRAGMA case_sensitive_like(1)", SQLITE, "\"pragma.case_sensitive_like\""),
        ("PRAGMA synchronus = off", SQLITE, "did you mean synchronous?"),
        ("SET synchronous_commit = off", POSTGRES, "a profile's [setting]"),
        ("RESET ALL", POSTGRES, "a profile's [setting]"),
        ("SET @@session.sql_mode = ''", MYSQL, "a profile's [setting]"),
    ] {
        let refused = check_statement(sql, dialect).expect_err(sql);
        assert!(refused.contains(key) && !refused.contains('\n'), "{sql}: {refused}");
    }
}

#[test]
fn maintenance_and_reading_are_no_settings() {
    for sql in [
        "PRAGMA optimize",
        "PRAGMA optimize(0x10002)",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "PRAGMA main.incremental_vacuum(10)",
        "PRAGMA shrink_memory",
        "VACUUM",
        "ANALYZE",
        "PRAGMA user_version",
        "PRAGMA user_version = 5",
        "PRAGMA table_info(t)",
        "PRAGMA foreign_key_check(t)",
        "PRAGMA synchronous",
        "PRAGMA main.journal_mode;",
        "PRAGMA defer_foreign_keys = on",
        "SELECT 'BEGIN', \"PRAGMA\" -- COMMIT",
        "INSERT INTO begin VALUES (1)",
        "-- BEGIN",
        "",
    ] {
        assert_eq!(check_statement(sql, SQLITE), Ok(()), "{sql}");
    }
    assert_eq!(check_statement("SET LOCAL work_mem = '1MB'", POSTGRES), Ok(()));
    assert_eq!(check_statement("SET @a = 1", MYSQL), Ok(()));
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

fn takes_anything(sql: &str, tuples: u32) {
    for dialect in Dialect::ALL {
        let _either = positional(sql, tuples, dialect);
        let _either = positional(&format!("COPY {sql}"), tuples, dialect);
        let _either = substitute_in(sql, &Vars::new(), dialect);
        let _either = writes(sql, dialect);
        let _either = check_statement(sql, dialect);
    }
}

proptest! {
    #[test]
    fn no_text_panics(sql in "\\PC{0,60}", tuples in 0_u32..5) {
        takes_anything(&sql, tuples);
    }

    #[test]
    fn sql_pieces_never_panic(
        pieces in prop::collection::vec(
            prop::sample::select(vec!["VALUES", "STDIN", "::", "$$", "#", "\\", "(", ")", ":a", "$b", "'", "\"", "[", "--", "/*", "*/", ",", " ", "é", "PRAGMA", ".", "=", "SET"]),
            0..30,
        ),
        tuples in 1_u32..4,
    ) {
        takes_anything(&pieces.concat(), tuples);
    }

    /// The SQL text contains every bound parameter as often as it is bound, and no other.
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
