//! Helpers for tests of runs on servers.

use std::path::{Path, PathBuf};

use litelab_record::outcome::TrialRecord;
use litelab_record::{RunFile, RunInfo};
use litelab_servers::instance::binaries;
use litelab_servers::{Kind, State};

/// Whether the Go runner has been built.
pub fn built() -> bool {
    is_built("go", "litelab-runner-go")
}

/// Whether a runner has been built, judged by a file in its folder; prints a line if not.
pub fn is_built(runner: &str, file: &str) -> bool {
    let there = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runners").join(runner).join(file).exists();
    if !there {
        println!("skipped: run `litelab runners build {runner}`");
    }
    there
}

pub fn installed(kinds: &[Kind]) -> bool {
    let missing = kinds.iter().find_map(|kind| binaries::find(*kind).err());
    if let Some(missing) = &missing {
        println!("skipped: {missing}");
    }
    missing.is_none()
}

pub fn possible(kinds: &[Kind]) -> bool {
    installed(kinds) && built()
}

pub fn trials(file: &Path) -> (RunInfo, Vec<TrialRecord>) {
    let file = RunFile::open(file).unwrap();
    let mut trials = Vec::new();
    file.trials(&mut |trial| {
        trials.push(trial.record);
        Ok(())
    })
    .unwrap();
    (file.info().unwrap(), trials)
}

/// Process ids of all processes.
fn all() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Command line of a process.
fn command(pid: u32) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).replace('\0', " ")
}

fn parent(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Number of processes whose command line contains a path.
pub fn processes(path: &Path) -> usize {
    let path = path.to_str().unwrap();
    all().filter(|pid| command(*pid).contains(path)).count()
}

/// Children of a process whose command line contains a word.
pub fn children(pid: u32, word: &str) -> Vec<u32> {
    all().filter(|child| parent(*child) == Some(pid) && command(*child).contains(word)).collect()
}

/// States of the servers below litelab's working folder.
pub fn states(folder: &Path) -> Vec<State> {
    let scratch = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let places = scratch
        .flat_map(|s| [s.clone(), s.join("servers")])
        .flat_map(|s| ["postgres", "mariadb"].map(|name| -> PathBuf { s.join(name) }));
    places.filter_map(|place| State::read(&place).ok().flatten()).collect()
}

/// Process ids of a server and its children; the children of PostgreSQL name no path in their command line.
pub fn family(state: &State) -> Vec<u32> {
    let own: Vec<u32> = state.nodes.iter().filter_map(|node| Some(node.process.as_ref()?.pid)).collect();
    let born = all().filter(|pid| parent(*pid).is_some_and(|parent| own.contains(&parent)));
    own.iter().copied().chain(born).collect()
}

/// Asserts that no server, guard process or scratch folder remains in litelab's folder.
pub fn nothing_is_left(folder: &Path) {
    let entries = std::fs::read_dir(folder.join("litelab-runs")).unwrap().flatten();
    let hidden = |name: &String| name.starts_with(".scratch");
    let left: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).filter(hidden).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(processes(folder), 0);
}
