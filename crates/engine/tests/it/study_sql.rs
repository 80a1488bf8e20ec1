//! Check of a study's SQL before a run: it can reach no file but its database, its tables are found however they are
//! created, and a statement that does not end is refused.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::path::Path;

use litelab_engine::compile::compile;
use litelab_model::{Options, Plan, library, resolve};
use litelab_protocol::Begin;
use rusqlite::Connection;
use tempfile::TempDir;

const READ: &str = "\n[transaction.t]\nsql = \"SELECT 1\"\n";

/// A plan of one role that runs transaction `t` of a workload in `folder`.
fn plan(folder: &Path, workload: &str, scenario: &str) -> Plan {
    std::fs::write(folder.join("w.toml"), format!("name = \"w\"\n{workload}")).unwrap();
    let toml = format!(
        "name = \"s\"\ntitle = \"?\"\n[[scenario]]\nname = \"one\"\nworkload = \"w.toml\"\n{scenario}\n\
         role.r = {{ run = \"t\", count = 1 }}\n"
    );
    let text = library::Text { file: "s.toml".into(), directory: Some(folder.to_path_buf()), toml };
    let study = library::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    resolve::resolve(&study, &text, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn checked(folder: &Path, workload: &str) -> Result<(), String> {
    compile(&mut plan(folder, workload, "")).map_err(|e| {
        assert!(e.is_bad_input(), "{e}");
        e.to_string()
    })
}

/// A folder with a database `app.db`.
fn app(sql: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    Connection::open(folder.path().join("app.db")).unwrap().execute_batch(sql).unwrap();
    folder
}

#[test]
fn nothing_of_a_study_reaches_another_file() {
    let folder = app("CREATE TABLE c(v); INSERT INTO c VALUES (1), (2), (3)");
    let app = folder.path().join("app.db");
    let before = std::fs::read(&app).unwrap();
    let other = folder.path().join("other.db").display().to_string();
    let schema = |sql: &str| format!("schema.sql = \"CREATE TABLE t(a); {sql}\"{READ}");
    let then = |sql: &str| format!("schema.sql = \"CREATE TABLE t(a)\"\ndata.then = \"{sql}\"{READ}");
    let transaction = |sql: &str| format!("schema.sql = \"CREATE TABLE t(a)\"\n[transaction.t]\nsql = \"{sql}\"");
    let invariant = |sql: &str| format!("{}\n[[invariant]]\nsql = \"{sql}\"\nequals = 0", schema(""));
    let attach = format!("ATTACH '{}' AS o", app.display());
    for (workload, place, words) in [
        (schema(&format!("{attach}; DELETE FROM o.c")), "schema: ", "data.from"),
        (schema(&format!("ATTACH '{other}' AS o; CREATE TABLE o.z(a)")), "schema: ", "ATTACH"),
        (schema(&format!("VACUUM INTO '{other}'")), "schema: ", "VACUUM INTO"),
        (then(&format!("{attach}; DELETE FROM o.c")), "data.then: ", "ATTACH"),
        (transaction(&attach), "transaction `t`: ", "ATTACH"),
        (transaction("DETACH o"), "transaction `t`: ", "DETACH"),
        (transaction(&format!("VACUUM INTO '{other}'")), "transaction `t`: ", "VACUUM INTO"),
        (invariant(&attach), "invariant ", "ATTACH"),
        (schema("PRAGMA journal_mode = WAL"), "schema: ", "into a profile"),
    ] {
        let error = checked(folder.path(), &workload).expect_err(&workload);
        assert!(error.contains(place) && error.contains(words) && error.lines().count() == 1, "{workload}: {error}");
    }
    checked(folder.path(), &transaction("VACUUM")).unwrap();
    assert_eq!(std::fs::read(&app).unwrap(), before);
    let mut names: Vec<_> = folder.path().read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["app.db", "w.toml"]);
}

#[test]
fn a_schema_that_does_not_end_is_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    let rows = format!(
        "schema.sql = \"CREATE TABLE t(a); {endless} INSERT INTO t SELECT i FROM n\"\n\
         data.then = \"{endless} UPDATE t SET a = (SELECT count(*) FROM n)\"{READ}"
    );
    checked(folder.path(), &rows).unwrap();
    // A statement that creates a table is executed, within the limit of memory.
    let table = format!("schema.sql = \"CREATE TABLE t AS {endless} SELECT zeroblob(1000000) FROM n\"{READ}");
    let error = checked(folder.path(), &table).unwrap_err();
    assert!(error.contains("schema: database or disk is full"), "{error}");
}

#[test]
fn tables_that_then_makes_are_known_and_those_it_drops_are_there_for_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let workload = r#"
schema.sql = "CREATE TABLE staged(a); CREATE TABLE t(a NOT NULL)"
data = { transaction = "stage", rows = 3, then = """
    INSERT INTO t SELECT max(a) FROM staged; CREATE TABLE base(n NOT NULL); INSERT INTO base SELECT max(a) FROM t;
    DROP TABLE staged""" }
[transaction.stage]
sql = "INSERT INTO staged VALUES (:a)"
param.a = { sequence = { start = 0 } }
[transaction.t]
sql = "UPDATE t SET a = (SELECT n FROM base)"
[[invariant]]
sql = "SELECT n FROM base"
equals = 2
"#;
    checked(folder.path(), workload).unwrap();
    let error =
        checked(folder.path(), &workload.replace("SELECT n FROM base\"\nequals", "SELECT n FROM bose\"\nequals"));
    assert!(error.unwrap_err().contains("no such table: bose"));
    let error =
        checked(folder.path(), &workload.replace("UPDATE t SET a = (SELECT n FROM base)", "DELETE FROM staged"));
    assert!(error.unwrap_err().contains("no such table: staged"));
}

