//! A failure of a server gives an error line or a failed trial with a reason, and never a run that hangs: a wrong url,
//! a server that dies or stops during a trial, one without free connections. Covers every installed driver of a server.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::common::servers::{children, family, installed, is_built, nothing_is_left, states, trials};
use crate::common::{self, ends, litelab, refused, send, until};
use litelab_record::outcome::{Failure, FailureKind, Outcome, TrialRecord};
use litelab_servers::{Instance, Kind};

const WORKLOAD: &str = r#"
name = "work"
[schema.sql]
sqlite = "CREATE TABLE item(id INTEGER PRIMARY KEY)"
postgres = "CREATE TABLE item(id bigint PRIMARY KEY)"
mysql = "CREATE TABLE item(id BIGINT PRIMARY KEY)"
[transaction.add]
sql = "INSERT INTO item(id) VALUES (:id)"
param.id = { sequence = {} }
"#;

/// Drivers, their server, and a word of their runner's command line.
const DRIVERS: [(&str, Kind, &str); 3] = [
    ("go:postgres", Kind::Postgres, "litelab-runner-go"),
    ("go:mysql", Kind::Mariadb, "litelab-runner-go"),
    ("python:psycopg", Kind::Postgres, "main.py"),
];

/// Tests each installed driver, all in parallel because the tests mostly wait.
fn each(test: impl Fn(&str, Kind, &str) + Sync) {
    let runner = |driver: &str| match driver.split(':').next() {
        Some("go") => is_built("go", "litelab-runner-go"),
        _ => is_built("python", ".venv/bin/python"),
    };
    let here = DRIVERS.into_iter().filter(|(driver, kind, _)| installed(&[*kind]) && runner(driver));
    std::thread::scope(|scope| {
        let test = &test;
        for (driver, kind, program) in here {
            scope.spawn(move || test(driver, kind, program));
        }
    });
}

/// A study of one variant with `rounds` rounds.
fn folder(driver: &str, role: &str, rounds: u32) -> tempfile::TempDir {
    let study = format!(
        "name = 'failing'\ntitle = '?'\nrounds = {rounds}\nworkload = 'work.toml'\n[[scenario]]\nname = 'one'\n\
         driver = '{driver}'\nrole.w = {{ run = 'add', {role} }}\n"
    );
    common::folder(&[("work.toml", WORKLOAD), ("failing.toml", &study)])
}

const RUN: [&str; 5] = ["run", "failing.toml", "-o", "run.db", "--no-calibration"];

/// Starts a run and waits until the runner of its first trial has done part of its work.
fn begin(dir: &Path, program: &str) -> Child {
    let child = litelab(dir, &RUN).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("its runner is at work", || {
        // The first process of the runner only describes itself.
        children(child.id(), program).iter().any(|pid| {
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            command.ends_with(b"run\0")
        })
    });
    std::thread::sleep(Duration::from_millis(1_500));
    child
}

/// Failures of a run that ended by itself after a failed trial; asserts that no process or file is left.
fn failures(dir: &Path, child: Child) -> (Vec<Failure>, usize) {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), None);
    ends(&output, 1);
    nothing_is_left(dir);
    let (_, trials) = trials(&dir.join("run.db"));
    let failure = |trial: &TrialRecord| match &trial.outcome {
        Outcome::Failed(failure) => Some((**failure).clone()),
        Outcome::Measured(_) => None,
    };
    (trials.iter().filter_map(failure).collect(), trials.len())
}

#[test]
fn a_server_that_dies_amid_a_trial_is_a_row_and_the_run_goes_on() {
    each(|driver, _, program| {
        let folder = folder(driver, "workers = 2, for = '20s'", 2);
        let dir = folder.path();
        let child = begin(dir, program);
        let state = states(&dir.join("litelab-runs")).pop().unwrap();
        send("-KILL", &[state.nodes[0].process.as_ref().unwrap().pid]);
        let (failures, all) = failures(dir, child);
        // The next trial starts on the restarted server.
        assert_eq!((failures.len(), all), (1, 2), "{driver}: {failures:?}");
        // Its workers try to reconnect for ten seconds.
        let first = &failures[0];
        assert_eq!(first.kind, FailureKind::Refused, "{driver}: {first:?}");
        assert!(
            first.reason.contains("CONNECTION_") || first.reason.contains("cannot_connect_now"),
            "{driver}: {first:?}"
        );
    });
}

