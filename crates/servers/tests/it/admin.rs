//! Administrative connections to real servers.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use crate::common;
use std::net::TcpListener;
use std::time::Duration;

use crate::common::{admins, family, installed, own, send, shared, stop};
use litelab_protocol::Dialect;
use litelab_protocol::draw::Value;
use litelab_servers::{Admin, Kind, ServersError};

/// Runs a test in a new schema on each installed server.
fn with_schema(name: &str, test: impl Fn(&mut Admin)) {
    for mut admin in admins() {
        admin.create_schema(name).unwrap();
        test(&mut admin);
        admin.drop_schema(name).unwrap();
    }
}

fn by_dialect<'a>(admin: &Admin, postgres: &'a str, mysql: &'a str) -> &'a str {
    if admin.dialect() == Dialect::Postgres { postgres } else { mysql }
}

/// Text of an error, which must be one line.
fn said<T: std::fmt::Debug>(outcome: Result<T, ServersError>) -> String {
    let text = outcome.unwrap_err().to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn a_schema_is_made_once_and_dropped_whole() {
    with_schema("made", |admin| {
        assert!(said(admin.create_schema("made")).starts_with("schema `made` exists already"));
        admin.script("made", "CREATE TABLE a (x integer); CREATE TABLE b (x integer)").unwrap();
        admin.drop_schema("made").unwrap();
        // Dropping a missing schema is no error, and the content of a dropped one is gone.
        admin.drop_schema("made").unwrap();
        assert!(said(admin.number("made", "SELECT 1")).contains("made"));
        admin.create_schema("made").unwrap();
        assert!(said(admin.number("made", "SELECT count(*) FROM a")).contains('a'));
    });
}

#[test]
fn names_are_quoted() {
    with_schema("odd \"`'name", |admin| {
        let schema = "odd \"`'name";
        let create = by_dialect(admin, "CREATE TABLE \"odd\"\"t\" (x integer)", "CREATE TABLE `odd\"t` (x integer)");
        admin.script(schema, create).unwrap();
        admin.analyze(schema).unwrap();
        assert_eq!(admin.content_hash(schema, "odd\"t").unwrap().len(), 64);
    });
}

#[test]
fn a_script_runs_up_to_its_first_mistake() {
    with_schema("scripted", |admin| {
        let failed = admin.script(
            "scripted",
            "CREATE TABLE t (x integer, y varchar(9)); -- a ; comment\n INSERT INTO t VALUES (1, 'a;b');\
             INSERT INTO t VALUES (2, 'c'), (oops); INSERT INTO t VALUES (3, 'd')",
        );
        assert!(said(failed).contains("oops") || admin.dialect() == Dialect::Mysql);
        assert_eq!(admin.number("scripted", "SELECT count(*) FROM t WHERE y = 'a;b'").unwrap(), 1.0);
        assert_eq!(admin.number("scripted", "SELECT count(*) FROM t").unwrap(), 1.0);
    });
}

#[test]
fn statements_are_compiled_and_not_run() {
    with_schema("compiled", |admin| {
        admin.script("compiled", "CREATE TABLE t (id integer, name varchar(9))").unwrap();
        let mut check = |sql| admin.prepare_check("compiled", sql);
        let select = check("SELECT name, id AS number FROM t").unwrap();
        assert_eq!((select.columns, select.parameters), (vec!["name".to_owned(), "number".to_owned()], 0));
        let wrong = said(check("SELECT nmae FROM t"));
        assert!(wrong.contains("nmae"), "{wrong}");
        let insert = by_dialect(admin, "INSERT INTO t VALUES ($1, $2)", "INSERT INTO t VALUES (?, ?)");
        assert_eq!(admin.prepare_check("compiled", insert).unwrap().parameters, 2);
        if admin.dialect() == Dialect::Postgres {
            let copy = admin.prepare_check("compiled", "COPY t (id, name) FROM STDIN").unwrap();
            assert_eq!((copy.columns.len(), copy.parameters), (0, 2));
            assert!(said(admin.prepare_check("compiled", "COPY t (nmae) FROM STDIN")).contains("nmae"));
        }
        assert_eq!(admin.number("compiled", "SELECT count(*) FROM t").unwrap(), 0.0);
    });
}

#[test]
fn rows_are_inserted_in_bulk_and_one_by_one() {
    with_schema("loaded", |admin| {
        let create = "CREATE TABLE t (id bigint PRIMARY KEY, small smallint, price numeric(9, 2), name text)";
        admin.script("loaded", create).unwrap();
        let row = |id: i64| {
            let name = if id % 7 == 0 { Value::Null } else { Value::Text(format!("näme \\ '{id}'")) };
            vec![Value::Integer(id), Value::Integer(-(id % 100)), Value::Real(0.25), name]
        };
        let sql = by_dialect(admin, "INSERT INTO t VALUES ($1, $2, $3, $4)", "INSERT INTO t VALUES (?, ?, ?, ?)");
        // More than one transaction, with a remainder that does not fill a statement of many rows.
        assert_eq!(admin.insert("loaded", sql, (0..10_777).map(row)).unwrap(), 10_777);
        let mut number = |sql: &str| admin.number("loaded", sql).unwrap();
        assert_eq!(number("SELECT count(*) FROM t"), 10_777.0);
        assert_eq!(number("SELECT sum(price) FROM t"), 10_777.0 / 4.0);
        assert_eq!(number("SELECT sum(id) FROM t"), (10_776 * 10_777 / 2) as f64);
        assert_eq!(number("SELECT count(*) FROM t WHERE name IS NULL"), 1540.0);
        assert!(number("SELECT max(id) FROM t WHERE id < 0").is_nan());
        // Rows that are too large for one statement.
        let large = (20_000..20_600)
            .map(|id| vec![Value::Integer(id), Value::Integer(0), Value::Integer(1), Value::Text("x".repeat(20_000))]);
        assert_eq!(admin.insert("loaded", sql, large).unwrap(), 600);
        assert_eq!(admin.number("loaded", "SELECT count(*) FROM t WHERE length(name) = 20000").unwrap(), 600.0);
        // A statement of another form, and one with a wrong number of values.
        let other = by_dialect(
            admin,
            "INSERT INTO t (id) SELECT $1 + 0 * CAST($2 AS bigint)",
            "INSERT INTO t (id) SELECT ? + 0 * ?",
        );
        let pairs = (0..3).map(|i| vec![Value::Integer(30_000 + i), Value::Integer(i)]);
        assert_eq!(admin.insert("loaded", other, pairs).unwrap(), 3);
        assert!(said(admin.insert("loaded", sql, [vec![Value::Null]])).contains("1 values for 4 parameters"));
        // A duplicate key rolls back its own transaction only.
        assert!(said(admin.insert("loaded", sql, [row(40_000), row(1)])).to_lowercase().contains("duplicate"));
        assert_eq!(admin.number("loaded", "SELECT count(*) FROM t").unwrap(), 11_380.0);
        admin.analyze("loaded").unwrap();
    });
}

#[test]
fn a_row_that_depends_on_earlier_ones_is_inserted_after_them() {
    with_schema("dependent", |admin| {
        let create = by_dialect(
            admin,
            "CREATE TABLE t (id integer PRIMARY KEY, n integer)",
            "CREATE TABLE t (at integer AUTO_INCREMENT PRIMARY KEY, id integer, n integer)",
        );
        admin.script("dependent", create).unwrap();
        let sql = by_dialect(
            admin,
            "INSERT INTO t VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET n = (SELECT max(n) FROM t) + 1",
            "INSERT INTO t (id, n) VALUES (?, last_insert_id())",
        );
        let is_postgres = admin.dialect() == Dialect::Postgres;
        // More than a statement of many rows takes.
        let rows = (0..700).map(|id| vec![Value::Integer(if is_postgres { 7 } else { id })]);
        assert_eq!(admin.insert("dependent", sql, rows).unwrap(), 700);
        let last = by_dialect(admin, "SELECT n - 1 FROM t WHERE id = 7", "SELECT count(DISTINCT n) - 1 FROM t");
        assert_eq!(admin.number("dependent", last).unwrap(), 699.0);
    });
}

#[test]
fn numbers_are_numbers() {
    with_schema("numbers", |admin| {
        let mut number = |sql| admin.number("numbers", sql);
        assert_eq!(number("SELECT -1.5").unwrap(), -1.5);
        assert_eq!(number("SELECT 1 = 1").unwrap(), 1.0);
        assert_eq!(number("SELECT 1 = 2").unwrap(), 0.0);
        assert!(number("SELECT NULL").unwrap().is_nan());
        assert!(said(number("SELECT 'many'")).contains("`many` is no number"));
    });
}

#[test]
fn settings_are_read_and_set_server_wide() {
    for mut admin in admins() {
        let (name, other) = match admin.dialect() {
            Dialect::Postgres => ("synchronous_commit", "off"),
            _ => ("innodb_flush_log_at_trx_commit", "2"),
        };
        let before = admin.setting(name).unwrap();
        assert_ne!(before, other);
        assert_eq!(admin.set_server(name, other).unwrap(), before);
        let url = if admin.dialect() == Dialect::Postgres { Kind::Postgres } else { Kind::Mariadb };
        let mut later = Admin::connect(shared(url).unwrap()).unwrap();
        assert_eq!(later.setting(name).unwrap(), other);
        assert_eq!(admin.set_server(name, &before).unwrap(), other);
        assert_eq!(later.set_server(name, &before).unwrap(), before, "what is in effect already");

        assert!(said(admin.setting("no_such_setting")).contains("no_such_setting"));
        assert!(said(admin.setting("x; DROP")).contains("no name of a setting"));
        let (fixed, value) = by_dialect(&admin, "shared_buffers 99MB", "port 99").split_once(' ').unwrap();
        assert!(said(admin.set_server(fixed, value)).contains(fixed));
    }
}

#[test]
fn durability_is_at_the_engines_default() {
    for mut admin in admins() {
        let wanted: &[(&str, &str)] = match admin.dialect() {
            Dialect::Postgres => &[("fsync", "on"), ("full_page_writes", "on")],
            _ => &[("innodb_doublewrite", "1"), ("log_bin", "0"), ("sync_binlog", "0")],
        };
        for (name, value) in wanted {
            assert_eq!(admin.setting(name).unwrap(), *value, "{name}");
        }
    }
}

#[test]
fn versions_name_the_server() {
    for mut admin in admins() {
        let (name, number) =
            admin.version().unwrap().split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(name, by_dialect(&admin, "PostgreSQL", "MariaDB"));
        assert!(number.split('.').all(|part| part.parse::<u32>().is_ok()), "{number}");
    }
}

#[test]
fn what_keeps_a_connection_from_coming_about_is_said_in_one_line() {
    for kind in [Kind::Postgres, Kind::Mariadb] {
        let Some(url) = shared(kind) else { continue };
        let (scheme, rest) = url.split_once("://").unwrap();
        let hosts = rest.split_once('@').unwrap().1;
        let wrong = said(Admin::connect(&format!("{scheme}://litelab:wrong@{hosts}")).map(drop));
        assert!(wrong.contains("refuses the connection") && !wrong.contains("wrong@"), "{wrong}");
        let base = url.split_once("/postgres").map_or(url, |(base, _)| base);
        assert!(said(Admin::connect(&format!("{base}/absent")).map(drop)).contains("absent"));

        let mut admin = Admin::connect(url).unwrap();
        admin.create_schema("limits").unwrap();
        let (make, drop_it) = match kind {
            Kind::Postgres => ("CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 1", "DROP ROLE few"),
            _ => (
                "CREATE USER few@'127.0.0.1' IDENTIFIED BY 'few' WITH MAX_USER_CONNECTIONS 1",
                "DROP USER few@'127.0.0.1'",
            ),
        };
        admin.script("limits", make).unwrap();
        let few = format!("{scheme}://few:few@{hosts}");
        let first = Admin::connect(&few).unwrap();
        let second = Admin::connect(&few).map(drop);
        assert!(matches!(second, Err(ServersError::TooManyConnections { .. })), "{second:?}");
        assert!(said(second).contains("no connection left"));
        drop(first);
        common::until("the first connection ends", || admin.script("limits", drop_it).is_ok());
        admin.drop_schema("limits").unwrap();
    }
}

#[test]
fn a_host_that_does_not_answer_is_given_up_and_the_next_one_tried() {
    // The kernel accepts connections, but no program answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = listener.local_addr().unwrap();
    // No server listens on port 1. A port that was free a moment ago may by now belong to another test's server.
    let closed = "127.0.0.1:1";
    let patience = Duration::from_millis(300);
    for kind in [Kind::Postgres, Kind::Mariadb] {
        let scheme = kind.dialect().name();
        let refused = said(Admin::connect_within(&format!("{scheme}://u:p@{closed}"), patience).map(drop));
        assert!(
            refused.contains(&format!("no server answers at {closed}")) && refused.contains("refused"),
            "{refused}"
        );
        let quiet = said(Admin::connect_within(&format!("{scheme}://u:p@{silent}"), patience).map(drop));
        assert!(quiet.contains("no answer within 0.3 s"), "{quiet}");
        let Some(url) = shared(kind) else { continue };
        let several = url.replace("@127", &format!("@{closed},127"));
        assert!(Admin::connect(&several).unwrap().version().is_ok());
    }
}

#[test]
fn one_connection_works_in_one_schema_after_the_other() {
    for mut admin in admins() {
        let insert = by_dialect(&admin, "INSERT INTO t VALUES ($1, $2)", "INSERT INTO t VALUES (?, ?)");
        for (schema, rows) in [("former", 700), ("latter", 3), ("former", 1)] {
            if rows > 1 {
                admin.create_schema(schema).unwrap();
                admin.script(schema, "CREATE TABLE t (id bigint PRIMARY KEY, name text)").unwrap();
            }
            // The same keys in both schemas: a statement that was compiled for the previous schema would find them
            // there.
            let first = if rows == 1 { 1_000 } else { 0 };
            let rows = (first..first + rows).map(|id| vec![Value::Integer(id), Value::Text(schema.into())]);
            admin.insert(schema, insert, rows).unwrap();
        }
        let count = "SELECT count(*) FROM t";
        assert_eq!(admin.number("former", count).unwrap(), 701.0);
        assert_eq!(admin.number("latter", count).unwrap(), 3.0);
        let half = by_dialect(&admin, "CAST(0.5 AS float8)", "0.5e0");
        let last = format!("SELECT id, name, NULL, {half} FROM t ORDER BY id DESC LIMIT 1");
        let rows = admin.rows("latter", &last).unwrap();
        assert_eq!(rows, [[Value::Integer(2), Value::Text("latter".into()), Value::Null, Value::Real(0.5)]]);
        assert!(said(admin.rows("latter", "SELECT nmae FROM t")).contains("nmae"));
        for schema in ["former", "latter"] {
            admin.drop_schema(schema).unwrap();
        }
    }
}

#[test]
fn a_server_that_stops_answering_is_lost_and_one_that_is_busy_is_not() {
    // Long enough that a busy machine answers one of two new connections in time.
    let patience = Duration::from_millis(1_500);
    let one = |kind: Kind| {
        let server = own(kind, "stopped");
        let connect = || Admin::connect_within(server.url(), patience);
        let mut admin = connect().unwrap();
        // Longer than the allowed silence; the result must still arrive.
        let busy = by_dialect(&admin, "SELECT count(*) FROM pg_sleep(4)", "SELECT sleep(4)");
        let schema = by_dialect(&admin, "public", "information_schema");
        assert!(admin.number(schema, busy).is_ok());

        stop(&family(server.folder()));
        let lost = admin.number(schema, "SELECT 1").unwrap_err();
        assert!(matches!(&lost, ServersError::Lost(why) if why.contains("no answer within")), "{lost:?}");
        assert!(said(connect().map(drop)).contains("no answer within"));
        family(server.folder()).into_iter().for_each(|pid| send("-CONT", pid));
        // An abandoned connection stays lost; a new connection works.
        assert!(matches!(admin.number(schema, "SELECT 1"), Err(ServersError::Lost(_))));
        assert_eq!(Admin::connect(server.url()).unwrap().number(schema, "SELECT 1").unwrap(), 1.0);
    };
    std::thread::scope(|scope| {
        for kind in [Kind::Postgres, Kind::Mariadb].into_iter().filter(|kind| installed(*kind)) {
            scope.spawn(move || one(kind));
        }
    });
}
