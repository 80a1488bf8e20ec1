//! Calibrations, alone and in the header of a run.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use crate::common::plan::{outcome, study, transaction};
use crate::common::record;
use litelab_protocol::{Begin, Transaction};
use litelab_record::calibration::{
    Clock, DetectableEffect, Host, HostCalibration, Noise, RunnerCost, StoredCalibration, Work,
};
use litelab_record::environment::{FsyncProbe, LoadWindow, SyncLatency};
use litelab_record::{Recorder, RunFile, RunInfo};
use litelab_report::calibration::{forecasts, noise};
use litelab_report::document::of_calibration;
use litelab_report::{Analysis, Style, analyse, render, show_all};
use litelab_stats::{Aa, Confidence, Planner, Spread};

/// A host whose identical variants have exactly the spread `spread` in logarithms.
fn calibration(spread: f64) -> HostCalibration {
    let rows = Work::ALL.into_iter().flat_map(|work| ["throughput", "p50"].map(|metric| (work, metric)));
    let noise = rows.map(|(work, metric)| {
        // Scale of the noise: queries 1.5, commits 2, throughput 3 times as much.
        let of_work = [1.0, 1.5, 2.0][work as usize];
        let factor = of_work * if metric == "p50" { 1.0 } else { 3.0 };
        let s = spread * factor;
        // The median absolute deviation of the rounds is s.
        let d = s / 1.482_602_218_505_602;
        let rounds: Vec<(f64, f64)> =
            (0..60).map(|i| (1.0, ([d, -d][i % 2] * (0.5 + (i / 2) as f64 / 30.0)).exp())).collect();
        let aa = Aa::of(&rounds, 6, Confidence::P95).unwrap();
        let effect =
            |rounds| DetectableEffect { rounds, effect: Planner::default().smallest_effect(Spread::normal(s), rounds) };
        Noise {
            work,
            metric: metric.parse().unwrap(),
            rounds: 60,
            ratio: aa.overall.ratio,
            spread: Spread::normal(s),
            experiment_rounds: 6,
            experiments: aa.experiments,
            false_differences: aa.false_differences,
            false_rate: aa.rate,
            effects: [6, 10, 20, 40].map(effect).to_vec(),
        }
    });
    let quantiles = |ns: u64| SyncLatency {
        writes: 2000,
        min_ns: ns / 2,
        p10_ns: ns / 4 * 3,
        p50_ns: ns,
        p90_ns: 2 * ns,
        p99_ns: 5 * ns,
        p999_ns: 9 * ns,
        max_ns: 20 * ns,
    };
    HostCalibration {
        litelab: "0.1.0".into(),
        made: "2026-01-02T03:04:05.000Z".into(),
        made_unix: 1_767_323_045,
        quick: false,
        seconds: 98.5,
        host: Host {
            system: "linux x86_64".into(),
            cpu: Some("Made-up CPU 3000".into()),
            processors: Some(4),
            filesystem: Some("ext4".into()),
            ..Host::default()
        },
        driver: "rusqlite".into(),
        noise: noise.collect(),
        clock: Clock { cost_ns: 21.5, resolution_ns: 10 },
        runners: vec![RunnerCost {
            runner: "rusqlite".into(),
            language: "rust".into(),
            runtime: "rustc 1.95.0".into(),
            nanos: (420.0, 390.0, 610.0),
            trials: 3,
        }],
        sync: Some(FsyncProbe { overwrite: quantiles(1_000_000), append: quantiles(2_000_000) }),
        rest: LoadWindow { busy_share: Some(0.01), load_average: Some([0.25, 0.5, 0.75]), ..LoadWindow::default() },
        worst: LoadWindow { steal_share: Some(0.03), ..LoadWindow::default() },
    }
}

/// The test study, on a host that was calibrated before it.
fn calibrated(spread: f64) -> (RunInfo, Analysis) {
    let directory = tempfile::tempdir().unwrap();
    let stored = StoredCalibration { age_seconds: 7260, calibration: calibration(spread) };
    let prepare = |recorder: &Recorder| recorder.host(&stored).unwrap();
    let mut plan = study();
    let write = Transaction { begin: Begin::None, ..transaction("write") };
    plan.variants.iter_mut().for_each(|variant| variant.trial.transactions = vec![write.clone()]);
    let (file, info) = record(&directory.path().join("run.db"), &plan, prepare, outcome);
    assert_eq!(info.host, Some(stored));
    let analysis = analyse(&file, &info).unwrap();
    (info, analysis)
}

#[test]
fn a_calibration_is_shown() {
    insta::assert_snapshot!("calibration", render(&of_calibration(&calibration(0.02)), Style::PLAIN));
}

