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
    let start = || installed(kind).then(|| Instance::start(kind, &folder(kind.name())).unwrap());
    Some(SERVERS[usize::from(kind == Kind::Mariadb)].get_or_init(start).as_ref()?.url())
}

/// A connection to each kind of shared server that is installed.
pub fn admins() -> Vec<Admin> {
    [Kind::Postgres, Kind::Mariadb].into_iter().filter_map(shared).map(|url| Admin::connect(url).unwrap()).collect()
}

/// Starts a server for one test.
pub fn own(kind: Kind, name: &str) -> Instance {
    Instance::start_with(kind, &folder(name), &Options::default()).unwrap()
}

/// Processes whose command line contains a path.
pub fn processes(naming: &std::path::Path) -> Vec<u32> {
    let path = naming.to_str().unwrap();
    let numbers = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid: &u32| {
            *pid != std::process::id()
                && std::fs::read(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|line| String::from_utf8_lossy(&line).contains(path))
        })
        .collect()
}

/// A server's own processes without its guard: those whose command line contains its folder, and their children,
/// because the names of PostgreSQL's processes contain no path.
pub fn family(naming: &std::path::Path) -> Vec<u32> {
    let read = |pid: &u32, file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let parent = |pid: &u32| -> Option<u32> {
        read(pid, "stat").rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let mut pids = processes(naming);
    pids.retain(|pid| read(pid, "comm").trim() != "sh");
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    let born: Vec<u32> = all.filter(|pid| parent(pid).is_some_and(|parent| pids.contains(&parent))).collect();
    pids.extend(born);
    pids
}

/// PostgreSQL's shared memory that a process has mapped.
fn segments(pid: u32) -> Vec<String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let files = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    files.filter_map(|file| file.strip_prefix("/dev/shm/PostgreSQL.")).map(str::to_owned).collect()
}

/// PostgreSQL's shared memory of all process groups whose leader's command line contains a path. The processes that
/// create a data directory do not contain it themselves.
pub fn segments_of(naming: &std::path::Path) -> Vec<String> {
    let leaders: Vec<String> = processes(naming).iter().map(ToString::to_string).collect();
    let group = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let group = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(2));
        group.is_some_and(|group| leaders.iter().any(|leader| leader == group))
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    all.filter(group).flat_map(segments).collect()
}

/// PostgreSQL's shared memory that no process has mapped.
pub fn orphans() -> Vec<String> {
    let there = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let mut there: Vec<String> = there.filter_map(|e| e.file_name().into_string().ok()).collect();
    there.retain(|name| name.starts_with("PostgreSQL."));
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    let mapped: Vec<String> = all.flat_map(segments).collect();
    there.retain(|name| !mapped.iter().any(|number| name.ends_with(number.as_str())));
    there
}

/// Sends a signal to a process.
pub fn send(signal: &str, pid: u32) {
    assert!(std::process::Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// Stops processes with all their threads. The kernel delivers the signal to one thread; the others run on until it is
/// handled.
pub fn stop(pids: &[u32]) {
    pids.iter().for_each(|pid| send("-STOP", *pid));
    let state = |task: std::fs::DirEntry| -> Option<char> {
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        stat.rsplit_once(')')?.1.trim_start().chars().next()
    };
    let stands = |pid: &u32| {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        tasks.filter_map(state).all(|state| matches!(state, 'T' | 't' | 'Z' | 'X'))
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
