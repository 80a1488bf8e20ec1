//! Long runs: an analysis keeps only the numbers of each trial.
//!
//! It is a separate program, because it reads the peak memory of its process.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

#[path = "it/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::plan::{changed, empty, outcome, scenario, text, variant};
use common::{Gives, record};
use litelab_model::{Plan, Scalar};
use litelab_record::{RunFile, RunInfo};
use litelab_report::{Style, analyse, html, show_all};

fn plan(variants: usize, rounds: u32) -> Plan {
    let variants = (0..variants).map(|i| variant(0, &[("profile", text(&format!("p{i}")))])).collect();
    Plan { scenarios: vec![scenario("s", rounds, &["profile"], 0, &["throughput", "p50", "p99"])], variants, ..empty() }
}

/// Outcomes of the study's baseline and of its noisiest variant.
fn trial(round: u32, variant: usize) -> Option<Gives> {
    outcome(round, if variant.is_multiple_of(2) { 0 } else { 2 })
}

fn recorded(directory: &std::path::Path, variants: usize, rounds: u32) -> (RunFile, RunInfo) {
    record(&directory.join("run.db"), &plan(variants, rounds), |_| (), trial)
}

#[test]
fn a_variant_grows_by_one_number_per_metric_and_trial() {
    let directory = tempfile::tempdir().unwrap();
    let (file, info) = recorded(directory.path(), 3, 60);
    let analysis = analyse(&file, &info).unwrap();
    let measures = litelab_model::Metric::names().count();
    for variant in &analysis.variants {
        assert!(variant.metrics.len() <= measures);
        assert!(variant.metrics.values().all(|values| values.by_round.len() <= 60));
        assert_eq!(variant.measured, 60);
    }
}

/// The run of `scripts/test-page`: a hundred variants in each of three scenarios (two dimensions with bars, a number of
/// workers with lines, one change at a time).
fn large() -> Plan {
    let profiles = ["wal-full", "wal-normal", "delete-full", "wal-off"];
    let grid = (0..100)
        .map(|i| variant(0, &[("profile", text(profiles[i % 4])), ("query", text(&format!("query-{}", i / 4)))]));
    let sharing = ["own-connection", "app-lock", "one-connection", "pool(4)", "group-commit"];
    let workers = (0..100)
        .map(|i| variant(1, &[("sharing", text(sharing[i % 5])), ("workers", Scalar::Integer(1 + i as i64 / 5))]));
    let alone = (0..100).map(|i| variant(2, &[("driver", text(&format!("driver-{i}")))]));
    let metrics = ["throughput", "p50", "p99", "cpu"];
    Plan {
        scenarios: vec![
            scenario("grid", 10, &["profile", "query"], 0, &metrics),
            scenario("workers", 10, &["sharing", "workers"], 100, &metrics),
            scenario("drivers", 10, &["driver"], 200, &metrics),
        ],
        variants: grid.chain(workers).chain(alone).collect(),
        ..empty()
    }
}

/// Opened in a browser by `scripts/test-page`, from this place.
#[test]
fn a_page_of_a_hundred_variants_is_small() {
    // Where scripts/test-page looks for the page, possibly while another process makes it, too.
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let own = tempfile::tempdir_in(directory).unwrap();
    let path = own.path().join("large.db");
    let trial = |round: u32, variant: usize| {
        // Different values, so that bars differ, with the durability of the profile.
        changed(round % 8, [0, 1, 2][variant % 3], |numbers| {
            numbers.committed = numbers.committed * (variant as u64 % 37 + 5) / 10;
            numbers.settings = vec![[("wal", 2), ("wal", 1), ("delete", 2), ("wal", 0)][variant % 4]];
        })
    };
    let (file, info) = record(&path, &large(), |_| (), trial);
    let (analysis, evidence) = html::read(&file, &info).unwrap();
    let page = html::page(&analysis, &info, &evidence);
    std::fs::write(own.path().join("large.html"), &page).unwrap();
    std::fs::rename(own.path().join("large.html"), directory.join("large.html")).unwrap();
    assert!(page.len() < 750_000, "{} bytes for 300 variants", page.len());
    let mut third = analysis.clone();
    for scenario in &mut third.scenarios {
        scenario.variants.truncate(34);
        scenario.comparisons.truncate(33);
    }
    let page = html::page(&third, &info, &evidence);
    assert!(page.len() <= 250_000, "{} bytes for 102 variants", page.len());
}

/// Peak resident memory of this process in KiB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

/// Run with `cargo test --release -p litelab-report --test scale -- --ignored`.
#[test]
#[ignore = "a timing, meaningful in release builds on a machine at rest"]
fn ten_thousand_trials_take_seconds_and_little_memory() {
    let directory = tempfile::tempdir().unwrap();
    let (file, info) = recorded(directory.path(), 10, 1000);
    let begun = Instant::now();
    let analysis = analyse(&file, &info).unwrap();
    let analysed = begun.elapsed();
    let text = show_all(&analysis, &info, Style::PLAIN);
    let all = begun.elapsed();
    let (again, evidence) = html::read(&file, &info).unwrap();
    let page = html::page(&again, &info, &evidence);
    let paged = begun.elapsed() - all;
    assert!(paged < Duration::from_secs(5), "{} bytes in {paged:?}", page.len());
    println!("a page of {} bytes in {paged:?}", page.len());
    println!("analysed in {analysed:?}, shown after {all:?}, peak {:?} KiB", peak());
    assert!(text.contains("10000 trials measured"));
    assert!(all < Duration::from_secs(5), "{all:?}");
    assert!(peak().is_none_or(|kib| kib < 300 * 1024), "{:?} KiB", peak());
}
