//! One workload for several database families: SQL, settings and errors by dialect.

use litelab_model::setting::Scope;
use litelab_model::{Options, Plan, Server};
use litelab_protocol::{Dialect, Source};

use crate::support::{self, dialects};

const WORKLOAD: &str = r#"
name = "w"
schema.sql.sqlite = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)"
schema.sql.postgres = "CREATE TABLE t(id bigint PRIMARY KEY, v text)"
schema.alternative.bare.sqlite = "CREATE TABLE t(id, v)"
schema.alternative.bare.mysql = "CREATE TABLE t(id BIGINT, v TEXT)"
[data]
transaction = "insert"
rows = 3
then = { sqlite = "ANALYZE", mysql = "ANALYZE TABLE t" }
[transaction.insert]
sql = "INSERT INTO t VALUES (:id, :v)"
param.id = { sequence = { start = 1 } }
param.v = { hex = 4 }
[transaction.claim]
sql.sqlite = { sql = "UPDATE t SET v = :worker WHERE id = (SELECT min(id) FROM t) RETURNING id", yields = ["id"] }
sql.mysql = [
    { sql = "SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", yields = ["id"] },
    { sql = { sqlite = "UPDATE t SET v = 0", mysql = "UPDATE t SET v = :worker, id = :id WHERE id = :id" } },
]
param.worker = "worker"
param.id = { yielded = "id" }
[[invariant]]
about = "rows are there"
sql.sqlite = "SELECT count(*) FROM t"
sql.postgres = "SELECT count(*)::int FROM t"
equals = "$data_rows + committed.insert"
"#;

const STUDY: &str = r#"
name = "s"
title = "t"
workload = "w.toml"
[[scenario]]
name = "one"
role.w = { run = ["insert", "claim"], count = 10 }
"#;

/// The plan of a study that ends with `more`, beside a workload and profiles.
fn plan(workload: &str, more: &str, profiles: &[(&str, &str)]) -> Result<Plan, String> {
    let files: Vec<_> = [("w.toml", workload)].into_iter().chain(profiles.iter().copied()).collect();
    let options = Options { dialects: dialects(), ..Options::default() };
    support::resolve_beside(&files, &format!("{STUDY}{more}"), &options)
}

fn wrong(more: &str, profiles: &[(&str, &str)], parts: &[&str]) {
    support::refused(plan(WORKLOAD, more, profiles), parts);
}

#[test]
fn each_driver_gets_the_sql_of_its_database() {
    let plan = plan(WORKLOAD, "vary.driver = ['rusqlite', 'my']\n", &[]).expect("it resolves");
    let [sqlite, mysql] = plan.variants.as_slice() else { panic!("two variants") };
    assert_eq!((sqlite.dialect, sqlite.server), (Dialect::Sqlite, None));
    assert_eq!((mysql.dialect, mysql.server), (Dialect::Mysql, Some(Server::Mariadb)));
    assert_eq!((sqlite.profile.as_str(), mysql.profile.as_str()), ("wal-normal", "as-it-comes"));
    let sql = |variant: &litelab_model::Variant| -> Vec<String> {
        variant.trial.transactions.iter().flat_map(|t| &t.statements).map(|s| s.sql.clone()).collect()
    };
    assert_eq!(sql(sqlite)[0], "INSERT INTO t VALUES (?1, ?2)");
    assert_eq!(sqlite.trial.transactions[1].statements.len(), 1);
    assert_eq!(
        sql(mysql),
        [
            "INSERT INTO t VALUES (?, ?)",
            "SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
            "UPDATE t SET v = ?, id = ? WHERE id = ?"
        ]
    );
    // Parameters belong to the transaction, whichever of them its statements use; MySQL's have no number.
    for variant in [sqlite, mysql] {
        let params = &variant.trial.transactions[1].params;
        assert_eq!(params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["worker", "id"]);
        assert_eq!(params[0].source, Source::Worker);
    }
    assert_eq!(mysql.trial.transactions[1].statements[1].bind, [0, 1, 1]);
    assert_eq!(
        mysql.schema, "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)",
        "SQLite's, where there is none of its own"
    );
    assert_eq!(mysql.data.as_ref().and_then(|d| d.then.as_deref()), Some("ANALYZE TABLE t"));
    assert_eq!(mysql.invariants[0].sql, "SELECT count(*) FROM t");
    assert_eq!(
        sqlite.data.as_ref().map(|d| &d.transaction.as_ref().expect("data").statements[0].bind),
        Some(&vec![0, 1])
    );
    assert!(mysql.trial.connection.read_back.contains(&"innodb_flush_log_at_trx_commit".to_owned()));
    assert!(!mysql.trial.connection.read_back.contains(&"journal_mode".to_owned()));
}

