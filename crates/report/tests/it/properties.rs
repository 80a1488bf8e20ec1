//! Any trials result in a report, in which no ratio is without its interval.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use std::sync::LazyLock;

use crate::common;
use crate::common::Numbers;
use crate::common::plan::study;
use litelab_model::Plan;
use litelab_record::RunInfo;
use litelab_record::environment::LoadWindow;
use litelab_record::outcome::{Failure, FailureKind, Flag, Outcome, TrialRecord};
use litelab_report::document::{of_comparison, of_run};
use litelab_report::export::{json, markdown};
use litelab_report::{Analysis, Collector, CompareOptions, Side, Style, compare, render, show, show_all};
use proptest::prelude::*;

/// The run of the study with another plan, three rounds and this load.
fn info(plan: Plan, load: f64) -> RunInfo {
    static STUDY: LazyLock<RunInfo> = LazyLock::new(|| common::study().0);
    let load =
        LoadWindow { busy_share: Some(load), steal_share: Some(load), ticks: Some(1000), ..LoadWindow::default() };
    RunInfo { plan, done: vec![3], loads: vec![load], finished: None, ..STUDY.clone() }
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(0.0), -1e300..1e300, 0.0..1.0_f64]
}

/// Any text without the sign `×`, which the test searches for.
fn any_text() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| text.replace('×', ""))
}

fn any_count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), 1..10_000_u64, any::<u64>()]
}

fn any_flag() -> impl Strategy<Value = Flag> {
    prop_oneof![
        any_number().prop_map(|difference| Flag::LittlesLaw { difference }),
        (any_text(), any_number(), any_count()).prop_map(|(role, achieved, unserved)| Flag::Overloaded {
            role,
            achieved,
            unserved
        }),
        any_number().prop_map(|seconds| Flag::Short { seconds, ended: 70, median: Some(seconds) }),
        (any_count(), any_count()).prop_map(|(failed, of)| Flag::Failures { failed, of }),
        any_number().prop_map(|share| Flag::LateSamples { share }),
    ]
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let failure = any_text().prop_map(|reason| {
        Outcome::Failed(Box::new(Failure {
            kind: FailureKind::Runner,
            reason,
            stderr: String::new(),
            settings: vec![],
            result: None,
        }))
    });
    let level = -1_i64..5;
    let measured = (any_count(), any_count(), any_count(), any_count(), level, prop::collection::vec(any_flag(), 0..3))
        .prop_map(|(committed, p50_ns, cpu_ns, measured_ns, level, flags)| {
            let numbers =
                Numbers { committed, p50_ns, cpu_ns, flags, settings: vec![("wal", level)], ..Numbers::default() };
            let mut measurement = numbers.measurement(&study().variants[0]);
            measurement.result.measured_ns = measured_ns;
            // Two of them, so that the largest counts are summed.
            let again = measurement.result.operations[0].clone();
            measurement.result.operations.push(again);
            Outcome::Measured(Box::new(measurement))
        });
    prop_oneof![1 => failure, 4 => measured]
}

/// Trials of up to eight rounds of some of the variants.
fn any_trials() -> impl Strategy<Value = Vec<(u32, usize, Outcome)>> {
    prop::collection::vec((0..8_u32, 0..7_usize, any_outcome()), 0..40)
}

fn analysis(info: &RunInfo, trials: Vec<(u32, usize, Outcome)>) -> Analysis {
    let mut collector = Collector::new(&info.plan, &[]);
    let mut seen = vec![];
    for (round, variant, outcome) in trials {
        if !seen.contains(&(round, variant)) {
            seen.push((round, variant));
            let record = TrialRecord { round, variant, position: 0, started: String::new(), seconds: 0.0, outcome };
            collector.add(&info.plan, &record).unwrap();
        }
    }
    collector.finish(info)
}

/// Whether every `×` is followed by an interval.
fn ratios_have_intervals(text: &str) -> bool {
    text.match_indices('×').all(|(at, sign)| {
        let rest = text[at + sign.len()..].trim_start();
        rest.starts_with('[') && rest.split_once(']').is_some_and(|(inside, _)| inside.contains(", "))
    })
}

#[test]
fn the_check_itself_finds_a_lonely_ratio() {
    assert!(ratios_have_intervals("1.34× [1.29, 1.40] and 2.00×\n  [1.00, 3.00]"));
    assert!(!ratios_have_intervals("1.34× faster"));
    assert!(!ratios_have_intervals("1.34× [?]"));
}

#[test]
fn a_trial_of_no_variant_is_a_damaged_file() {
    let info = info(study(), 0.0);
    let outcome = Outcome::Measured(Box::new(Numbers::default().measurement(&info.plan.variants[0])));
    let record = TrialRecord { round: 0, variant: 7, position: 0, started: String::new(), seconds: 0.0, outcome };
    let error = Collector::new(&info.plan, &[]).add(&info.plan, &record).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_report_is_made_of_anything(
        trials in any_trials(), tolerance in any_number(), load in any_number(), baseline in 0..9_usize,
        width in 0..300_usize, color: bool, name in any_text(),
    ) {
        let mut plan = study();
        plan.tolerance = tolerance;
        plan.title = name;
        plan.scenarios[0].baseline = baseline;
        let info = info(plan, load);
        let analysis = analysis(&info, trials);
        let both = |style| show(&analysis, &info, style) + &show_all(&analysis, &info, style);
        let text = both(Style { color, width });
        prop_assert!(color || text.chars().all(|c| c == '\n' || !c.is_control()));
        let plain = both(Style { color: false, width: 1000 });
        prop_assert!(ratios_have_intervals(&plain), "{}", plain);
        let markdown = markdown::render(&of_run(&analysis, &info));
        prop_assert!(ratios_have_intervals(&markdown), "{}", markdown);
        prop_assert!(markdown.chars().all(|c| c == '\n' || !c.is_control()));
        prop_assert!(json::text(&analysis, &info).is_ok());
        let side = Side { analysis: &analysis, info: &info };
        let options = CompareOptions { tolerance: Some(0.1), ..CompareOptions::default() };
        let compared = of_comparison(&compare(side, side, &options).unwrap());
        let compared = render(&compared, Style { color: false, width: 1000 });
        prop_assert!(ratios_have_intervals(&compared), "{}", compared);
    }
}

#[test]
fn a_run_of_nothing_is_a_report_too() {
    let info = info(common::plan::empty(), f64::NAN);
    let analysis = analysis(&info, vec![]);
    let style = Style { color: true, width: 0 };
    for text in [show(&analysis, &info, style), show_all(&analysis, &info, style)] {
        assert!(text.contains("What does durability cost?"));
    }
}
