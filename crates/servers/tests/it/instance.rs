//! Private servers: they change nothing outside their folder, and nothing of them remains.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use crate::common::{family, folder, installed, orphans, own, processes, segments_of, shared, stop, until};
use litelab_servers::instance::{self, Condition, Options, State};
use litelab_servers::{Admin, Instance, Kind, ServersError};

const SINGLE: [Kind; 2] = [Kind::Postgres, Kind::Mariadb];

fn single() -> impl Iterator<Item = Kind> {
    SINGLE.into_iter().filter(|k| installed(*k))
}

#[test]
fn two_at_once_differ_and_dropping_one_leaves_nothing_of_it() {
    for kind in single() {
        let first = shared(kind).unwrap();
        let second = own(kind, "second");
        let place = second.folder().to_owned();
        assert_ne!(first, second.url());
        assert!(second.dead().is_empty() && place.join(".gitignore").is_file() && !processes(&place).is_empty());
        Admin::connect(second.url()).unwrap().create_schema("mine").unwrap();
        let mut other = Admin::connect(first).unwrap();
        assert!(other.number("mine", "SELECT 1").is_err(), "the other server has no such schema");
        drop(second);
        assert!(!place.exists(), "{place:?} is left");
        assert_eq!(processes(&place), [0; 0]);
        assert!(other.version().is_ok(), "the other server lives");
    }
}

#[test]
fn a_server_is_reached_from_loopback_only_and_with_its_password() {
    for kind in single() {
        let url = shared(kind).unwrap();
        let mut admin = Admin::connect(url).unwrap();
        let (setting, expected) =
            if kind == Kind::Postgres { ("listen_addresses", "127.0.0.1") } else { ("bind_address", "127.0.0.1") };
        assert_eq!(admin.setting(setting).unwrap(), expected);
        let socket = if kind == Kind::Postgres { "unix_socket_directories" } else { "socket" };
        assert_eq!(admin.setting(socket).unwrap(), "");
        let (scheme, rest) = url.split_once("://").unwrap();
        let (account, hosts) = rest.split_once('@').unwrap();
        assert_eq!(account.len(), "litelab:".len() + 32);
        for user in ["litelab", "root", "postgres", "mysql"] {
            for other in [format!("{user}:"), user.to_owned()] {
                let outcome = Admin::connect(&format!("{scheme}://{other}@{hosts}")).map(drop);
                assert!(matches!(outcome, Err(ServersError::Refused { .. })), "{other}: {outcome:?}");
            }
        }
    }
}

#[test]
fn a_port_that_is_taken_is_given_up_for_another() {
    for kind in single() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let options = Options { port: Some(port), ..Options::default() };
        let server = Instance::start(kind, &folder("taken"), &options).unwrap();
        assert!(!server.url().contains(&format!(":{port}")), "{}", server.url());
        assert!(Admin::connect(server.url()).unwrap().version().is_ok());
    }
}

#[test]
fn a_killed_server_comes_back_with_what_was_committed() {
    for kind in single() {
        let mut server = own(kind, "killed");
        let mut admin = Admin::connect(server.url()).unwrap();
        admin.create_schema("kept").unwrap();
        admin.script("kept", "CREATE TABLE t (x integer); INSERT INTO t VALUES (41)").unwrap();
        assert!(server.restart(0, &Options::default()).unwrap_err().to_string().contains("lives"));
        server.kill(0).unwrap();
        assert_eq!(server.dead(), [0]);
        let lost = admin.number("kept", "SELECT x FROM t").unwrap_err();
        assert!(matches!(lost, ServersError::Lost(_)), "{lost:?}");
        assert!(matches!(Admin::connect(server.url()).map(drop), Err(ServersError::Unreachable { .. })));
        server.restart(0, &Options::default()).unwrap();
        assert!(server.dead().is_empty());
        assert_eq!(Admin::connect(server.url()).unwrap().number("kept", "SELECT x FROM t").unwrap(), 41.0);
        assert!(server.kill(7).unwrap_err().to_string().contains("no node 7"));
        let place = server.folder().to_owned();
        drop(server);
        assert!(!place.exists() && processes(&place).is_empty());
    }
}

