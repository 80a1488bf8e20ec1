//! Rare events are counted over all trials, and quantiles of too few observations are not judged.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common::plan::{claim, empty, metric, scenario, text, variant};
use crate::common::{Numbers, analysed, exported, seen};
use litelab_model::plan::{FindingPlan, FindingValuePlan, Plan};
use litelab_record::RunInfo;
use litelab_record::outcome::Flag;
use litelab_report::Analysis;
use litelab_stats::{ClaimVerdict, Verdict};

const OPEN: ClaimVerdict = ClaimVerdict::Inconclusive { rounds_needed: None };

/// A run of two variants, with a claim about the second one.
fn run(of: &str, bounds: (Option<f64>, Option<f64>), numbers: impl Fn(u32, usize) -> Numbers) -> (RunInfo, Analysis) {
    let variants = (0..2).map(|i| variant(0, &[("profile", text(&format!("p{i}")))])).collect();
    let value = FindingValuePlan::Value { metric: metric(of), variant: 1 };
    let findings = vec![FindingPlan {
        name: String::new(),
        text: "It is {it}.".into(),
        values: [("it".to_owned(), value)].into(),
    }];
    let scenarios = vec![scenario("s", 8, &["profile"], 0, &[of])];
    let claims = vec![claim(1, None, of, bounds.0, bounds.1)];
    let plan = Plan { scenarios, variants, claims, findings, ..empty() };
    analysed(&plan, |round, variant| Some(numbers(round, variant).into()))
}

/// 38 transactions in each trial of both variants, of which `failed` fail.
fn failing(failed: impl Fn(u32, usize) -> u64) -> impl Fn(u32, usize) -> Numbers {
    move |round, variant| {
        let failed = failed(round, variant);
        Numbers { committed: 38 - failed, failed, ..Numbers::default() }
    }
}

fn judged(bounds: (Option<f64>, Option<f64>), failed: impl Fn(u32, usize) -> u64) -> (ClaimVerdict, String) {
    let (_, analysis) = run("failed", bounds, failing(failed));
    let claim = &analysis.claims[0];
    (claim.verdict, claim.reason.clone().unwrap_or_default())
}

#[test]
fn none_of_304_neither_holds_that_none_fails_nor_contradicts_that_few_do() {
    let (verdict, reason) = judged((None, Some(0.0)), |_, _| 0);
    assert_eq!(verdict, OPEN);
    let says =
        "not shown otherwise: none in 304 transactions shows 1.21 % at the most, and no number of them shows never";
    assert_eq!(reason, says);
    assert_eq!(judged((None, Some(0.013)), |_, _| 0).0, ClaimVerdict::Holds);
    // A published 0.34 % (0.1 to 1 %) lies within the interval of 0 in 304.
    assert_eq!(judged((Some(0.001), Some(0.01)), |_, _| 0).0, ClaimVerdict::Inconclusive { rounds_needed: Some(89) });
    assert_eq!(judged((Some(0.02), None), |_, _| 0).0, ClaimVerdict::Contradicted);
    // One failure contradicts "never", and does not contradict "rarely".
    let one = |round, variant| u64::from(variant == 1 && round == 3);
    assert_eq!(judged((None, Some(0.0)), one).0, ClaimVerdict::Contradicted);
    assert_eq!(judged((None, Some(0.002)), one).0, OPEN);
}

#[test]
fn a_few_failures_in_few_trials_are_never_zero() {
    let (info, analysis) =
        run("failed", (None, Some(0.0)), failing(|round, variant| u64::from(variant == 1 && round < 3)));
    let estimate = analysis.variants[1].estimate(&metric("failed")).unwrap();
    assert!((estimate.value - 3.0 / 304.0).abs() < 1e-12 && estimate.low() > Some(0.0), "{estimate:?}");
    let text = seen(&analysis, &info);
    assert!(text.contains("0.987 % [0.") && text.contains(", 3 in 304 transactions"), "{text}");
    assert!(
        text.lines()
            .any(|line| line.contains("  failed ") && line.contains("  of the transactions of all trials together")),
        "{text}"
    );
    assert!(!text.contains("[0, 0]"), "{text}");
    let events = exported(&analysis, &info)["variants"][1]["metrics"]["failed"]["events"].clone();
    let counts = |name: &str| -> u64 { events.as_object().unwrap().values().map(|e| e[name].as_u64().unwrap()).sum() };
    assert_eq!((counts("count"), counts("of")), (3, 304), "{events}");
}

#[test]
fn variants_are_compared_by_their_counts_and_not_by_medians_of_zeros() {
    let compare = |failed: &dyn Fn(u32, usize) -> u64| {
        let (_, analysis) = run("failed", (None, Some(0.5)), failing(failed));
        analysis.scenarios[0].comparisons[0].metrics[0].clone()
    };
    // 12 against 4 of 304, but in only four of eight rounds.
    let few = compare(&|round, variant| if round % 2 == 0 { [1, 3][variant] } else { 0 });
    assert!(matches!(few.verdict, Verdict::Inconclusive { .. }), "{few:?}");
    assert!(few.ratio.unwrap_err().contains("12 of 304 against 4 of 304 happened in too few rounds"));
    let none = compare(&|_, variant| [0, 3][variant]);
    assert!(matches!(none.verdict, Verdict::Inconclusive { .. }), "{none:?}");
    // In all rounds, of which some have none in one variant.
    let many = compare(&|round, variant| [1 + u64::from(round % 3 == 0), 4 + u64::from(round)][variant]);
    assert_eq!(many.verdict, Verdict::Slower, "{many:?}");
    assert_eq!(many.ratio.unwrap().ratio.value, 60.0 / 11.0);
}