#[test]
fn a_host_too_noisy_for_the_study_is_named_with_the_rounds_it_takes() {
    let (info, analysis) = calibrated(0.05);
    let found = forecasts(&info);
    let commits = found.iter().find(|f| f.scenario == "sync").unwrap();
    // Two comparisons in three metrics share 95 %; p50 scatters less than throughput.
    let planner = Planner::new(Confidence::P95.shared_by(6).unwrap(), 0.8).unwrap();
    assert_eq!(commits.metric.to_string(), "p50");
    assert_eq!(commits.needed, planner.total_for_tolerance(Spread::normal(0.1), litelab_stats::Tolerance::DEFAULT));
    assert_eq!(commits.effect, planner.smallest_effect(Spread::normal(0.1), commits.rounds));
    let text = show_all(&analysis, &info, Style::PLAIN);
    assert!(text.contains("calibrated"), "{text}");
    assert!(text.contains("2 hours before the run"), "{text}");
    let line = format!("sync: {commits}");
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(&line), "{line} is not in\n{text}");
    assert!(line.contains("; the study asks for 5 %: about "), "{line}");
    let hopeless = forecasts(&calibrated(0.1).0).iter().find(|f| f.scenario == "sync").unwrap().to_string();
    assert!(hopeless.ends_with(": no number of rounds worth running would do"), "{hopeless}");
}

#[test]
fn work_that_does_not_sync_is_taken_for_the_noisier_kind_bound_by_the_processor() {
    let directory = tempfile::tempdir().unwrap();
    let stored = StoredCalibration { age_seconds: 1, calibration: calibration(0.1) };
    // The variants of the study have no transactions, so that nothing is written.
    let prepare = |recorder: &Recorder| recorder.host(&stored).unwrap();
    let (_, info) = record(&directory.path().join("run.db"), &study(), prepare, outcome);
    let found = forecasts(&info);
    let sync = found.iter().find(|f| f.scenario == "sync").unwrap();
    let planner = Planner::new(Confidence::P95.shared_by(6).unwrap(), 0.8).unwrap();
    assert_eq!(sync.effect, planner.smallest_effect(Spread::normal(0.1 * 1.5), sync.rounds));
}

#[test]
fn a_quiet_host_is_not_warned_of_and_three_times_the_noise_takes_nine_times_the_rounds() {
    let (info, analysis) = calibrated(0.001);
    assert_eq!(forecasts(&info), []);
    assert!(!show_all(&analysis, &info, Style::PLAIN).contains("the study asks for"));
    let needed = |spread| {
        let found = forecasts(&calibrated(spread).0);
        f64::from(found.iter().find(|f| f.scenario == "sync").unwrap().needed.unwrap())
    };
    // Except for the few rounds that an unknown spread costs.
    let factor = needed(0.6) / needed(0.2);
    assert!((8.8..9.01).contains(&factor), "{factor}");
}

#[test]
fn without_a_calibration_nothing_is_forecast() {
    let (info, analysis) = common::study();
    assert_eq!(info.host, None);
    assert_eq!(forecasts(&info), []);
    assert!(!show_all(&analysis, &info, Style::PLAIN).contains("calibrated"));
}

/// A file of a litelab version without calibrations of hosts and builds of runners.
#[test]
fn an_older_file_still_opens() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let stored = StoredCalibration { age_seconds: 1, calibration: calibration(0.02) };
    record(&path, &study(), |recorder| recorder.host(&stored).unwrap(), outcome);
    let changed = |sql: &str| {
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        RunFile::open(&path).unwrap().info().unwrap()
    };
    // A file whose calibration has the format of another version opens as well.
    let foreign =
        changed("UPDATE run SET value = json_remove(value, '$.calibration.noise') WHERE key = 'host_calibration'");
    assert_eq!(foreign.host, None);
    let older = changed("DELETE FROM run WHERE key IN ('host_calibration', 'builds')");
    assert_eq!((older.host, older.builds.len()), (None, 0));
}

#[test]
fn noise_is_read_off_variants_and_their_twins() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = study();
    // Two variants of a scenario become a variant and its twin, in a scenario that calibrations recognise.
    plan.variants.truncate(2);
    plan.scenarios.truncate(1);
    plan.claims.clear();
    plan.findings.clear();
    plan.scenarios[0].name = "commits".into();
    plan.scenarios[0].rounds = 13;
    let mut twin = plan.variants[0].dimensions.clone();
    twin.insert(litelab_model::resolve::AA.into(), litelab_model::Scalar::Text("twin".into()));
    plan.variants[1].dimensions = twin;
    // As different as two variants of the study: a biased pair.
    let (file, info) = record(&directory.path().join("aa.db"), &plan, |_| (), outcome);
    let biased = noise(&analyse(&file, &info).unwrap());
    let p50 = biased.iter().find(|n| n.metric.to_string() == "p50").unwrap();
    assert_eq!((p50.work, p50.rounds, p50.experiments, p50.false_differences), (Work::Commits, 13, 2, 2));
    assert!(!p50.ratio.interval().unwrap().contains(1.0));
    // The same numbers twice: no difference.
    let (file, info) = record(&directory.path().join("same.db"), &plan, |_| (), |round, _| outcome(round, 0));
    let fair = noise(&analyse(&file, &info).unwrap());
    let p50 = fair.iter().find(|n| n.metric.to_string() == "p50").unwrap();
    assert_eq!((p50.false_differences, p50.spread), (0, Spread::normal(0.0)));
    // A calibration contains nothing about an unknown scenario.
    plan.scenarios[0].name = "other".into();
    let (file, info) = record(&directory.path().join("other.db"), &plan, |_| (), outcome);
    assert_eq!(noise(&analyse(&file, &info).unwrap()), []);
}
