//! `litelab servers`: one line each, and no remains.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::servers::installed;
use crate::common::{ends, failed, folder, litelab, refused, run, send, until};
use litelab_servers::Kind;
use rustix::process::{Pid, test_kill_process};

#[test]
fn a_server_is_up_until_it_is_down() {
    for kind in [Kind::Postgres, Kind::Mariadb].into_iter().filter(|k| installed(&[*k])) {
        let (top, name) = (folder(&[]), kind.name());
        let dir = top.path();
        let up = ends(&run(dir, &["servers", "up", name]), 0);
        let url = up.lines().last().unwrap();
        assert!(up.starts_with(&format!("{name}  up · ")) && url.contains("://litelab:"), "{up}");
        let again = ends(&run(dir, &["servers", "up", name]), 0);
        assert!(again.contains("up already") && again.contains(url), "{again}");

        let status: serde_json::Value =
            serde_json::from_str(&ends(&run(dir, &["servers", "status", "--json"]), 0)).unwrap();
        assert_eq!(status.as_array().unwrap().len(), 1, "{status}");
        let server = &status[0];
        assert_eq!((&server["server"], &server["state"], &server["url"]), (&name.into(), &"up".into(), &url.into()));
        let pid = server["pids"][0].as_u64().unwrap();
        let process = Path::new("/proc").join(pid.to_string());
        assert!(process.exists());
        let shown = ends(&run(dir, &["servers", "status"]), 0);
        assert!(shown.contains(&format!("pid {pid}")) && shown.contains("galera  not up"), "{shown}");
        // The state file contains the password, so that only its owner may read it.
        let state = dir.join("litelab-servers").join(name).join("litelab-server.json");
        assert_eq!(state.metadata().unwrap().permissions().mode() & 0o777, 0o600);

        assert!(ends(&run(dir, &["servers", "down", name]), 0).contains("stopped"));
        assert!(ends(&run(dir, &["servers", "down", name]), 0).contains("not up"));
        assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0, "nothing is left");
    }
}

#[test]
fn an_interrupted_start_leaves_nothing() {
    if !installed(&[Kind::Mariadb]) {
        return;
    }
    let top = folder(&[]);
    let place = top.path().join("here");
    let mut up =
        litelab(top.path(), &["servers", "up", "mariadb", "--dir", "here"]).stderr(Stdio::null()).spawn().unwrap();
    until("it begins", || place.join("litelab-server.json").exists());
    send("-INT", &[up.id()]);
    assert_eq!(up.wait().unwrap().code(), Some(130));
    assert!(!place.exists());
}

#[test]
fn what_cannot_be_is_one_line() {
    let top = folder(&[]);
    let dir = top.path();
    let said = refused(dir, &["servers", "up", "postgers"]);
    assert!(said.contains("'postgres'") && said.contains("mariadb") && said.contains("galera"), "{said}");
    if !installed(&[Kind::Postgres]) {
        return;
    }
    std::fs::write(dir.join("thesis.txt"), "all of it").unwrap();
    assert!(refused(dir, &["servers", "up", "postgres", "--dir", "."]).contains("not empty"));
    assert!(failed(dir, &["servers", "up", "postgres", "--dir", "thesis.txt/x"], 1).contains("thesis.txt"));
    if rustix::process::geteuid().is_root() {
        let closed = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o700)).tempdir().unwrap();
        let line = refused(closed.path(), &["servers", "up", "postgres", "--dir", "x"]);
        assert!(line.contains("may not enter it") && line.contains("--dir"), "{line}");
        assert_eq!(std::fs::read_dir(closed.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_command_has_its_servers_for_as_long_as_it_runs() {
    for kind in [Kind::Postgres, Kind::Mariadb].into_iter().filter(|k| installed(&[*k])) {
        let (top, name) = (folder(&[]), kind.name());
        let dir = top.path();
        // The script ends with 7 only if the variable with the url is set.
        let script = format!("echo $LITELAB_{}; test -n \"$LITELAB_{0}\" && exit 7", name.to_uppercase());
        let said = ends(&run(dir, &["servers", "with", name, "--", "sh", "-c", &script]), 7);
        assert!(said.contains("://litelab:") && said.contains("@127.0.0.1:"), "{said}");
        assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0, "something is left");
        let url = litelab_servers::Admin::connect(said.trim());
        assert!(url.is_err(), "the server is still there");
    }
}

#[test]
fn a_command_is_stopped_with_what_runs_it() {
    if !installed(&[Kind::Postgres]) {
        return;
    }
    let top = folder(&[]);
    let script = "echo $$; exec sleep 60";
    let mut with = litelab(top.path(), &["servers", "with", "postgres", "--", "sh", "-c", script]);
    let mut child = with.stdout(Stdio::piped()).spawn().unwrap();
    let mut pid = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut pid).unwrap();
    let command = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    assert!(test_kill_process(command).is_ok());
    let told = Instant::now();
    send("-TERM", &[child.id()]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(told.elapsed() < Duration::from_secs(30), "it waited for the command");
    assert!(test_kill_process(command).is_err(), "the command is still there");
    assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0, "something is left");
}

#[test]
fn a_command_that_cannot_be_run_is_one_line() {
    let top = folder(&[]);
    if installed(&[Kind::Postgres]) {
        let line = failed(top.path(), &["servers", "with", "postgres", "--", "no-such-program"], 1);
        assert!(line.contains("no-such-program"), "{line}");
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0, "something is left");
    }
    // Without a command the arguments are incomplete.
    refused(top.path(), &["servers", "with", "postgres"]);
}