const SEARCH: &str = "CREATE TABLE artist(id INTEGER PRIMARY KEY, name); CREATE INDEX by_name ON artist(name);
    CREATE VIRTUAL TABLE review USING fts5(text); CREATE VIRTUAL TABLE place USING rtree(id, x0, x1);
    CREATE VIRTUAL TABLE old USING fts4(text); CREATE VIEW v AS SELECT * FROM review;
    CREATE TRIGGER added AFTER INSERT ON artist BEGIN INSERT INTO review VALUES (new.name); END;
    INSERT INTO artist VALUES (1, 'one'); INSERT INTO place VALUES (1, 2, 3)";

/// VACUUM places virtual tables after their shadow tables.
#[test]
fn a_database_with_virtual_tables_is_one_to_start_from() {
    for vacuum in ["", "; VACUUM"] {
        let folder = app(&format!("{SEARCH}{vacuum}"));
        let workload = "schema.sql = \"CREATE TABLE more(a)\"\n[data]\nfrom = \"app.db\"\n\
            then = \"INSERT INTO review(review) VALUES('rebuild')\"\n[transaction.t]\n\
            sql = [\"SELECT rowid FROM review WHERE review MATCH :w\", \"SELECT id FROM place WHERE x0 < 3\",\n\
            \"INSERT INTO artist(name) VALUES (:w)\", \"SELECT * FROM old, more WHERE old MATCH :w\", \"SELECT count(*) FROM review_data\"]\n\
            param.w = { text = 3 }\n[[invariant]]\nsql = \"SELECT count(*) FROM v\"\nequals = 1";
        checked(folder.path(), workload).unwrap();
        let wrong = workload.replace("x0 < 3", "x9 < 3");
        assert!(checked(folder.path(), &wrong).unwrap_err().contains("no such column: x9"));
        let memory = compile(&mut plan(folder.path(), workload, "location = \"memory\"")).unwrap_err().to_string();
        assert!(memory.contains("cannot be copied into memory") && memory.contains("location = \"file\""), "{memory}");
    }
}

#[test]
fn what_a_database_needs_and_the_core_lacks_is_named() {
    for (sql, object, words) in [
        (
            "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('table', 'embedding', 'embedding', 0,
             'CREATE VIRTUAL TABLE embedding USING vec0(a)'); CREATE TABLE embedding_chunks(a)",
            "table `embedding`",
            "no such module: vec0",
        ),
        (
            "CREATE TABLE t(a); PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT 'index', 'i', 't', rootpage,
             'CREATE INDEX i ON t(a COLLATE mine)' FROM sqlite_schema WHERE name = 't'",
            "index `i`",
            "no such collation sequence: mine",
        ),
    ] {
        let folder = app(sql);
        let error = checked(folder.path(), &format!("data.from = \"app.db\"{READ}")).unwrap_err();
        for part in ["app.db", object, words, "measure a copy without it"] {
            assert!(error.contains(part) && error.lines().count() == 1, "{part}: {error}");
        }
    }
}

#[test]
fn a_transaction_that_only_reads_keeps_its_own_begin() {
    let folder = tempfile::tempdir().unwrap();
    let begin = |transaction: &str, scenario: &str| {
        let mut plan = plan(folder.path(), &format!("schema.sql = \"CREATE TABLE t(a)\"\n{transaction}"), scenario);
        compile(&mut plan).unwrap();
        plan.variants[0].trial.transactions[0].begin
    };
    let (one, two) = ("sql = \"SELECT a FROM t\"", "sql = [\"SELECT a FROM t\", \"SELECT 1\"]");
    let write = "sql = [\"INSERT INTO t VALUES (1)\", \"SELECT 1\"]";
    for (stated, sql, scenario, expected) in [
        ("", one, "", Begin::None),
        ("", one, "immediate", Begin::None),
        ("begin = \"deferred\"", one, "", Begin::Deferred),
        ("begin = \"deferred\"", one, "immediate", Begin::Deferred),
        ("begin = \"deferred\"", two, "immediate", Begin::Deferred),
        ("begin = \"deferred\"", write, "exclusive", Begin::Exclusive),
    ] {
        let transaction = format!("[transaction.t]\n{stated}\n{sql}\n");
        let scenario = if scenario.is_empty() { String::new() } else { format!("begin = \"{scenario}\"") };
        assert_eq!(begin(&transaction, &scenario), expected, "{transaction}{scenario}");
    }
}

#[test]
fn a_plan_that_is_compiled_again_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let workload = "schema.sql = \"CREATE TABLE t(a)\"\ndata = { transaction = \"fill\", rows = 1 }\n\
        [transaction.fill]\nsql = \"INSERT INTO t VALUES (1)\"\n[transaction.t]\nsql = \"SELECT a FROM t\"\n";
    let mut plan = plan(folder.path(), workload, "vary.prepare = [true, false]");
    compile(&mut plan).unwrap();
    let data = |variant: usize| plan.variants[variant].data.clone().unwrap();
    assert!(plan.variants.len() == 2 && data(0).transaction.unwrap().writes, "{plan:#?}");
    assert_eq!(data(0), data(1));
    let once = plan.clone();
    compile(&mut plan).unwrap();
    assert_eq!(plan, once);
}
