//! What tests on servers have in common.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::path::Path;

use litelab_engine::outcome::TrialRecord;
use litelab_engine::record::{RunFile, RunInfo};
use litelab_servers::Kind;
use litelab_servers::instance::binaries;

/// Whether the Go runner has been built.
pub fn built() -> bool {
    let there = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runners/go/litelab-runner-go").exists();
    if !there {
        println!("skipped: run `litelab runners build go`");
    }
    there
}

/// Whether the Go runner and these servers are there; says what is not.
pub fn possible(kinds: &[Kind]) -> bool {
    let missing = kinds.iter().find_map(|kind| binaries::find(*kind).err());
    if let Some(missing) = &missing {
        println!("skipped: {missing}");
    }
    built() && missing.is_none()
}

/// What a run file holds.
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

/// Processes whose command names a path.
pub fn processes(path: &Path) -> usize {
    let path = path.to_str().unwrap();
    let numbers = std::fs::read_dir("/proc").unwrap().flatten().map(|e| e.path().join("cmdline"));
    numbers.filter(|file| std::fs::read(file).is_ok_and(|line| String::from_utf8_lossy(&line).contains(path))).count()
}

/// No process and no scratch folder of a run in this folder.
pub fn nothing_is_left(folder: &Path) {
    let hidden = |name: &str| name.starts_with(".scratch");
    let entries = std::fs::read_dir(folder.join("litelab-runs")).unwrap().flatten();
    let left: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).filter(|n| hidden(n)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(processes(folder), 0);
}
