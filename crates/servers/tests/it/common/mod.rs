//! Real servers for tests.

#![allow(dead_code, clippy::unwrap_used)] // not every test file uses all; a panic is how a test fails

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use litelab_servers::instance::{Options, binaries};
use litelab_servers::{Admin, Instance, Kind};

/// Whether a server is installed; prints a message if it is not.
pub fn installed(kind: Kind) -> bool {
    match binaries::find(kind) {
        Ok(_) => true,
        Err(e) => {
            println!("skipped: {e}");
            false
        }
    }
}

/// A path for a new folder, in a place that any user may enter.
pub fn folder(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("litelab-test-{}-{count}-{name}", std::process::id()))
}

/// URL of the server of a kind that all tests of a file share. It is never dropped: the guard stops it after the
/// process.
pub fn shared(kind: Kind) -> Option<&'static str> {
    static SERVERS: [OnceLock<Option<Instance>>; 2] = [const { OnceLock::new() }; 2];
    let start = || installed(kind).then(|| own(kind, kind.name()));
    Some(SERVERS[usize::from(kind == Kind::Mariadb)].get_or_init(start).as_ref()?.url())
}

/// A connection to each kind of shared server that is installed.
pub fn admins() -> Vec<Admin> {
    [Kind::Postgres, Kind::Mariadb].into_iter().filter_map(shared).map(|url| Admin::connect(url).unwrap()).collect()
}

/// Starts a server for one test.
pub fn own(kind: Kind, name: &str) -> Instance {
    Instance::start(kind, &folder(name), &Options::default()).unwrap()
}

/// Text of a file of `/proc`; empty if the process has ended.
fn read(path: impl std::fmt::Display) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{path}")).unwrap_or_default()).into_owned()
}

/// Fields of a `stat` file from the state on: state, parent, process group.
fn stat(path: impl std::fmt::Display) -> Vec<String> {
    let stat = read(format!("{path}/stat"));
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Numbers of all processes or threads in a folder of `/proc`.
fn numbers(folder: &str) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(format!("/proc/{folder}")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Processes whose command line contains a path.
pub fn processes(naming: &std::path::Path) -> Vec<u32> {
    let path = naming.to_str().unwrap();
    numbers("").filter(|pid| *pid != std::process::id() && read(format!("{pid}/cmdline")).contains(path)).collect()
}

/// Processes whose `stat` has one of these numbers in this field.
fn related(pids: &[u32], field: usize) -> Vec<u32> {
    let is = |pid: &u32| stat(pid).get(field).and_then(|n| n.parse().ok()).is_some_and(|n| pids.contains(&n));
    numbers("").filter(is).collect()
}

/// A server's own processes without its guard: those whose command line contains its folder, and their children,
/// because the names of PostgreSQL's processes contain no path.
pub fn family(naming: &std::path::Path) -> Vec<u32> {
    let mut pids = processes(naming);
    pids.retain(|pid| read(format!("{pid}/comm")).trim() != "sh");
    pids.extend(related(&pids, 1));
    pids
}

/// PostgreSQL's shared memory that a process has mapped.
fn segments(pid: u32) -> Vec<String> {
    let maps = read(format!("{pid}/maps"));
    let files = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    files.filter_map(|file| file.strip_prefix("/dev/shm/PostgreSQL.")).map(str::to_owned).collect()
}

/// PostgreSQL's shared memory of all process groups whose leader's command line contains a path. The processes that
/// create a data directory do not contain it themselves.
pub fn segments_of(naming: &std::path::Path) -> Vec<String> {
    related(&processes(naming), 2).into_iter().flat_map(segments).collect()
}

/// PostgreSQL's shared memory that no process has mapped.
pub fn orphans() -> Vec<String> {
    let there = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let mut there: Vec<String> = there.filter_map(|e| e.file_name().into_string().ok()).collect();
    there.retain(|name| name.starts_with("PostgreSQL."));
    let mapped: Vec<String> = numbers("").flat_map(segments).collect();
    there.retain(|name| !mapped.iter().any(|number| name.ends_with(number.as_str())));
    there
}

/// Sends a signal to a process, unless it has ended: a server's workers come and go by themselves.
pub fn send(signal: &str, pid: u32) {
    let sent = std::process::Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success();
    assert!(sent || stat(pid).is_empty(), "{signal} reaches {pid}");
}

/// Stops processes with all their threads. The kernel delivers the signal to one thread; the others run on until it is
/// handled.
pub fn stop(pids: &[u32]) {
    pids.iter().for_each(|pid| send("-STOP", *pid));
    let stands = |pid: &u32| {
        let state = |task| stat(format!("{pid}/task/{task}")).into_iter().next();
        numbers(&format!("{pid}/task")).filter_map(state).all(|state| "TtZX".contains(&state))
    };
    until("all stand still", || pids.iter().all(stands));
}

/// Waits for a condition that must become true; the limit only ends the test in case of a failure.
pub fn until(what: &str, mut happens: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happens() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