#[test]
fn a_server_that_stops_amid_a_trial_is_waited_for_no_longer_than_is_said() {
    each(|driver, _, program| {
        let folder = folder(driver, "workers = 2, for = '120s'", 1);
        let dir = folder.path();
        let child = begin(dir, program);
        let state = states(&dir.join("litelab-runs")).pop().unwrap();
        let family = family(&state);
        send("-STOP", &family);
        let (failures, all) = failures(dir, child);
        assert_eq!((failures.len(), all), (1, 1), "{driver}: {failures:?}");
        let failure = &failures[0];
        assert_eq!(failure.kind, FailureKind::Refused, "{driver}: {failure:?}");
        assert!(failure.reason.contains("CONNECTION_TIMEOUT"), "{driver}: {failure:?}");
        // No process of the stopped server is left.
        let left: Vec<_> = family.iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).collect();
        assert!(left.is_empty(), "{driver}: {left:?}");
    });
}

#[test]
fn a_server_without_a_connection_left_is_a_row_that_names_it() {
    each(|driver, kind, _| {
        // A server started by litelab accepts 120 connections.
        let folder = folder(driver, "workers = 150, count = 300", 2);
        let dir = folder.path();
        let child = litelab(dir, &RUN).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (failures, all) = failures(dir, child);
        assert_eq!((failures.len(), all), (2, 2), "{driver}: {failures:?}");
        let name = if kind == Kind::Postgres { "too_many_connections" } else { "ER_CON_COUNT_ERROR" };
        assert!(failures.iter().all(|f| f.reason.contains(name)), "{driver}: {failures:?}");
    });
}

#[test]
fn a_wrong_url_is_one_line_and_leaves_nothing() {
    each(|driver, kind, _| {
        let place =
            std::env::temp_dir().join(format!("litelab-wrong-{}-{}", std::process::id(), driver.replace(':', "-")));
        let server = Instance::start(kind, &place, &litelab_servers::Options::default()).unwrap();
        let (scheme, rest) = server.url().split_once("://").unwrap();
        let (account, address) = rest.split_once('@').unwrap();
        let host = address.split('/').next().unwrap();
        let password = account.split_once(':').unwrap().1;
        for (url, part) in [
            (format!("{scheme}://{account}@127.0.0.1:1/postgres"), "no server answers at 127.0.0.1:1"),
            (format!("{scheme}://litelab:secret@{address}"), "refuses the connection"),
            (format!("{scheme}://nobody:secret@{address}"), "refuses the connection"),
            (format!("{scheme}://{account}@{host}/absent"), "absent"),
        ] {
            let folder = folder(driver, "workers = 2, count = 10", 1);
            let given = format!("{}={url}", if kind == Kind::Postgres { "postgres" } else { "mysql" });
            let line = refused(folder.path(), &[&RUN[..], &["--url", &given]].concat());
            assert!(line.contains(part), "{driver}: {line}");
            assert!(!line.contains("secret") && !line.contains(password), "{driver}: {line}");
            assert!(!folder.path().join("run.db").exists(), "{driver}: no run was begun");
            nothing_is_left(folder.path());
        }
        let mut admin = litelab_servers::Admin::connect(server.url()).unwrap();
        let (inside, schemas) = match kind {
            Kind::Postgres => ("public", "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'litelab%'"),
            _ => (
                "information_schema",
                "SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'litelab%'",
            ),
        };
        assert_eq!(admin.number(inside, schemas).unwrap(), 0.0, "{driver}: no schema is left");
        drop(server);
        assert!(!place.exists(), "{driver}: {place:?} is left");
    });
}