#[test]
fn up_down_and_status_agree() {
    for kind in single() {
        let place = folder("up");
        let options = Options::default();
        let status = || instance::status(kind, &place).unwrap();
        assert_eq!((status(), instance::down(kind, &place).unwrap()), (None, None));
        let (state, former) = instance::up(kind, &place, &options).unwrap();
        assert_eq!((status(), former), (Some((state.clone(), Condition::Up)), None));
        let again = instance::up(kind, &place, &options).unwrap();
        assert_eq!(again, (state.clone(), Some(Condition::Up)));
        let other = if kind == Kind::Postgres { Kind::Mariadb } else { Kind::Postgres };
        let said = instance::down(other, &place).unwrap_err().to_string();
        assert!(said.contains(&format!("a {kind} lives there, no {other}")), "{said}");

        // As after a power loss: the processes are gone, the folder is not.
        let process = state.nodes[0].process.clone().unwrap();
        assert!(Command::new("kill").args(["-KILL", &process.pid.to_string()]).status().unwrap().success());
        until("the server is gone", || !process.lives());
        assert_eq!(status(), Some((state.clone(), Condition::Stale)));
        let (anew, former) = instance::up(kind, &place, &options).unwrap();
        assert_eq!(former, Some(Condition::Stale));
        assert_ne!(anew.nodes, state.nodes);
        assert!(Admin::connect(&anew.url).unwrap().version().is_ok());
        assert_eq!(instance::down(kind, &place).unwrap(), Some(Condition::Up));
        assert!(!place.exists() && processes(&place).is_empty());
    }
}

#[test]
fn down_kills_no_process_that_got_the_number_of_one_of_its_own() {
    let mut sleeper = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = sleeper.id();
    let place = folder("recycled");
    std::fs::create_dir(&place).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let start: u64 = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned();
    let state = |start: u64, boot: &str| {
        let node = serde_json::json!({"process": {"pid": pid, "start": start, "boot": boot}, "ports": [1]});
        let state = serde_json::json!({"kind": "mariadb", "version": "x", "url": "x", "started": 0, "nodes": [node]});
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("litelab-server.json"), state.to_string()).unwrap();
    };
    for (start, boot) in [(start - 1, boot.as_str()), (start, "another start of the machine")] {
        state(start, boot);
        assert_eq!(instance::down(Kind::Mariadb, &place).unwrap(), Some(Condition::Stale));
        assert!(sleeper.try_wait().unwrap().is_none(), "the sleeper lives");
    }
    // Positive control: with its true start time, the process belongs to the state.
    state(start, &boot);
    assert_eq!(instance::down(Kind::Mariadb, &place).unwrap(), Some(Condition::Up));
    assert!(!sleeper.wait().unwrap().success());
}

#[test]
fn a_folder_of_someone_else_is_neither_used_nor_removed() {
    let Some(kind) = single().next() else { return };
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("thesis.txt"), "all of it").unwrap();
    let said = Instance::start(kind, place.path(), &Options::default()).map(drop).unwrap_err();
    assert!(matches!(said, ServersError::Folder { .. }) && said.to_string().contains("not empty"), "{said}");
    assert_eq!(instance::down(kind, place.path()).unwrap(), None);
    assert!(place.path().join("thesis.txt").exists());
}

#[test]
fn a_start_that_is_given_up_leaves_nothing() {
    for kind in single() {
        let place = folder("given-up");
        let stop = AtomicBool::new(true);
        let options = Options { stop: Some(&stop), ..Options::default() };
        let outcome = Instance::start(kind, &place, &options).map(drop);
        assert!(matches!(outcome, Err(ServersError::Interrupted)), "{outcome:?}");
        assert_eq!(processes(&place), [0; 0]);
        assert!(!place.exists());
    }
}

/// The program that the test below kills: it starts a server, prints a line and waits.
#[test]
#[ignore = "run as a program of its own by the test of the killed program"]
fn starts_a_server_and_waits() {
    let kind = Kind::parse(&std::env::var("LITELAB_TEST_KIND").unwrap()).unwrap();
    let place = PathBuf::from(std::env::var_os("LITELAB_TEST_FOLDER").unwrap());
    let scratch = place.with_extension("scratch-");
    let options = Options { scratch: Some(&scratch), ..Options::default() };
    let server = Instance::start(kind, &place, &options).unwrap();
    Admin::connect(server.url()).unwrap().create_schema("held").unwrap();
    println!("up");
    std::thread::park();
    panic!("{server:?} was not to be waited for");
}

