//! "Which one should I use?": the best variant of each durability level, ties, problems, and what is undecided.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common::plan::{empty, scenario, text, variant};
use crate::common::{Gives, Numbers, analysed};
use litelab_model::Scalar;
use litelab_model::condition::LimitPlan;
use litelab_model::durability::Durability;
use litelab_model::plan::Plan;
use litelab_record::RunInfo;
use litelab_record::outcome::FailureKind;
use litelab_report::analysis::{Answer, ProblemKind};
use litelab_report::{Analysis, Style, show};
use litelab_stats::Verdict;

fn plan(rounds: u32) -> Plan {
    let profile = |name: &str| variant(0, &[("profile", text(name)), ("workers", Scalar::Integer(8))]);
    Plan {
        scenarios: vec![scenario("s", rounds, &["profile", "workers"], 0, &["throughput"])],
        variants: vec![profile("wal-full"), profile("wal-full-2"), profile("wal-normal"), profile("delete-full")],
        ..empty()
    }
}

/// Committed transactions of the four variants: two safe ones alike, one faster at a risk, one slower at a risk.
const COMMITTED: [f64; 4] = [10_000.0, 10_050.0, 40_000.0, 2_000.0];

fn trial(round: u32, variant: usize) -> Option<Gives> {
    let noise = 1.0 + f64::from((round * 7 + variant as u32 * 3) % 8) / 1000.0;
    let settings = [("wal", 2), ("wal", 2), ("wal", 1), ("delete", 2)][variant];
    let committed = (COMMITTED[variant] * noise) as u64;
    Some(Numbers { committed, settings: vec![settings], ..Numbers::default() }.into())
}

fn run(rounds: u32, trial: impl Fn(u32, usize) -> Option<Gives>) -> (RunInfo, Analysis) {
    analysed(&plan(rounds), trial)
}

fn answer(analysis: &Analysis) -> &Answer {
    &analysis.scenarios[0].answer
}

fn shown((info, analysis): &(RunInfo, Analysis)) -> String {
    show(analysis, info, Style { color: false, width: 200 })
}

