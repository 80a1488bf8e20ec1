//! `litelab run` on database servers, with the drivers of the Go runner. Without the runner or a server a test prints a
//! line and passes.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::common::servers::{built, nothing_is_left, possible, processes, trials};
use crate::common::{self, ends, litelab, refused, run, send, until};
use litelab_model::Server;
use litelab_record::outcome::{FailureKind, Outcome};
use litelab_servers::Kind;

const WORKLOAD: &str = r#"
name = "work"
content = ["item"]

[schema.sql]
sqlite = "CREATE TABLE item(id INTEGER PRIMARY KEY, n INTEGER NOT NULL, x REAL, v TEXT NOT NULL)"
postgres = "CREATE TABLE item(id bigint PRIMARY KEY, n int NOT NULL, x double precision, v text NOT NULL)"
mysql = "CREATE TABLE item(id BIGINT PRIMARY KEY, n INT NOT NULL, x DOUBLE, v VARCHAR(200) NOT NULL)"

[data]
transaction = "insert"
rows = 500

[transaction.insert]
sql = "INSERT INTO item(id, n, x, v) VALUES (:id, :n, :x, :v)"
param.id = { sequence = { start = 1 } }
param.n = { uniform = [-9, 1000] }
param.x = { choice = [0.5, 1.25, -3.0] }
param.v = { text = 40 }

[transaction.add]
sql = "INSERT INTO item(id, n, x, v) VALUES (:id, :n, NULL, :v)"
rows = 5
param.id = { sequence = { start = "$data_rows + 1" } }
param.n = { uniform = [-9, 1000] }
param.v = { text = 40 }

[transaction.change]
sql = [
    { sql = "SELECT n FROM item WHERE id = :id", yields = ["n"] },
    "UPDATE item SET n = n + 1 WHERE id = :id AND n = :n",
]
param.id = { sequence = { start = 1 } }
param.n = { yielded = "n" }

[[invariant]]
about = "every row that was acknowledged is there"
sql = "SELECT count(*) FROM item"
equals = "$data_rows + 5 * committed.add"
"#;

const STUDY: &str = r#"
name = "three"
title = "The same work on three databases"
rounds = 2
workload = "work.toml"

[[scenario]]
name = "right"
role.w = { run = ["add", "change"], workers = 1, count = 40 }
metrics = ["throughput", "cpu", "database_size"]
variant = [
    { driver = "rusqlite", profile = "wal-full" },
    { driver = "go:postgres", profile = "postgres.toml" },
    { driver = "go:mysql", profile = "mysql.toml" },
]

[[scenario]]
name = "wrong"
driver = "go:postgres"
role.w = { run = "add", workers = 2, count = 4 }
invariant = [{ about = "one too many", sql = "SELECT count(*) FROM item", equals = "$data_rows + 5 * committed.add + 1" }]
"#;

/// A folder with the study and its files.
fn folder(study: &str) -> tempfile::TempDir {
    let profile = |name: &str, settings: &str| {
        let retry = "[retry]\nattempts = 5\nbackoff = '1ms'\n";
        format!("name = '{name}'\ndialect = '{name}'\n[setting]\n{settings}{retry}")
    };
    let postgres = profile("postgres", "synchronous_commit = 'off'\nfsync = false\nlock_timeout = '10s'\n");
    let mysql = profile("mysql", "innodb_flush_log_at_trx_commit = 2\ninnodb_lock_wait_timeout = 10\n");
    common::folder(&[
        ("work.toml", WORKLOAD),
        ("three.toml", study),
        ("postgres.toml", &postgres),
        ("mysql.toml", &mysql),
    ])
}

#[test]
fn one_workload_leaves_the_same_rows_on_three_databases() {
    if !possible(&[Kind::Postgres, Kind::Mariadb]) {
        return;
    }
    let folder = folder(STUDY);
    let dir = folder.path();
    let shown = ends(&run(dir, &["run", "three.toml", "--rounds", "2", "-o", "run.db", "--all"]), 1);
    nothing_is_left(dir);
    let (info, trials) = trials(&dir.join("run.db"));
    // Two rounds of three variants; the variant that violates its invariant in the first round has no second round.
    assert_eq!(trials.len(), 7);
    let mut contents = Vec::new();
    for trial in &trials {
        match &trial.outcome {
            Outcome::Measured(m) => {
                assert_eq!(m.on_server, trial.variant != 0);
                assert!(m.result.operations.iter().all(|o| o.failed == 0), "{:?}", m.result.operations);
                contents.push(m.content["item"].clone());
            }
            // Negative control: litelab's own connection finds the violation.
            Outcome::Failed(failure) => {
                assert_eq!((trial.variant, failure.kind), (3, FailureKind::Invariant), "{}", failure.reason);
                assert!(failure.reason.contains("found 520, expected 521"), "{}", failure.reason);
            }
        }
    }
    assert_eq!(contents.len(), 6);
    contents.dedup();
    assert_eq!(contents.len(), 1, "all six hold the same rows: {contents:?}");

    let version = |server| info.servers[&server].version.clone();
    assert!(version(Server::Postgres).starts_with("PostgreSQL ") && version(Server::Mariadb).starts_with("MariaDB "));
    assert!(info.servers.values().all(|s| !s.own && s.url.contains("127.0.0.1")));
    for part in [
        version(Server::Postgres).as_str(),
        "started for the run",
        "file at risk",
        "recent commits at risk",
        "safe",
        "runner's alone",
    ] {
        assert!(shown.contains(part), "`{part}` is not in:\n{shown}");
    }
    let harness: Vec<&str> = info.calibrations.iter().map(|c| c.runner.as_str()).collect();
    assert!(
        harness.contains(&"go") && harness.contains(&"rusqlite"),
        "the harness's own cost is known of both: {harness:?}"
    );
    // The sizes of a server's files are unknown.
    let row = |driver: &str| shown.lines().find(|l| l.contains(driver) && l.contains("/s")).unwrap().to_owned();
    assert!(row("rusqlite").contains("iB") && row("go:postgres").contains('–'), "{shown}");
}

