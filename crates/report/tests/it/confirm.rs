//! Confirmation: which regressions can run again, and the verdicts of the re-run.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common::plan::{changed, study};
use crate::common::{analysed, side};
use litelab_model::Plan;
use litelab_record::RunInfo;
use litelab_report::compare::{Builds, Comparison, Pairing, RerunMode, Unlike, confirm};
use litelab_report::document::of_confirmation;
use litelab_report::export::markdown;
use litelab_report::{Analysis, CompareOptions, Style, compare, render};
use litelab_stats::Verdict;

/// A run of a plan, with median latencies multiplied by `factor` in the variants that `slow` selects.
fn ran(plan: &Plan, factor: f64, slow: impl Fn(&Plan, usize) -> bool) -> (RunInfo, Analysis) {
    // A variant of a re-run has the outcomes of the study's variant that it was made from.
    let origin = |variant: usize| {
        let name =
            plan.variant_name(variant).replace(" side=base", "").replace(" side=head", "").replace("sync-2/", "sync/");
        (0..study().variants.len()).find(|i| study().variant_name(*i) == name.replace("sync-3/", "sync/"))
    };
    let (mut info, analysis) = analysed(plan, |round, variant| {
        let factor = if slow(plan, variant) { factor } else { 1.0 };
        changed(round % 8, origin(variant)?, |numbers| numbers.p50_ns = (numbers.p50_ns as f64 * factor) as u64)
    });
    info.path = "runs/again.db".into();
    info.builds.insert("rust".into(), "0011223344".into());
    (info, analysis)
}

/// The study, and the study with everything 1.5 times as slow.
fn compared() -> ((RunInfo, Analysis), (RunInfo, Analysis), Comparison) {
    let (base, head) = (ran(&study(), 1.0, |_, _| false), ran(&study(), 1.5, |_, _| true));
    let comparison = compare(side(&base), side(&head), &CompareOptions::default()).unwrap();
    assert!(!comparison.regressions().is_empty());
    (base, head, comparison)
}

#[test]
fn with_the_builds_at_hand_both_sides_are_run_again_in_the_same_rounds() {
    let (base, head, comparison) = compared();
    let again = confirm::again(&comparison, &base.0, &head.0, &Builds::of(&head.0));
    assert!(again.pairs.iter().all(|(_, means)| *means == RerunMode::Interleaved), "{:?}", again.pairs);
    let plan = again.plan.clone().unwrap();
    assert_eq!(plan.variants.len(), 2 * again.pairs.len());
    assert!(plan.scenarios.iter().all(|s| (10..=40).contains(&s.rounds)));
    // The regression occurs again in the variants of head.
    let rerun = ran(&plan, 1.5, |plan, variant| plan.variant_name(variant).ends_with("side=head"));
    let found = confirm::judge(&comparison, side(&base), &again, side(&rerun));
    assert_eq!((found.confirmed(), found.rows.len()), (comparison.regressions().len(), comparison.regressions().len()));
    assert!(found.rows.iter().all(|row| row.pairing == Pairing::Rounds));
    insta::assert_snapshot!("confirmed", render(&of_confirmation(&found), Style::PLAIN));
    // The regression does not occur again.
    let rerun = ran(&plan, 1.0, |_, _| false);
    let found = confirm::judge(&comparison, side(&base), &again, side(&rerun));
    assert_eq!(found.confirmed(), 0);
    assert!(found.rows.iter().all(|row| row.again.verdict == Verdict::Equivalent));
    insta::assert_snapshot!("not-confirmed", markdown::render(&of_confirmation(&found)));
}

