//! Comparisons of two runs, and of two variants of one run.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use crate::common::plan::{changed, empty, study};
use crate::common::{analysed, side};
use litelab_model::plan::Plan;
use litelab_record::RunInfo;
use litelab_report::compare::{Pairing, Unlike};
use litelab_report::document::of_comparison;
use litelab_report::export::markdown;
use litelab_report::{Analysis, CompareOptions, ReportError, Style, compare, compare_variants, render, select_variant};
use litelab_stats::Verdict;

/// A further run of the study, with median latencies multiplied by `factor`.
fn again(plan: &Plan, factor: f64) -> (RunInfo, Analysis) {
    let (mut info, analysis) = analysed(plan, |round, variant| {
        changed(round, variant, |numbers| numbers.p50_ns = (numbers.p50_ns as f64 * factor) as u64)
    });
    info.path = "runs/head.db".into();
    (info, analysis)
}

#[test]
fn a_slower_head_is_a_regression_and_drift_is_warned_of() {
    let (base, head) = (common::study(), again(&study(), 1.5));
    let compared = compare(side(&base), side(&head), &CompareOptions::default()).unwrap();
    assert_eq!(compared.pairing, Pairing::None);
    let regressions: Vec<String> = compared.regressions().iter().map(|r| format!("{} {}", r.name, r.metric)).collect();
    assert_eq!(
        regressions,
        ["sync/profile=wal-normal p50", "sync/profile=wal-full p50", "sync/profile=delete-full p50"]
    );
    let text = render(&of_comparison(&compared), Style::PLAIN);
    assert!(text.contains("drift between the two runs is not controlled"));
    insta::assert_snapshot!("compare", text);
    let page = markdown::render(&of_comparison(&compared));
    assert!(page.contains("| variant | durability | metric | base | head | ratio | verdict |"), "{page}");
}

#[test]
fn the_same_run_twice_shows_no_regression() {
    let base = common::study();
    let compared = compare(side(&base), side(&base), &CompareOptions::default()).unwrap();
    assert!(compared.regressions().is_empty());
    let p50 = compared.rows.iter().find(|row| row.metric.to_string() == "p50").unwrap();
    assert_eq!(p50.verdict, Verdict::Equivalent);
}

#[test]
fn a_faster_head_is_no_regression() {
    let (base, head) = (common::study(), again(&study(), 0.5));
    let compared = compare(side(&base), side(&head), &CompareOptions::default()).unwrap();
    assert!(compared.regressions().is_empty());
    assert!(compared.rows.iter().any(|row| row.verdict == Verdict::Faster));
}

#[test]
fn unlike_runs_are_refused_by_name_and_allowed_by_request() {
    let base = common::study();
    let refused = |head: &(RunInfo, Analysis)| match compare(side(&base), side(head), &CompareOptions::default()) {
        Err(error @ ReportError::Unlike(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let mut head = common::study();
    head.0.environment.cpu.model = Some("Another CPU".into());
    assert!(refused(&head).contains("the CPU is Made-up CPU 3000 in one and Another CPU in the other"));
    let mut head = common::study();
    head.0.environment.kernel.release = None;
    assert!(refused(&head).contains("the kernel is 6.18.0 in one and unknown"));
    let mut head = common::study();
    head.0.environment.filesystem = None;
    assert!(refused(&head).contains("the file system is ext4"));
    let mut head = common::study();
    head.0.runners[0].drivers[0].sqlite.as_mut().unwrap().source_id = "other".into();
    assert!(refused(&head).contains("the SQLite in rusqlite is 3.54.0 (2026-01-01 abcdef)"));
    let mut head = common::study();
    head.0.plan.variants[1].trial.roles[0].workers = 9;
    let error = refused(&head);
    assert!(error.contains("the roles differ (first in sync/profile=wal-full)"), "{error}");
    assert!(error.ends_with("--allow-unlike=work"), "{error}");
    let allowed = CompareOptions { allow_unlike: vec![Unlike::Work], ..CompareOptions::default() };
    let other = CompareOptions { allow_unlike: vec![Unlike::Host, Unlike::Driver], ..CompareOptions::default() };
    assert!(matches!(compare(side(&base), side(&head), &other), Err(ReportError::Unlike(_))));
    let compared = compare(side(&base), side(&head), &allowed).unwrap();
    assert!(render(&of_comparison(&compared), Style::PLAIN).contains("unlike: the roles differ"));
    // Other values with the same distribution.
    let mut head = common::study();
    head.0.plan.variants.iter_mut().for_each(|variant| variant.trial.seed = 7);
    assert!(compare(side(&base), side(&head), &CompareOptions::default()).is_ok());
}

#[test]
fn variants_of_one_run_are_compared_within_rounds() {
    let run = common::study();
    let compared = compare_variants(side(&run), 0, 1, &CompareOptions::default()).unwrap();
    assert_eq!(compared.pairing, Pairing::Rounds);
    assert_eq!(compared.regressions().len(), 2, "throughput and p50, while cpu is the same");
    let text = render(&of_comparison(&compared), Style::PLAIN);
    assert!(!text.contains("drift"));
    insta::assert_snapshot!("compare-variants", text);
    let options = CompareOptions { metrics: vec!["wal_peak".parse().unwrap()], ..CompareOptions::default() };
    let compared = compare_variants(side(&run), 0, 1, &options).unwrap();
    assert_eq!(compared.rows.len(), 1);
    assert_eq!(compared.rows[0].verdict, Verdict::Equivalent);
}

#[test]
fn nonsense_is_refused() {
    let run = common::study();
    let other = again(&Plan { seed: 1, ..empty() }, 1.0);
    assert!(matches!(compare(side(&run), side(&other), &CompareOptions::default()), Err(ReportError::NothingInCommon)));
    let options = |tolerance| CompareOptions { tolerance: Some(tolerance), ..CompareOptions::default() };
    for tolerance in [f64::NAN, -1.0, 0.0] {
        assert!(matches!(compare(side(&run), side(&run), &options(tolerance)), Err(ReportError::Tolerance(_))));
    }
    assert!(matches!(compare_variants(side(&run), 0, 0, &options(0.1)), Err(ReportError::Variant(_))));
    assert!(matches!(compare_variants(side(&run), 0, 99, &options(0.1)), Err(ReportError::Variant(_))));
}

#[test]
fn a_variant_is_selected_by_what_a_report_calls_it() {
    let plan = study();
    for index in 0..plan.variants.len() {
        assert_eq!(select_variant(&plan, &plan.variant_name(index)).unwrap(), index);
    }
    assert_eq!(select_variant(&plan, "profile=wal-full").unwrap(), 1);
    assert_eq!(select_variant(&plan, "batch/batch=10").unwrap(), 5);
    assert_eq!(select_variant(&plan, "alone/only").unwrap(), 6);
    let error = select_variant(&plan, "sync/").unwrap_err().to_string();
    assert!(error.contains("is 3 variants"), "{error}");
    let error = select_variant(&plan, "profile=wal").unwrap_err().to_string();
    assert!(error.contains("`sync/profile=wal-normal`"), "{error}");
}