#[test]
fn each_level_has_its_best_and_its_ties_and_a_worse_one_is_no_choice() {
    let run = run(12, trial);
    let levels = &answer(&run.1).levels;
    let found: Vec<(Durability, usize, bool)> =
        levels.iter().map(|level| (level.durability.unwrap(), level.best, level.dominated)).collect();
    assert_eq!(found, [(Durability::D4, 1, false), (Durability::D3, 3, true), (Durability::D2, 2, false)]);
    assert_eq!(levels[0].ties, [0]);
    let bought = levels[2].over_safest.unwrap().ratio.value;
    assert!((3.9..4.1).contains(&bought), "{bought}");
    let text = shown(&run);
    for sentence in [
        "► safe: wal-full-2, 10.1k commits/s",
        "not told apart from WAL FULL",
        "► giving up the last commits at a power loss buys 3.99×",
        "▼ less safe and not shown to be better: DELETE FULL",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    assert_eq!(answer(&run.1).constant.get("durability"), None);
}

#[test]
fn a_variant_whose_trials_fail_is_not_chosen_by_those_that_are_left() {
    let failing = |round: u32, variant: usize| match (variant, round % 4) {
        (2, 0) => Some(Gives::Failure(FailureKind::Runner, "disk I/O error")),
        _ => trial(round, variant),
    };
    let (_, analysis) = run(12, failing);
    assert_eq!(answer(&analysis).levels.iter().map(|level| level.best).collect::<Vec<_>>(), [1, 3]);
    let of = |variant: usize| {
        let comparisons = &analysis.scenarios[0].comparisons;
        comparisons.iter().find(|of| of.variant == variant).unwrap().metrics[0].clone()
    };
    assert!(of(2).ratio.is_err_and(|why| why.contains("3 of 12 trials")), "quicker, by the trials that are left");
    assert_eq!(of(3).verdict, Verdict::Slower);
    // The best of those that are left says that there are others.
    let failing = |round: u32, variant: usize| match (variant, round % 4) {
        (1, 0) => Some(Gives::Failure(FailureKind::Runner, "disk I/O error")),
        _ => trial(round, variant),
    };
    let text = shown(&run(12, failing));
    let line = text.lines().find(|line| line.contains("► safe: WAL FULL, ")).expect("a best one");
    assert!(line.ends_with("; 1 other not judged"), "{line}");
    // One that is slower although it fails is slower.
    let failing = |round: u32, variant: usize| match (variant, round % 4) {
        (3, 0) => Some(Gives::Failure(FailureKind::Runner, "disk I/O error")),
        _ => trial(round, variant),
    };
    let (_, analysis) = run(40, failing);
    assert_eq!(
        analysis.scenarios[0].comparisons.iter().find(|of| of.variant == 3).unwrap().metrics[0].verdict,
        Verdict::Slower
    );
}

#[test]
fn more_workers_that_do_less_are_named() {
    let mut plan = plan(12);
    plan.variants[0].dimensions.insert("workers".into(), Scalar::Integer(16));
    let text = shown(&analysed(&plan, trial));
    assert!(text.contains("► safe: 8 workers, wal-full-2, "), "{text}");
    assert!(!text.contains("more workers do not help"), "they are not told apart: {text}");
    let slower = |round: u32, variant: usize| match variant {
        0 => Some(
            Numbers { committed: 9_000 + u64::from(round), settings: vec![("wal", 2)], ..Numbers::default() }.into(),
        ),
        _ => trial(round, variant),
    };
    let text = shown(&analysed(&plan, slower));
    assert_eq!(text.matches("more workers do not help").count(), 1, "{text}");
    // One that is not compared is not shown to be slower.
    let failed = |round: u32, variant: usize| match (variant, round) {
        (0, 3) => Some(Gives::Failure(FailureKind::Runner, "disk I/O error")),
        _ => slower(round, variant),
    };
    let text = shown(&analysed(&plan, failed));
    assert!(!text.contains("more workers do not help"), "{text}");
}

#[test]
fn too_few_rounds_are_one_sentence_with_the_number_needed() {
    let run = run(4, trial);
    let undecided = answer(&run.1).undecided.as_ref().unwrap();
    assert_eq!((undecided.text.as_str(), undecided.rounds), ("not compared: 4 rounds, 7 needed", Some(7)));
    assert!(shown(&run).contains("~ not compared: 4 rounds, 7 needed"));
}

#[test]
fn a_reason_shared_by_variants_is_one_problem_and_stands_above_the_table() {
    let broken = |_: u32, variant: usize| match variant {
        0 => Some(Gives::Failure(FailureKind::Runner, "disk I/O error at page 7")),
        2 => Some(Gives::Failure(FailureKind::Runner, "disk I/O error at page 9")),
        _ => trial(0, variant),
    };
    let run = run(6, broken);
    let problems = &answer(&run.1).problems;
    assert_eq!(
        problems.iter().map(|p| (p.kind, p.variants.clone())).collect::<Vec<_>>(),
        [(ProblemKind::Failed, vec![0, 2])]
    );
    let text = shown(&run);
    let (problem, table) = (
        text.find("✘ s: WAL FULL (and 1 other, with other figures): 6 of 6 trials failed: disk I/O"),
        text.find("── s"),
    );
    assert!(problem.is_some() && problem < table, "{text}");
}

#[test]
fn bounds_that_differ_in_figures_alone_are_two_problems() {
    let mut plan = plan(8);
    let limit = |name: &str, at_most: f64| {
        let metric = name.parse().unwrap();
        LimitPlan { metric, at_least: None, at_most: Some(at_most), text: String::new() }
    };
    plan.scenarios[0].alerts = vec![limit("p50", 1e3), limit("p99", 2e3)];
    let run = analysed(&plan, |round, variant| match variant {
        2 => Some(Numbers { p50_ns: 5_000, p99_ns: 9_000, settings: vec![("wal", 1)], ..Numbers::default() }.into()),
        _ => trial(round, variant),
    });
    let problems: Vec<(&str, usize)> = answer(&run.1)
        .problems
        .iter()
        .map(|p| (p.text.as_str(), p.variants.iter().filter(|v| **v == 2).count()))
        .collect();
    assert_eq!(problems, [("p50 > 1.00 µs", 1), ("p99 > 2.00 µs", 1)]);
}

#[test]
fn a_tie_without_a_ratio_is_open_and_one_that_is_far_away_is_not() {
    let zero_in_two = |value: u64| {
        run(12, move |round, variant| match variant {
            0 => {
                let committed = if round < 2 { 0 } else { value + u64::from(round * 7 % 8) * 10 };
                Some(Numbers { committed, settings: vec![("wal", 2)], ..Numbers::default() }.into())
            }
            _ => trial(round, variant),
        })
    };
    let open = zero_in_two(10_030);
    assert_eq!(answer(&open.1).levels[0].ties, [0]);
    let undecided = answer(&open.1).undecided.as_ref().unwrap();
    assert_eq!(undecided.text, "1 variant not told apart from wal-full-2: more rounds would hardly tell");
    let far = zero_in_two(100);
    assert_eq!(answer(&far.1).levels[0].ties, Vec::<usize>::new());
    assert_eq!(answer(&far.1).undecided, None);
}

#[test]
fn a_fast_variant_that_starves_its_workers_says_so() {
    let unfair = |round: u32, variant: usize| match variant {
        2 => {
            let Some(Gives::Numbers(numbers)) = trial(round, variant) else { return None };
            Some(Numbers { starving: true, ..*numbers }.into())
        }
        _ => trial(round, variant),
    };
    let text = shown(&run(8, unfair));
    assert!(text.contains("but its slowest worker gets 5 % of the mean"), "{text}");
    let row = text.lines().find(|line| line.contains("WAL NORMAL") && line.trim_end().ends_with("YES"));
    let Some(row) = row else { panic!("{text}") };
    // Its transactions are short: the worker that starves has begun its own before the window.
    assert!(row.split_whitespace().any(|cell| cell == "800000") && text.contains("longest wait 800 ms"), "{text}");
}
