//! Servers that litelab started for the conformance suite or a run, and their folders, do not outlive it, whichever way
//! it ends.

use std::path::Path;
use std::process::{Child, Stdio};

use crate::common::servers::{children, family, possible, processes, states};
use crate::common::{folder, litelab, names, send, until};
use litelab_servers::Kind;

const STUDY: &str = "name = 'long'\ntitle = '?'\nrounds = 1\nworkload = 'work.toml'\n[[scenario]]\nname = 'one'\n\
    role.w = { run = 'add', workers = 1, for = '100s' }\nvary.driver = ['go:postgres', 'go:mysql']\n";
const WORKLOAD: &str = "name = 'work'\nschema.sql = 'CREATE TABLE t(id INTEGER PRIMARY KEY)'\n[transaction.add]\n\
    sql = 'INSERT INTO t VALUES (:id)'\nparam.id = { sequence = {} }\n";

/// Commands that the tests end.
const COMMANDS: [&[&str]; 2] = [
    &["runners", "check", "go:postgres", "go:mysql", "--jobs", "2"],
    &["run", "long.toml", "-o", "run.db", "--no-calibration"],
];

/// Names of the scratch folders in litelab's folder.
fn scratch(folder: &Path) -> Vec<String> {
    names(&folder.join("litelab-runs")).into_iter().filter(|name| name.starts_with(".scratch")).collect()
}

/// Starts a command, and waits until both its servers are up and a runner is at work. Returns the command and the
/// processes that must end with it.
fn begin(dir: &Path, arguments: &[&str]) -> (Child, Vec<u32>) {
    let child = litelab(dir, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let up = || -> Vec<_> {
        let states = states(&dir.join("litelab-runs"));
        states.into_iter().filter(|state| !state.version.is_empty() && state.is_up()).collect()
    };
    until("both servers are up", || up().len() == 2);
    let mut runners = Vec::new();
    until("a runner is at work", || {
        runners = children(child.id(), "litelab-runner-go");
        !runners.is_empty()
    });
    assert!(!scratch(dir).is_empty() && processes(dir) > 2, "servers and their guards");
    let pids = up().iter().flat_map(family).chain(runners).collect();
    (child, pids)
}

fn nothing_is_left(what: &str, dir: &Path, pids: &[u32]) {
    let lives = |pid: &u32| {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A zombie counts as ended.
        state.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    until(&format!("{what}: the processes end"), || processes(dir) == 0 && !pids.iter().any(lives));
    until(&format!("{what}: the folders go"), || scratch(dir).is_empty());
}

/// Ends each command by a signal, after which it has this exit code.
fn ends_with_its_servers(signal: &str, code: Option<i32>) {
    if !possible(&[Kind::Postgres, Kind::Mariadb]) {
        return;
    }
    for arguments in COMMANDS {
        let folder = folder(&[("work.toml", WORKLOAD), ("long.toml", STUDY)]);
        let dir = folder.path();
        let (mut child, pids) = begin(dir, arguments);
        send(signal, &[child.id()]);
        assert_eq!(child.wait().unwrap().code(), code);
        // A command that was not killed has removed its scratch folders and processes when it has ended.
        assert!(code.is_none() || scratch(dir).is_empty() && processes(dir) == 0, "{arguments:?}");
        nothing_is_left(&arguments.join(" "), dir, &pids);
    }
}

#[test]
fn killed_it_leaves_no_server_and_no_folder() {
    ends_with_its_servers("-KILL", None);
}

#[test]
fn interrupted_it_leaves_no_server_and_no_folder() {
    ends_with_its_servers("-INT", Some(130));
}