fn program(kind: Kind, place: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "instance::starts_a_server_and_waits", "--nocapture"])
        .env("LITELAB_TEST_KIND", kind.name())
        .env("LITELAB_TEST_FOLDER", place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn when_the_program_is_killed_its_servers_end_and_their_folder_goes() {
    // A stopped server does not handle its signal, and PostgreSQL's stopped children do not notice the end of their
    // parent.
    for (kind, stopped) in single().flat_map(|kind| [(kind, false), (kind, true)]) {
        let place = folder("parent");
        let mut program = program(kind, &place);
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "up"), "{kind} came up");
        let state = State::read(&place).unwrap().unwrap();
        assert!(state.is_up() && processes(&place).len() >= 2, "server and guard");
        let scratch = ["scratch-a b", "scratch-"].map(|more| place.with_extension(more));
        let foreign = place.with_extension("scratch");
        scratch.iter().chain([&foreign]).for_each(|folder| std::fs::create_dir_all(folder.join("x")).unwrap());
        let all = family(&place);
        if stopped {
            stop(&all);
        }
        program.kill().unwrap();
        program.wait().unwrap();
        until("the server ends", || !state.nodes[0].lives() && processes(&place).is_empty());
        until("its folder goes", || !place.exists() && scratch.iter().all(|folder| !folder.exists()));
        until("what it has started ends", || all.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
        assert!(foreign.join("x").exists(), "another folder stays");
        std::fs::remove_dir_all(foreign).unwrap();
    }
}

#[test]
fn a_server_that_someone_has_stopped_is_ended_without_delay() {
    for kind in single() {
        let server = own(kind, "stopped");
        let (place, begun) = (server.folder().to_owned(), std::time::Instant::now());
        let _held = Admin::connect(server.url()).unwrap();
        let all = family(&place);
        stop(&all);
        drop(server);
        assert!(!place.exists() && all.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
        // The criterion is not the speed of the machine, but whether the guard had to wait for its limit of 20 s.
        println!("{kind} ended within {:?}", begun.elapsed());
    }
}

#[test]
fn when_the_program_is_killed_amid_a_start_nothing_is_left_either() {
    for kind in single() {
        let (place, before) = (folder("amid"), orphans());
        let mut program = program(kind, &place);
        // The first state exists: the data directory is being created.
        until("it begins", || place.join("litelab-server.json").exists());
        if kind == Kind::Postgres {
            // It has shared memory, which would otherwise remain for good.
            until("it has shared memory", || !segments_of(&place).is_empty());
        }
        program.kill().unwrap();
        program.wait().unwrap();
        until("all its processes end", || processes(&place).is_empty());
        until("its folder goes", || !place.exists());
        // Other tests may be creating theirs.
        until("its shared memory goes", || orphans().iter().all(|segment| before.contains(segment)));
    }
}

#[test]
fn a_start_that_is_given_up_while_it_makes_its_data_leaves_no_shared_memory() {
    if !installed(Kind::Postgres) {
        return;
    }
    let (place, before, stop) = (folder("data"), orphans(), AtomicBool::new(false));
    let outcome = std::thread::scope(|scope| {
        let start = scope.spawn(|| {
            let options = Options { stop: Some(&stop), ..Options::default() };
            Instance::start(Kind::Postgres, &place, &options).map(drop)
        });
        until("it has shared memory", || !segments_of(&place).is_empty() || start.is_finished());
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        start.join().unwrap()
    });
    assert!(matches!(outcome, Err(ServersError::Interrupted)), "{outcome:?}");
    assert!(!place.exists() && processes(&place).is_empty());
    until("its shared memory goes", || orphans().iter().all(|segment| before.contains(segment)));
}

#[test]
fn when_the_program_is_killed_while_a_node_is_sent_its_data_nobody_waits_for_it() {
    if !installed(Kind::Galera) {
        return;
    }
    let place = folder("joiner");
    let mut program = program(Kind::Galera, &place);
    let script = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("wsrep_sst_rsync")
    };
    until("a node is sent its data", || processes(&place).iter().any(script));
    program.kill().unwrap();
    program.wait().unwrap();
    until("all its processes end", || processes(&place).is_empty());
    until("its folder goes", || !place.exists());
}
