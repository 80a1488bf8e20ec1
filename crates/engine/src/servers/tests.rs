//! Tests of schemas, settings and statements on real servers, if they are installed.

use std::path::Path;

use litelab_servers::Admin;

use super::*;
use crate::verify::Contents;

const WORKLOAD: &str = r#"
name = "w"
content = ["t"]
schema.sql.sqlite = "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, x REAL, v TEXT)"
schema.sql.postgres = "CREATE TABLE t(id bigint PRIMARY KEY, n int, x double precision, v text); CREATE INDEX t_n ON t(n)"
schema.sql.mysql = "CREATE TABLE t(id BIGINT PRIMARY KEY, n INT, x DOUBLE, v TEXT); CREATE INDEX t_n ON t(n)"
[data]
transaction = "insert"
rows = 1234
[transaction.insert]
sql = "INSERT INTO t(id, n, x, v) VALUES (:id, :n, :x, :v)"
param.id = { sequence = { start = 1 } }
param.n = { uniform = [-5, 5] }
param.x = { choice = [0.5, 1.25] }
param.v = { text = 12 }
[transaction.read]
sql = "SELECT v FROM t WHERE id = :id"
param.id = { uniform = [1, 1234] }
[[invariant]]
about = "rows are there"
sql = "SELECT count(*) FROM t"
equals = "$data_rows + committed.insert"
"#;

/// A plan with one variant per driver; `change` edits the workload.
fn plan(drivers: &str, change: impl Fn(&str) -> String) -> Plan {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.toml"), change(WORKLOAD)).unwrap();
    let profile = |name: &str, rest: &str| std::fs::write(folder.path().join(name), rest).unwrap();
    profile("unsafe.toml", "name = 'unsafe'\ndialect = 'postgres'\n[setting]\nfsync = 'off'\n");
    let toml = format!(
        "name = 's'\ntitle = '?'\n[[scenario]]\nname = 'one'\nworkload = 'w.toml'\nrole.r = {{ run = ['insert', 'read'], count = 1 }}\n{drivers}"
    );
    crate::testkit::plan(Some(folder.path()), &toml)
}

/// The servers of a plan; `None`, with a printed line, if one of them is not installed.
fn provided(plan: &mut Plan, directory: &Path) -> Option<Servers> {
    let mut servers = Servers::new(directory, Urls::default());
    servers.provide(plan, None).unwrap_or_else(|e| panic!("{e}"));
    if let Some(reason) = plan.variants.iter().find_map(|variant| variant.skipped.as_ref()) {
        eprintln!("skipped: {reason}");
        return None;
    }
    Some(servers)
}

/// A folder that the account of a server may enter.
fn folder() -> tempfile::TempDir {
    let mut builder = tempfile::Builder::new();
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755));
    builder.tempdir().unwrap()
}

#[test]
fn every_database_holds_the_same_rows_and_its_schema_is_dropped() {
    let folder = folder();
    let mut plan = plan("vary.driver = ['rusqlite', 'pg', 'my']", str::to_owned);
    let Some(servers) = provided(&mut plan, folder.path()) else { return };
    compile(&plan, &servers).unwrap_or_else(|e| panic!("{e}"));
    let [sqlite, postgres, mysql] = plan.variants.as_slice() else { panic!("three variants") };
    let prepared = crate::prepare::Prepared::new(folder.path()).file(sqlite, &mut |_, _| {}).unwrap();
    let wanted = crate::verify::Files::open(sqlite, &[prepared]).and_then(|mut f| f.content(0, "t")).unwrap();
    for variant in [postgres, mysql] {
        let mut schemas = servers.schemas(variant).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(schemas.databases().len(), 1);
        assert_eq!(schemas.number(0, "SELECT count(*) FROM t"), Ok(1234.0));
        assert_eq!(schemas.content(0, "t").as_ref(), Ok(&wanted), "{}", variant.dialect);
        let result = litelab_protocol::TrialResult::default();
        let content = crate::verify::databases(variant, &mut schemas, &result).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(content["t"], wanted);
        // An additional row violates the invariant and changes the hash.
        let [litelab_protocol::Database::Server { schema: name, .. }] = &schemas.databases()[..] else { panic!("one") };
        schemas.server().script(name, "INSERT INTO t VALUES (0, 0, 0, '')").unwrap();
        let broken = crate::verify::databases(variant, &mut schemas, &result).unwrap_err();
        assert!(broken.contains("found 1235, expected 1234"), "{broken}");
        assert_ne!(schemas.content(0, "t").as_ref(), Ok(&wanted));
        drop(schemas);
        let mut other = servers.schemas(&Variant { databases: 2, ..variant.clone() }).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            [0, 1].map(|i| other.content(i, "t").as_ref() == Ok(&wanted)),
            [true, true],
            "each has its own rows"
        );
        assert!(other.server().prepare_check(name, "SELECT * FROM t").is_err(), "it was dropped");
    }
}

