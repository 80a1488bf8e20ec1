//! The same rows have the same hash on SQLite, PostgreSQL and MariaDB.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use litelab_engine::verify::content_hash;
use litelab_servers::instance::binaries;
use litelab_servers::{Admin, Instance, Kind};
use rusqlite::Connection;

/// A table given by its columns and rows, in SQL that all three databases accept except for the types.
struct Case {
    what: &'static str,
    /// Columns for SQLite, PostgreSQL and MariaDB.
    columns: [&'static str; 3],
    rows: String,
}

fn cases() -> Vec<Case> {
    let long = "x".repeat(3000);
    vec![
        Case {
            what: "NULLs before negative, small and largest integers",
            columns: ["a INTEGER, b INTEGER", "a bigint, b smallint", "a bigint, b smallint"],
            rows: "(NULL, 1), (3, NULL), (-7, 2), (3, -2), (9223372036854775807, 0), (-9223372036854775808, 0), (NULL, NULL)"
                .into(),
        },
        Case {
            what: "text by its bytes: case, accents, blanks, none",
            columns: ["t TEXT, n INTEGER", "t text, n integer", "t varchar(60) COLLATE utf8mb4_general_ci, n integer"],
            rows: "('b', 1), ('B', 2), ('a', 3), ('ä', 4), ('', 5), (' ', 6), ('a ', 7), ('日本', 8), ('🦀', 9), \
                   (NULL, 10), ('Z', 11), ('\u{ffff}', 12)"
                .into(),
        },
        Case {
            what: "doubles, integral ones and zeros among them",
            columns: ["r REAL, n INTEGER", "r double precision, n integer", "r double, n integer"],
            rows: "(0.1, 1), (-2.5, 2), (3, 3), (1e300, 4), (NULL, 5), (0.30000000000000004, 6), (-0.0, 7), (0.0, 8), \
                   (12345678901234567, 9)"
                .into(),
        },
        Case {
            what: "decimals, and texts that differ only beyond a thousand bytes",
            columns: ["t TEXT, d INTEGER", "t text, d numeric(12, 0)", "t text, d decimal(12, 0)"],
            rows: format!("('{long}c', 12), ('{long}a', -5), ('{long}b', NULL)"),
        },
        Case {
            what: "blobs",
            columns: ["b BLOB, n INTEGER", "b bytea, n integer", "b blob, n integer"],
            rows: "(HEX80, 1), (HEX00, 2), (NULL, 3), (HEX7f80, 4)".into(),
        },
        Case { what: "no rows", columns: ["a INTEGER", "a integer", "a integer"], rows: String::new() },
    ]
}

fn script(case: &Case, which: usize) -> String {
    let (open, close) = if which == 1 { ("'\\x", "'") } else { ("x'", "'") };
    let rows = case.rows.replace("HEX7f80", &format!("{open}7f80{close}"));
    let rows = rows.replace("HEX80", &format!("{open}80{close}")).replace("HEX00", &format!("{open}00{close}"));
    let insert = if rows.is_empty() { String::new() } else { format!("INSERT INTO t VALUES {rows}") };
    format!("CREATE TABLE t ({}); {insert}", case.columns[which])
}

fn on_sqlite(script: &str) -> String {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(script).unwrap();
    content_hash(&connection, "t").unwrap()
}

fn on_server(admin: &mut Admin, script: &str) -> String {
    admin.create_schema("content").unwrap();
    admin.script("content", script).unwrap();
    let hash = admin.content_hash("content", "t").unwrap();
    admin.drop_schema("content").unwrap();
    hash
}

#[test]
fn the_same_rows_have_the_same_hash_on_every_engine() {
    for (which, kind) in [(1, Kind::Postgres), (2, Kind::Mariadb)] {
        if let Err(e) = binaries::find(kind) {
            println!("skipped: {e}");
            continue;
        }
        let folder = std::env::temp_dir().join(format!("litelab-content-{}-{kind}", std::process::id()));
        let server = Instance::start(kind, &folder, &litelab_servers::Options::default()).unwrap();
        let mut admin = Admin::connect(server.url()).unwrap();
        for case in cases() {
            let sqlite = on_sqlite(&script(&case, 0));
            assert_eq!(on_server(&mut admin, &script(&case, which)), sqlite, "{kind}: {}", case.what);
            // A changed digit or a missing row changes the hash.
            let other = Case { rows: case.rows.replacen(", 1)", ", 2)", 1).replacen("12)", "13)", 1), ..case };
            if !other.rows.is_empty() {
                assert_ne!(on_server(&mut admin, &script(&other, which)), sqlite, "{kind}: {}", other.what);
            }
        }
        admin.create_schema("content").unwrap();
        admin.script("content", "CREATE TABLE t (d date)").unwrap();
        let said = admin.content_hash("content", "t");
        // A column type unknown to SQLite is refused as soon as the column has a value.
        admin.script("content", "INSERT INTO t VALUES ('2026-01-02')").unwrap();
        let refused = admin.content_hash("content", "t").unwrap_err().to_string();
        assert!(said.is_ok() && refused.contains("column `d` is of type date"), "{refused}");
    }
}