#[test]
fn a_base_whose_build_is_gone_leaves_head_alone() {
    let (mut base, head, _) = compared();
    let here = Builds::of(&head.0);
    base.0.runners[0].drivers[0].version = "1.2.2".into();
    let allowed = CompareOptions { allow_unlike: vec![Unlike::Driver], ..CompareOptions::default() };
    let comparison = compare(side(&base), side(&head), &allowed).unwrap();
    let again = confirm::again(&comparison, &base.0, &head.0, &here);
    let RerunMode::HeadAlone(why) = &again.pairs[0].1 else { panic!("{:?}", again.pairs) };
    assert!(why.contains("base ran with rusqlite 1.2.2") && why.contains("here is rusqlite 1.2.3"), "{why}");
    let plan = again.plan.clone().unwrap();
    assert_eq!(plan.variants.len(), again.pairs.len());
    let rerun = ran(&plan, 1.5, |_, _| true);
    let found = confirm::judge(&comparison, side(&base), &again, side(&rerun));
    assert_eq!(found.confirmed(), comparison.regressions().len());
    assert!(found.rows.iter().all(|row| row.pairing == Pairing::None));
    let text = render(&of_confirmation(&found), Style::PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("only head was run again") && text.contains("drift is not controlled"), "{text}");
    // On another host, the old trials of base are not comparable.
    let mut elsewhere = rerun.clone();
    elsewhere.0.environment.cpu.model = Some("Another CPU".into());
    let found = confirm::judge(&comparison, side(&base), &again, side(&elsewhere));
    assert_eq!((found.rows.len(), found.impossible.len()), (0, again.pairs.len()));
    assert!(found.impossible[0].1.contains("another host: the CPU is Made-up CPU 3000"), "{:?}", found.impossible);
}

#[test]
fn both_sides_may_be_run_again_elsewhere_which_is_said() {
    let (base, head, comparison) = compared();
    let again = confirm::again(&comparison, &base.0, &head.0, &Builds::of(&head.0));
    let mut rerun =
        ran(again.plan.as_ref().unwrap(), 1.5, |plan, variant| plan.variant_name(variant).ends_with("side=head"));
    rerun.0.environment.cpu.model = Some("Another CPU".into());
    let found = confirm::judge(&comparison, side(&base), &again, side(&rerun));
    assert_eq!(found.confirmed(), comparison.regressions().len());
    assert!(found.notes[0].contains("on another host: the CPU is"), "{:?}", found.notes);
}

#[test]
fn what_cannot_tell_base_from_head_is_not_taken_for_both() {
    let (base, head, comparison) = compared();
    let variants = comparison.regressions()[0].variants;
    let here = Builds::of(&head.0);
    // Two builds of one version, distinguished by their fingerprints.
    let mut other = base.0.clone();
    other.builds.insert("rust".into(), "9988776655".into());
    let RerunMode::HeadAlone(why) = confirm::means(&other, &head.0, variants, &here) else {
        panic!("taken for head's")
    };
    assert!(why.contains("build 99887766"), "{why}");
    // Without fingerprints, the same plan with the same versions may have run with another program.
    let mut unknown = base.0.clone();
    unknown.builds.clear();
    assert!(matches!(confirm::means(&unknown, &head.0, variants, &here), RerunMode::HeadAlone(_)));
    // If the plans differ, the plan is under test.
    unknown.plan.variants[variants.0].schema = "CREATE TABLE other(a)".into();
    assert_eq!(confirm::means(&unknown, &head.0, variants, &here), RerunMode::Interleaved);
}

#[test]
fn a_head_that_is_not_here_cannot_be_run_again() {
    let (base, head, comparison) = compared();
    let RerunMode::Impossible(why) =
        confirm::means(&base.0, &head.0, comparison.regressions()[0].variants, &Builds::default())
    else {
        panic!("there is no runner")
    };
    assert!(why.contains("no runner here has that driver"), "{why}");
    let again = confirm::again(&comparison, &base.0, &head.0, &Builds::default());
    assert_eq!(again.plan, None);
    let found = confirm::without_run(&comparison, &again);
    assert_eq!((found.confirmed(), found.impossible.len()), (0, again.pairs.len()));
    assert!(render(&of_confirmation(&found), Style::PLAIN).contains("no regression could be confirmed or refuted"));
}