#[test]
fn mistakes_are_found_by_the_server_before_any_trial() {
    let folder = folder();
    let mut right = plan("driver = 'pg'", str::to_owned);
    let Some(servers) = provided(&mut right, folder.path()) else { return };
    let cases = [
        (("SELECT v FROM", "SELECT vv FROM"), "transaction `read`: ", "vv"),
        (
            ("CREATE INDEX t_n ON t(n)\"\nschema.sql.mysql", "CREATE INDEX t_n ON t(m)\"\nschema.sql.mysql"),
            "schema: ",
            "m",
        ),
        (("SELECT count(*) FROM t", "SELECT count(*), 1 FROM t"), "invariant `rows are there`: ", "one column"),
        (("SELECT count(*) FROM t", "DELETE FROM t"), "invariant `rows are there`: ", "one column"),
        (("content = [\"t\"]", "content = [\"other\"]"), "content: ", "other"),
    ];
    for ((from, to), place, part) in cases {
        let plan = plan("driver = 'pg'", |text| text.replace(from, to));
        let error = compile(&plan, &servers).expect_err(to);
        let text = error.to_string();
        assert!(error.is_bad_input() && text.starts_with("one/only: "), "{text}");
        assert!(text.contains(place) && text.contains(part) && !text.contains('\n'), "{text}");
    }
    compile(&right, &servers).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_setting_of_the_server_holds_for_the_variants_that_ask_for_it() {
    let folder = folder();
    let variants =
        "driver = 'pg'\n[[scenario.variant]]\nprofile = 'unsafe.toml'\n[[scenario.variant]]\nprofile = 'as-it-comes'\n";
    let mut plan = plan(variants, str::to_owned);
    let Some(servers) = provided(&mut plan, folder.path()) else { return };
    let [unsafe_variant, safe] = plan.variants.as_slice() else { panic!("two variants") };
    let fsync = |variant| {
        let mut schemas = servers.schemas(variant).unwrap_or_else(|e| panic!("{e}"));
        servers.settle(variant, &mut schemas).unwrap_or_else(|e| panic!("{e}"));
        let url = servers.targets[&Server::Postgres].url();
        Admin::connect(url).and_then(|mut admin| admin.setting("fsync")).unwrap()
    };
    assert_eq!([safe, unsafe_variant, unsafe_variant, safe].map(fsync), ["on", "off", "off", "on"]);

    // The same server, given as a server of the user: its settings are compared and never set.
    let url = servers.targets[&Server::Postgres].url().to_owned();
    let mut urls = Urls::default();
    urls.add(&format!("postgres={url}")).unwrap();
    let mut own = Servers::new(folder.path(), urls);
    own.provide(&mut plan.clone(), None).unwrap_or_else(|e| panic!("{e}"));
    let record = &own.records()[&Server::Postgres];
    assert!(record.own && !servers.records()[&Server::Postgres].own);
    assert!(record.version.starts_with("PostgreSQL ") && record.url.starts_with("postgres://"), "{record:?}");
    assert_ne!(record.url, url, "the password is not kept");
    let error = compile(&plan, &own).expect_err("fsync is on there").to_string();
    assert!(error.contains("`fsync` is on on your server") && error.contains("asks for off"), "{error}");
    assert_eq!(fsync(safe), "on");
}

#[test]
fn a_server_that_does_not_answer_is_one_line() {
    let folder = folder();
    let mut plan = plan("driver = 'pg'", str::to_owned);
    let mut urls = Urls::default();
    // No server listens on port 1.
    urls.add("postgres=postgres://me:secret@127.0.0.1:1/db").unwrap();
    let error = Servers::new(folder.path(), urls).provide(&mut plan, None).expect_err("nobody is there");
    let text = error.to_string();
    assert!(error.is_bad_input() && text.contains("127.0.0.1:1") && !text.contains("secret"), "{text}");
}

/// Workload `pgbench` creates the same rows as `pgbench -i`, byte for byte.
#[test]
fn workload_pgbench_is_what_pgbench_makes() {
    let folder = folder();
    let toml = "name = 's'\ntitle = '?'\nworkload = 'pgbench'\ndriver = 'pg'\nvars.scale = 2\n[[scenario]]\nname = 'one'\nrole.r = { run = 'tpcb-like', count = 1 }\n";
    let mut plan = crate::testkit::plan(None, toml);
    let Some(servers) = provided(&mut plan, folder.path()) else { return };
    let mut program = std::process::Command::new(
        litelab_servers::instance::binaries::find(Server::Postgres)
            .unwrap_or_else(|e| panic!("{e}"))
            .server
            .with_file_name("pgbench"),
    );
    let url = servers.targets[&Server::Postgres].url().to_owned();
    let mut admin = Admin::connect(&url).unwrap_or_else(|e| panic!("{e}"));
    admin.create_schema("original").unwrap_or_else(|e| panic!("{e}"));
    program.args(["-i", "-q", "-s", "2", &url]).env("PGOPTIONS", "-c search_path=original");
    let Ok(output) = program.output() else {
        eprintln!("skipped: pgbench is not installed");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    compile(&plan, &servers).unwrap_or_else(|e| panic!("{e}"));
    let mut schemas = servers.schemas(&plan.variants[0]).unwrap_or_else(|e| panic!("{e}"));
    for table in ["branches", "tellers", "accounts"] {
        // The hash covers the rows in the order of the key.
        let table = format!("pgbench_{table}");
        let original = admin.content_hash("original", &table).unwrap_or_else(|e| panic!("{table}: {e}"));
        assert_eq!(schemas.content(0, &table).as_ref(), Ok(&original), "{table}");
    }
    assert_eq!(admin.number("original", "SELECT count(*) FROM pgbench_accounts").ok(), Some(200_000.0));
    let shape = |schema: &str| {
        format!(
            "SELECT count(*) FROM (SELECT table_name, ordinal_position, column_name, data_type, character_maximum_length, \
             is_nullable FROM information_schema.columns WHERE table_schema = 'original' EXCEPT SELECT table_name, \
             ordinal_position, column_name, data_type, character_maximum_length, is_nullable FROM \
             information_schema.columns WHERE table_schema = '{schema}') AS differing"
        )
    };
    let [litelab_protocol::Database::Server { schema, .. }] = &schemas.databases()[..] else { panic!("one") };
    assert_eq!(admin.number("original", &shape(schema)).ok(), Some(0.0), "columns");
    assert_eq!(admin.number("original", &shape("none")).ok(), Some(17.0), "all of them differ from nothing");
}