#[test]
fn a_server_that_is_not_installed_costs_its_own_variants_only() {
    let elsewhere = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec"];
    if !built() || elsewhere.iter().any(|f| Path::new(f).join("mariadb-install-db").exists()) {
        return;
    }
    let alone = STUDY.replace("    { driver = \"go:postgres\", profile = \"postgres.toml\" },\n", "");
    let folder = folder(alone.split("[[scenario]]\nname = \"wrong\"").next().unwrap());
    let output = litelab(folder.path(), &["run", "three.toml", "--rounds", "2", "-o", "run.db", "--all"])
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let shown = ends(&output, 0);
    assert!(
        shown.contains("1 variant skipped: mariadb is not installed") && shown.contains("mariadb-server"),
        "{shown}"
    );
    let (info, trials) = trials(&folder.path().join("run.db"));
    assert_eq!((trials.len(), info.servers.len()), (2, 0));
    nothing_is_left(folder.path());
}

#[test]
fn an_interrupted_run_leaves_no_server_and_goes_on() {
    if !possible(&[Kind::Postgres]) {
        return;
    }
    let study = "name = 'three'\ntitle = '?'\nrounds = 2\nworkload = 'work.toml'\n[[scenario]]\nname = 'one'\n\
                 driver = 'go:postgres'\nrole.w = { run = 'add', workers = 2, for = '2s' }\n";
    let folder = folder(study);
    let dir = folder.path();
    let arguments = ["run", "three.toml", "--rounds", "2", "-o", "run.db", "--no-calibration"];
    let mut child = litelab(dir, &arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("round 1/2 stored")), "its first round is done");
    assert!(processes(dir) > 0, "its server runs");
    send("-INT", &[child.id()]);
    let code = child.wait().unwrap().code();
    nothing_is_left(dir);
    if code == Some(0) {
        println!("skipped: on this busy machine the run was over before it could be interrupted");
        return;
    }
    assert_eq!(code, Some(130));

    ends(&run(dir, &["run", "--resume", "run.db"]), 0);
    let (_, trials) = trials(&dir.join("run.db"));
    assert_eq!(trials.iter().filter(|t| matches!(t.outcome, Outcome::Measured(_))).count(), 2);
    nothing_is_left(dir);
}

#[test]
fn a_server_of_the_users_is_left_as_it_was() {
    if !possible(&[Kind::Postgres]) {
        return;
    }
    let study = "name = 'three'\ntitle = '?'\nrounds = 1\nworkload = 'work.toml'\n[[scenario]]\nname = 'one'\n\
                 driver = 'go:postgres'\nrole.w = { run = 'add', workers = 2, count = 10 }\n";
    let folder = folder(study);
    let dir = folder.path();
    let up = ends(&run(dir, &["servers", "up", "postgres"]), 0);
    let url = up.lines().last().unwrap();
    let mut admin = litelab_servers::Admin::connect(url).unwrap();
    let mut schemas =
        || admin.number("public", "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'litelab%'").unwrap();
    let given = format!("postgres={url}");
    let shown = ends(&run(dir, &["run", "three.toml", "-o", "run.db", "--url", &given, "--all"]), 0);
    assert!(shown.contains("(your own)"), "{shown}");
    assert_eq!(schemas(), 0.0, "its schemas are dropped");
    let (info, _) = trials(&dir.join("run.db"));
    let password = url.split("litelab:").nth(1).and_then(|rest| rest.split('@').next()).unwrap();
    let record = &info.servers[&Server::Postgres];
    assert!(record.own && !record.url.contains(password), "{record:?}");
    let bytes = std::fs::read(dir.join("run.db")).unwrap();
    assert!(!bytes.windows(password.len()).any(|w| w == password.as_bytes()), "the password is nowhere in the file");

    // The run goes on with this server only: another version or another url is refused.
    let run_file = rusqlite::Connection::open(dir.join("run.db")).unwrap();
    run_file.execute("DELETE FROM run WHERE key = 'finished'", ()).unwrap();
    for (member, other) in [("url", "postgres://me@db/app"), ("version", "PostgreSQL 1.0")] {
        let path = format!("$.postgres.{member}");
        let sql = "UPDATE run SET value = json_set(value, ?1, ?2) WHERE key = 'servers'";
        assert_eq!(run_file.execute(sql, [&*path, other]).unwrap(), 1);
        let line = refused(dir, &["run", "--resume", "run.db", "--url", &given]);
        assert!(line.contains(&format!("server `postgres` was {other} when this run began")), "{line}");
    }
    drop(run_file);

    // fsync applies to the whole server, whose settings litelab must not change.
    let profile = study.replace("driver = 'go:postgres'", "driver = 'go:postgres'\nprofile = 'postgres.toml'");
    std::fs::write(dir.join("three.toml"), profile).unwrap();
    let line = refused(dir, &["run", "three.toml", "-o", "other.db", "--url", &given]);
    assert!(line.contains("`fsync` is on on your server"), "{line}");
    assert_eq!(schemas(), 0.0);
    ends(&run(dir, &["servers", "down", "postgres"]), 0);
    until("it is down", || processes(dir) == 0);
}

#[test]
fn a_wrong_url_is_one_line() {
    let folder = folder(STUDY);
    let line = refused(folder.path(), &["run", "three.toml", "--url", "mysql=mysql://me:secret@localhost:notaport"]);
    assert!(line.contains("--url: ") && !line.contains("secret"), "{line}");
}