#[test]
fn a_driver_without_sql_of_its_own_is_told_what_to_add() {
    let only = WORKLOAD.replace("sql.sqlite = { sql", "sql.postgres = { sql");
    support::refused(
        plan(&only, "driver = 'rusqlite'\n", &[]),
        &["transaction `claim`", "no SQL for SQLite: add `sqlite`"],
    );
    let typo = plan(&WORKLOAD.replace("sql.mysql = [", "sql.mysqll = ["), "", &[]).expect_err("a typo");
    assert!(typo.contains("w.toml:") && typo.contains("did you mean `mysql`?"), "{typo}");
    let variant = plan(WORKLOAD, "schema = 'bare'\nvary.driver = ['my', 'pg']\n", &[]).expect("it resolves");
    assert_eq!(variant.variants[0].schema, "CREATE TABLE t(id BIGINT, v TEXT)");
    assert_eq!(variant.variants[1].schema, "CREATE TABLE t(id, v)");
}

#[test]
fn a_parameter_that_no_dialect_uses_is_found() {
    let unused = WORKLOAD.replace("id = :id WHERE id = :id", "id = 1");
    support::refused(plan(&unused, "", &[]), &["param `id` is used by no statement"]);
    assert!(plan(WORKLOAD, "driver = 'rusqlite'\n", &[]).is_ok(), "one that only MySQL's statements use is none");
}

const SAFE: &str = r#"
name = "safe"
dialect = "postgres"
[setting]
synchronous_commit = "on"
fsync = true
lock_timeout = "10s"
[retry]
attempts = 5
backoff = "1ms"
"#;

#[test]
fn settings_are_the_sessions_or_the_servers() {
    let plan = plan(
        WORKLOAD,
        "driver = 'go:postgres'\nprofile = 'safe.toml'\nvary.'setting.synchronous_commit' = ['on', 'off']\n",
        &[("safe.toml", SAFE)],
    )
    .expect("it resolves");
    let variant = &plan.variants[1];
    let sql: Vec<&str> = variant.trial.connection.settings.iter().map(|setting| setting.sql.as_str()).collect();
    assert_eq!(sql, ["SET SESSION synchronous_commit = 'off'", "SET SESSION lock_timeout = '10s'"]);
    let of_server = variant.settings.iter().filter(|setting| setting.scope == Scope::Server);
    assert_eq!(of_server.map(|setting| (&*setting.name, &*setting.value)).collect::<Vec<_>>(), [("fsync", "on")]);
    assert_eq!(variant.settings.len(), 3);
    for name in ["synchronous_commit", "fsync", "lock_timeout", "wal_sync_method"] {
        assert_eq!(variant.trial.connection.read_back.iter().filter(|n| *n == name).count(), 1, "{name}");
    }
    assert_eq!(variant.trial.retry.on, ["serialization_failure", "deadlock_detected"]);
    // A stored plan is readable again.
    let json = serde_json::to_value(&plan).expect("JSON");
    assert_eq!(serde_json::from_value::<Plan>(json).ok(), Some(plan));
}