#[test]
fn errors_are_a_rate_per_transaction_that_may_exceed_one() {
    let (info, analysis) = run("errors", (Some(1.2), None), |round, _| Numbers {
        committed: 100,
        busy: 150 + u64::from(round % 3),
        ..Numbers::default()
    });
    assert_eq!(analysis.claims[0].verdict, ClaimVerdict::Holds);
    let text = seen(&analysis, &info);
    assert!(text.contains("1.51/transaction [1."), "{text}");
    assert!(!text.contains("151 %"), "{text}");
}

#[test]
fn a_quantile_of_too_few_is_the_longest_and_judges_nothing() {
    let few = |observations| {
        move |_, variant: usize| Numbers {
            observations,
            p50_ns: 1_000 * (1 + variant as u64),
            p99_ns: 2_000 * (1 + variant as u64),
            ..Numbers::default()
        }
    };
    let (info, analysis) = run("p99", (None, Some(1e9)), few(999));
    assert_eq!(analysis.claims[0].verdict, OPEN);
    let reason = "p99 is judged from 1000 observations in a trial on: there are 999, and what is shown is the longest";
    assert_eq!(analysis.claims[0].reason.as_deref(), Some(reason));
    let cell = &analysis.scenarios[0].comparisons[0].metrics[0];
    assert_eq!(
        (cell.verdict, cell.ratio.as_ref().unwrap_err().as_str()),
        (Verdict::Inconclusive { rounds_needed: None }, reason)
    );
    let text = seen(&analysis, &info);
    assert!(text.contains("max of 999: 4.00 µs"), "{text}");
    assert!(
        text.lines()
            .any(|line| line.contains("max of n  ") && line.contains("  the longest of the n observations of a trial")),
        "{text}"
    );
    assert!(text.contains("It is 4.00 µs [4.00, 4.00], the longest of 999."), "{text}");
    assert_eq!(exported(&analysis, &info)["variants"][1]["metrics"]["p99"]["max_of"], 999);
    // The same trials have enough observations for another quantile.
    assert_eq!(analysis.variants[1].metrics[&metric("p95")].max_of, None);

    let (info, analysis) = run("p99", (None, Some(1e9)), few(1000));
    assert_eq!(analysis.claims[0].verdict, ClaimVerdict::Holds);
    assert_eq!(analysis.scenarios[0].comparisons[0].metrics[0].verdict, Verdict::Slower);
    assert!(!seen(&analysis, &info).contains("max of"));
}

#[test]
fn trials_that_are_too_short_judge_nothing_but_what_is_counted() {
    let first = |short: u32, of: &str| {
        run(of, (None, Some(1e9)), move |round, variant| Numbers {
            committed: 90 * (1 + variant as u64),
            flags: if variant == 1 && round < short {
                vec![Flag::Short { seconds: 0.2, ended: 90, median: Some(0.003) }]
            } else {
                Vec::new()
            },
            ..Numbers::default()
        })
    };
    let why = "throughput is not judged: the trials are too short; lengthen the roles' `for`";
    let (info, analysis) = first(4, "throughput");
    let cell = &analysis.scenarios[0].comparisons[0].metrics[0];
    assert_eq!(
        (cell.verdict, cell.ratio.as_ref().unwrap_err().as_str()),
        (Verdict::Inconclusive { rounds_needed: None }, why)
    );
    assert_eq!((analysis.claims[0].verdict, analysis.claims[0].reason.as_deref()), (OPEN, Some(why)));
    let text = seen(&analysis, &info);
    assert!(text.contains("too short to be judged in 4 of 8 trials"), "{text}");
    let short =
        |variant: usize| exported(&analysis, &info)["variants"][variant]["metrics"]["throughput"]["short"].clone();
    assert_eq!((short(0), short(1)), (serde_json::Value::Null, true.into()));
    assert!(text.contains(&format!(" ({why})")), "the finding is qualified: {text}");
    // Fewer than half of the trials are short: without them the variant would appear faster.
    let (_, analysis) = first(3, "throughput");
    assert_eq!(analysis.scenarios[0].comparisons[0].metrics[0].verdict, Verdict::Faster);
    assert_eq!(analysis.claims[0].verdict, ClaimVerdict::Holds);
    // No failure in n transactions has the bound of n transactions, however short the trials are.
    let (_, analysis) = first(8, "failed");
    assert_eq!(analysis.claims[0].verdict, ClaimVerdict::Holds);
}

#[test]
fn what_a_runner_cannot_see_of_its_runtime_is_named() {
    let (info, analysis) = run("timer_p99:scheduler", (None, None), |_, _| Numbers::default());
    let text = seen(&analysis, &info);
    assert!(text.contains("its runner does not report timer_p99:scheduler"), "{text}");
    let (info, analysis) = run("p99", (None, None), |_, _| Numbers::default());
    assert!(!seen(&analysis, &info).contains("does not report"));
}
