//! The memory of a trial does not grow with the number of its operations.

use crate::common::{ends, run};

const STUDY: &str = r#"
name = "memory"
title = "Does a trial's memory grow with its operations?"
about = "The same reads, fifty times as many."
rounds = 1
workload = "insert"
profile = "wal-normal"
vars.preload = 10000

[[scenario]]
name = "few"
role.readers = { run = "read", workers = 1, count = 100000 }

[[scenario]]
name = "many"
role.readers = { run = "read", workers = 1, count = 5000000 }
"#;

/// Growth of the peak resident memory per additional read, in bytes, that a trial may have. A runner that keeps any
/// data of each read keeps at least one byte. Two identical trials differ by a megabyte, a fifth of a byte for each of
/// these reads, in memory the allocator has returned, and the shorter trial may be the larger one.
const OF_A_READ: f64 = 0.5;

/// Number of measured operations and peak resident memory in bytes of a scenario.
fn trial(csv: &str, scenario: &str) -> (u64, f64) {
    let columns: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let at = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let row = csv.lines().map(|line| line.split(',').collect::<Vec<_>>()).find(|row| row[at("scenario")] == scenario);
    let row = row.unwrap();
    assert_eq!(row.len(), columns.len(), "{csv}");
    (row[at("measured")].parse().unwrap(), row[at("memory")].parse().unwrap())
}

#[test]
fn five_million_reads_take_the_memory_of_a_hundred_thousand() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::write(dir.join("memory.toml"), STUDY).unwrap();
    ends(&run(dir, &["run", "memory.toml", "-o", "run.db"]), 0);
    let csv = ends(&run(dir, &["export", "run.db", "--format", "csv"]), 0);
    let ((few, small), (many, large)) = (trial(&csv, "few"), trial(&csv, "many"));
    assert_eq!((few, many), (100_000, 5_000_000));
    let most = small + OF_A_READ * (many - few) as f64;
    assert!(large < most, "{small} bytes for {few} reads, {large} for {many}, and {most} at most");
}