#[test]
fn a_profile_of_another_database_is_refused() {
    let safe = [("safe.toml", SAFE)];
    wrong(
        "driver = 'rusqlite'\nprofile = 'safe.toml'\n",
        &safe,
        &["profile `safe` is one of postgres, and driver `rusqlite` is one of sqlite"],
    );
    wrong("driver = 'my'\nprofile = 'wal-full'\n", &[], &["dialect = \"mysql\"", "as-it-comes"]);
    assert!(plan(WORKLOAD, "driver = 'pg'\nprofile = 'as-it-comes'\n", &[]).is_ok());
    // A profile with nothing but a retry policy applies to all, with the errors of each dialect.
    let patient = [("patient.toml", "name = 'patient'\n[retry]\nattempts = 2\nbackoff = '1ms'\n")];
    let plan = plan(WORKLOAD, "profile = 'patient.toml'\nvary.driver = ['rusqlite', 'pg', 'my']\n", &patient);
    let on: Vec<String> = plan.expect("it resolves").variants.iter().map(|a| a.trial.retry.on[0].clone()).collect();
    assert_eq!(on, ["SQLITE_BUSY", "serialization_failure", "ER_LOCK_DEADLOCK"]);
}

#[test]
fn wrong_profiles_say_what_is_wrong_and_where() {
    let profile = |text: &str, parts: &[&str]| wrong("driver = 'pg'\nprofile = 'p.toml'\n", &[("p.toml", text)], parts);
    profile("name = 'p'\ndialect = 'postgres'\n[pragma]\nsynchronous = 'full'\n", &["[pragma] is SQLite's"]);
    let settings = [("p.toml", "name = 'p'\n[setting]\nfsync = 'on'\n")];
    wrong("driver = 'rusqlite'\nprofile = 'p.toml'\n", &settings, &["[setting] is for servers"]);
    profile("name = 'p'\ndialect = 'postgres'\n[setting]\nfsyncc = 'on'\n", &["p.toml:4:1", "did you mean `fsync`?"]);
    profile("name = 'p'\ndialect = 'postgress'\n[setting]\nfsync = 'on'\n", &["did you mean `postgres`?"]);
    let retry = "name = 'p'\ndialect = 'postgres'\n[setting]\nfsync = 'on'\n[retry]\nattempts = 2\nbackoff = 1\n";
    profile(&format!("{retry}on = ['deadlock_detectd']\n"), &["retry.on", "did you mean `deadlock_detected`?"]);
    wrong("driver = 'rusqlite'\nvary.'setting.fsync' = ['on']\n", &[], &["setting.fsync", "`pragma.NAME`"]);
    wrong("driver = 'pg'\nvary.'pragma.synchronous' = ['full']\n", &[], &["pragma.synchronous", "`setting.NAME`"]);
}

#[test]
fn a_server_is_one_that_the_driver_reaches() {
    let servers = |more: &str| -> Vec<Option<Server>> {
        plan(WORKLOAD, more, &[])
            .unwrap_or_else(|e| panic!("{e}"))
            .variants
            .iter()
            .map(|variant| variant.server)
            .collect()
    };
    assert_eq!(
        servers("driver = 'my'\nvary.server = ['mariadb', 'galera']\n"),
        [Some(Server::Mariadb), Some(Server::Galera)]
    );
    // A server set by the scenario does not apply to SQLite.
    assert_eq!(servers("server = 'galera'\nvary.driver = ['rusqlite', 'my']\n"), [None, Some(Server::Galera)]);
    wrong("driver = 'pg'\nserver = 'galera'\n", &[], &["server `galera` understands mysql"]);
    wrong("driver = 'rusqlite'\nvary.server = ['postgres']\n", &[], &["driver `rusqlite` is one of sqlite"]);
    wrong("driver = 'pg'\nvary.server = ['postgre']\n", &[], &["did you mean `postgres`?"]);
    wrong("driver = 'pg'\nlocation = 'memory-shared'\n", &[], &["no effect on server `postgres`"]);
    let from = WORKLOAD.replace("[data]", "[data]\nfrom = 'app.db'");
    support::refused(plan(&from, "driver = 'pg'\n", &[]), &["data.from", "app.db"]);
}
