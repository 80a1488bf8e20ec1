//! Verdicts of runs whose true difference is known.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use crate::common::plan::{claim, empty, metric, scenario, text, variant};
use crate::common::{Gives, Numbers, analysed};
use litelab_model::Server;
use litelab_model::claim::Origin;
use litelab_model::durability::Durability;
use litelab_model::plan::{ClaimPlan, FindingPlan, FindingValuePlan, Plan, Variant};
use litelab_model::study::Location;
use litelab_protocol::Dialect;
use litelab_record::outcome::FailureKind;
use litelab_report::analysis::{Measured, Noise};
use litelab_report::{Style, show_all};
use litelab_stats::{ClaimVerdict, Verdict};

/// A scenario of `variants` variants, judged by throughput.
fn flat(variants: usize, rounds: u32) -> Plan {
    let variants = (0..variants).map(|i| variant(0, &[("profile", text(&format!("p{i}")))])).collect();
    Plan { scenarios: vec![scenario("s", rounds, &["profile"], 0, &["throughput"])], variants, ..empty() }
}

/// Disturbance of each round, far larger than any difference between variants.
fn storm(round: u32) -> f64 {
    [1.0, 0.3, 1.9, 0.8, 1.2, 0.5, 1.5, 0.9, 1.1, 0.7][round as usize % 10]
}

fn throughput(committed: f64) -> Option<Gives> {
    Some(Numbers { committed: committed as u64, ..Numbers::default() }.into())
}

/// The intervals of the other variants are as narrow as without it.
#[test]
fn a_variant_of_which_all_trials_failed_has_no_verdict_and_no_part_in_the_correction() {
    let broken = || Some(Gives::Failure(FailureKind::Invariant, "invariant `rows`: found 1"));
    let trial =
        |round, variant| if variant == 2 { broken() } else { throughput(1e6 * storm(round) * [1.0, 1.1][variant]) };
    let (info, analysis) = analysed(&flat(3, 12), trial);
    let (_, without) = analysed(&flat(2, 12), |round, variant| throughput(1e6 * storm(round) * [1.0, 1.1][variant]));
    let scenario = &analysis.scenarios[0];
    assert_eq!(scenario.comparisons.iter().map(|c| c.variant).collect::<Vec<_>>(), [1]);
    assert_eq!(scenario.confidence, without.scenarios[0].confidence);
    assert_eq!(scenario.comparisons[0].metrics, without.scenarios[0].comparisons[0].metrics);
    let shown = show_all(&analysis, &info, Style { color: false, width: 200 });
    assert!(shown.contains("profile=p2: 12 of 12 trials failed (invariant)"), "{shown}");
    let row = shown.lines().find(|line| line.trim_start().starts_with("p2 ")).unwrap();
    assert!(!row.contains('~'), "{row}");
    // Without measurements of the baseline there are no comparisons.
    let (info, analysis) = analysed(&flat(3, 12), |_, variant| if variant == 0 { broken() } else { throughput(1e6) });
    assert_eq!(analysis.scenarios[0].comparisons, []);
    let shown = show_all(&analysis, &info, Style { color: false, width: 200 });
    assert!(shown.contains("nothing is compared, for all trials of the baseline failed"), "{shown}");
}

#[test]
fn what_a_round_has_in_common_cancels() {
    let (_, analysis) = analysed(&flat(2, 8), |round, variant| throughput(1e6 * storm(round) * [1.0, 1.1][variant]));
    let first = &analysis.scenarios[0].comparisons[0].metrics[0];
    assert_eq!(first.verdict, Verdict::Faster);
    let ratio = first.ratio.as_ref().unwrap().ratio;
    assert!((ratio.value - 1.1).abs() < 1e-4, "{ratio:?}");
    // The medians alone do not show the difference.
    let [a, b] = [0, 1].map(|i| *analysis.variants[i].estimate(&metric("throughput")).unwrap());
    assert!(a.high() > b.low());
}

#[test]
fn equal_variants_are_equivalent_and_noisy_ones_inconclusive() {
    let (_, analysis) = analysed(&flat(3, 8), |round, variant| {
        let own = if variant == 2 { [1.3, 0.8][round as usize % 2] } else { 1.0 + f64::from(round % 3) * 1e-3 };
        throughput(1e6 * storm(round) * own)
    });
    let verdicts: Vec<Verdict> = analysis.scenarios[0].comparisons.iter().map(|c| c.metrics[0].verdict).collect();
    assert_eq!(verdicts[0], Verdict::Equivalent);
    assert!(matches!(verdicts[1], Verdict::Inconclusive { .. }), "{verdicts:?}");
}

#[test]
fn p50_decides_where_throughput_does_not_and_it_is_said() {
    let (info, analysis) = common::study();
    let open = &analysis.scenarios[0].comparisons[1];
    assert!(matches!(open.metrics[0].verdict, Verdict::Inconclusive { .. }));
    let decided = open.decided().unwrap();
    assert_eq!((decided.metric.to_string().as_str(), decided.verdict), ("p50", Verdict::Slower));
    assert!(show_all(&analysis, &info, Style::PLAIN).contains("▼ slower by p50"));
    let clear = &analysis.scenarios[0].comparisons[0];
    assert_eq!(clear.decided().unwrap().metric.to_string(), "throughput");
}

#[test]
fn more_comparisons_ask_for_more_confidence() {
    let (_, two) = analysed(&flat(2, 7), |_, variant| throughput(1e6 * [1.0, 2.0][variant]));
    let (_, nine) = analysed(&flat(9, 6), |_, variant| throughput(if variant == 0 { 1e6 } else { 2e6 }));
    assert!((two.scenarios[0].confidence - (1.0 - 0.05 / 3.0)).abs() < 1e-12, "three metrics decide");
    assert_eq!(two.scenarios[0].comparisons[0].metrics[0].verdict, Verdict::Faster);
    assert!((nine.scenarios[0].confidence - (1.0 - 0.05 / 24.0)).abs() < 1e-12);
    let cell = &nine.scenarios[0].comparisons[0].metrics[0];
    assert_eq!(cell.ratio.as_ref().unwrap().ratio.needs(), Some(10));
    assert!(matches!(cell.verdict, Verdict::Inconclusive { .. }));
    assert_eq!(cell.p_adjusted, Some(24.0 * 0.03125));
}

#[test]
fn too_few_rounds_have_no_ratio() {
    let (info, analysis) = analysed(&flat(2, 5), |_, variant| throughput(1e6 * [1.0, 3.0][variant]));
    let text = show_all(&analysis, &info, Style::PLAIN);
    assert!(text.contains("needs ≥ 7 rounds") && !text.contains('×'), "{text}");
}

#[test]
fn a_twin_that_differs_is_told() {
    let plan = || {
        let twin = [("profile", text("p0")), ("aa", text("twin"))];
        let mut plan = flat(2, 8);
        plan.variants.push(variant(0, &twin));
        plan
    };
    let noise = |twin: fn(u32) -> f64| {
        let (info, analysis) = analysed(&plan(), |round, variant| {
            throughput(1e6 * storm(round) * if variant == 2 { twin(round) } else { 1.0 })
        });
        (analysis.scenarios[0].aa[0].noise, show_all(&analysis, &info, Style { color: false, width: 300 }))
    };
    let (quiet, text) = noise(|round| 1.0 + f64::from(round % 2) * 1e-3);
    assert_eq!(quiet, Noise::Quiet);
    assert!(!text.contains("too noisy"));
    let (wide, text) = noise(|round| [1.2, 0.8][round as usize % 2]);
    assert_eq!(wide, Noise::Wide);
    assert!(text.contains("environment too noisy for 5 %"));
    let (wrong, text) = noise(|_| 1.02);
    assert_eq!(wrong, Noise::False);
    assert!(text.contains("which excludes 1: environment too noisy"));
    // A twin is not compared with the baseline.
    let (_, analysis) = analysed(&plan(), |_, _| throughput(1e6));
    assert_eq!(analysis.scenarios[0].comparisons.len(), 1);
    assert!((analysis.scenarios[0].confidence - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
}

#[test]
fn claims_about_ratios_values_and_zero() {
    let judge = |claim: ClaimPlan| {
        let plan = Plan { claims: vec![claim], ..flat(2, 8) };
        let (_, analysis) = analysed(&plan, |round, variant| throughput(1e6 * storm(round) * [1.0, 0.5][variant]));
        let result = analysis.claims.into_iter().next().unwrap();
        (result.verdict, result.reason)
    };
    let holds = (ClaimVerdict::Holds, None);
    let contradicted = (ClaimVerdict::Contradicted, None);
    assert_eq!(judge(claim(0, Some(1), "throughput", Some(1.9), None)), holds);
    assert_eq!(judge(claim(1, Some(0), "throughput", Some(1.9), None)), contradicted);
    assert_eq!(judge(claim(0, None, "p50", None, Some(1500.0))), holds);
    assert_eq!(judge(claim(0, None, "p50", Some(1500.0), None)), contradicted);
    let (open, reason) = judge(claim(0, None, "wal_after", None, Some(0.0)));
    assert_eq!((open, reason), holds, "zero is no ratio, but a bound");
    let (open, reason) = judge(claim(0, None, "throughput", Some(1e6), None));
    assert!(matches!(open, ClaimVerdict::Inconclusive { .. }) && reason.is_none());
    let (open, reason) = judge(claim(0, Some(1), "failed", Some(1.0), None));
    assert!(matches!(open, ClaimVerdict::Inconclusive { rounds_needed: None }));
    assert!(reason.unwrap().contains("0 of 8100000 against 0 of 4050000 happened in too few rounds"));
    let (_, reason) = judge(claim(0, None, "lag_p99", Some(1.0), None));
    assert_eq!(reason.as_deref(), Some("no trial of s/profile=p0 has a lag_p99"));
}

#[test]
fn a_claim_about_two_metrics_is_judged_by_their_ratio_and_shows_another_beside() {
    // In each round the period is the median and half as much again, whatever the storm.
    let judge = |bounds: (Option<f64>, Option<f64>), against: Option<usize>| {
        let of = claim(0, Some(against.unwrap_or(0)), "p50", bounds.0, bounds.1);
        let of = ClaimPlan { against_metric: Some(metric("period")), beside: Some(metric("p99")), ..of };
        let plan = Plan { claims: vec![of], ..flat(2, 8) };
        let (info, analysis) = analysed(&plan, |round, variant| {
            let period = 3000.0 * storm(round) * [1.0, 0.1][variant];
            let p50_ns = (period / 1.5) as u64;
            Some(Numbers { committed: (1e9 / period) as u64, p50_ns, ..Numbers::default() }.into())
        });
        let text = show_all(&analysis, &info, Style::PLAIN);
        (analysis.claims[0].clone(), text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (within, text) = judge((Some(0.65), Some(0.7)), None);
    assert_eq!((within.verdict, within.reason), (ClaimVerdict::Holds, None));
    assert!(text.contains("p50 of s/profile=p0 over its period"), "{text}");
    assert!(text.contains("p99: "), "{text}");
    assert_eq!(judge((Some(0.7), None), None).0.verdict, ClaimVerdict::Contradicted);
    let (other, text) = judge((Some(6.0), Some(7.0)), Some(1));
    assert_eq!(other.verdict, ClaimVerdict::Holds, "the other variant's period is a tenth");
    assert!(text.contains("over period of s/profile=p1"), "{text}");
}

#[test]
fn claims_are_counted_by_whose_they_are() {
    let of = |origin, at_least| ClaimPlan { origin, ..claim(0, Some(1), "throughput", Some(at_least), None) };
    let claims = vec![of(Origin::Source, 9.0), of(Origin::Own, 1.9), of(Origin::Source, 1.9), of(Origin::Own, 1.9)];
    let plan = Plan { claims, ..flat(2, 8) };
    let (info, analysis) = analysed(&plan, |_, variant| throughput([2e6, 1e6][variant]));
    let counts =
        |origin| analysis.tally().get(&origin).map(|tally| (tally.holds, tally.contradicted, tally.inconclusive));
    assert_eq!(
        (counts(Origin::Source), counts(Origin::Own), counts(Origin::Advice)),
        (Some((1, 1, 0)), Some((2, 0, 0)), None)
    );
    let text = show_all(&analysis, &info, Style::PLAIN);
    assert!(text.contains("source: holds 1 · contradicted 1 · inconclusive 0; own: holds 2"), "{text}");
}

#[test]
fn one_failed_trial_leaves_a_claim_open() {
    let plan = Plan { claims: vec![claim(0, Some(1), "throughput", Some(1.5), None)], ..flat(2, 8) };
    let trial = |round, variant| match (round, variant) {
        (3, 1) => Some(Gives::Failure(FailureKind::Runner, "it \u{1b}[31mdied")),
        _ => throughput([2e6, 1e6][variant]),
    };
    let (info, analysis) = analysed(&plan, trial);
    let claim = &analysis.claims[0];
    assert_eq!(claim.verdict, ClaimVerdict::Inconclusive { rounds_needed: None });
    assert!(matches!(claim.measured, Measured::Ratio(paired) if paired.ratio.n == 7));
    assert!(claim.reason.as_ref().unwrap().starts_with("1 of 8 trials of s/profile=p1 failed"));
    let text = show_all(&analysis, &info, Style::PLAIN);
    assert!(text.contains("✘ profile=p1: 1 of 8 trials failed (runner): it [31mdied"), "{text}");
    assert!(!text.contains('\u{1b}'), "what a runner says must not reach the terminal as a command");
}

#[test]
fn a_skipped_variant_is_a_line_with_its_reason_and_no_member_of_the_family() {
    let mut plan = flat(3, 6);
    plan.variants[2].skipped = Some("runner `go` is not built".into());
    let (info, analysis) =
        analysed(&plan, |_, variant| (variant != 2).then(|| throughput(1e6 * [1.0, 2.0][variant])).flatten());
    assert_eq!(analysis.scenarios[0].comparisons.len(), 1);
    assert!((analysis.scenarios[0].confidence - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
    let text = show_all(&analysis, &info, Style::PLAIN);
    assert!(text.contains("– 1 variant skipped: runner `go` is not built"), "{text}");
    assert!(text.contains("6 of 6 rounds · 1 of 3 variants skipped · baseline profile=p0"), "{text}");
    assert_eq!(text.matches("not built").count(), 1, "{text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("p2")), "{text}");
}

#[test]
fn durability_is_what_the_worst_connection_reported() {
    let level = |location, settings: Vec<(&'static str, i64)>| {
        let mut plan = flat(1, 6);
        plan.variants[0] = Variant { location, ..plan.variants[0].clone() };
        let (_, analysis) =
            analysed(&plan, |_, _| Some(Numbers { settings: settings.clone(), ..Numbers::default() }.into()));
        (analysis.variants[0].durability, analysis.variants[0].caveat.is_some())
    };
    assert_eq!(level(Location::File, vec![("wal", 2), ("wal", 1)]), (Some(Durability::D2), false));
    assert_eq!(level(Location::File, vec![("wal", 2), ("wal", 2)]), (Some(Durability::D4), false));
    assert_eq!(level(Location::File, vec![("delete", 1)]), (Some(Durability::D1), true));
    assert_eq!(level(Location::File, vec![("memory", 2)]), (Some(Durability::D0), false));
    assert_eq!(level(Location::Memory, vec![("wal", 2)]), (Some(Durability::Volatile), false));
    assert_eq!(level(Location::File, vec![]), (None, false));
    assert_eq!(level(Location::File, vec![("wal", 2), ("nonsense", 2)]), (None, false));
}

#[test]
fn a_variant_on_a_server_says_what_was_not_seen_of_it() {
    let mut plan = flat(2, 6);
    (plan.variants[0].dialect, plan.variants[0].server) = (Dialect::Postgres, Some(Server::Postgres));
    let (_, analysis) =
        analysed(&plan, |_, variant| Some(Numbers { on_server: variant == 0, ..Numbers::default() }.into()));
    let notes =
        |variant: usize| analysis.variants[variant].notes.iter().filter(|n| n.contains("the runner's alone")).count();
    assert_eq!((notes(0), notes(1)), (1, 0));
    // SQLite's journal mode and synchronous level have no meaning for a server.
    assert_eq!(analysis.variants[0].durability, None);
    assert!(analysis.variants[1].durability.is_some());
}

#[test]
fn findings_carry_intervals_and_name_what_is_not_told_apart() {
    let (_, analysis) = common::study();
    let finding = &analysis.findings[0];
    assert!(
        finding.contains("wal-normal (recent commits at risk) (not told apart from delete-full (file at risk))"),
        "{finding}"
    );
    assert!(finding.contains("320 µs [319, 322]"), "{finding}");
    assert!(finding.contains("4.00× [3.99, 4.02] (recent commits at risk → safe)"), "{finding}");
}

#[test]
fn a_faster_variant_that_keeps_less_is_said_to_and_is_not_green() {
    let numbers = |variant: usize| Numbers {
        committed: [1_000_000, 2_000_000][variant],
        settings: vec![("wal", [2, 1][variant])],
        ..Numbers::default()
    };
    let (info, analysis) = analysed(&flat(2, 8), |_, variant| Some(numbers(variant).into()));
    assert_eq!(analysis.scenarios[0].comparisons[0].metrics[0].verdict, Verdict::Faster);
    let text = show_all(&analysis, &info, Style { color: true, width: 300 });
    let row = text.lines().find(|line| line.contains("▲ faster")).unwrap();
    assert!(row.contains("▲ faster ¹") && !row.contains("\u{1b}[32m"), "{row}");
    assert!(
        row.contains("recent commits at risk") && text.contains("¹\u{1b}[0m gives up the last commits at a power loss")
    );
    let page = litelab_report::html::page(&analysis, &info, &litelab_report::html::Evidence::default());
    assert!(page.contains("recent commits at risk"), "the page says so, too");
}

/// A finding that names the best of these variants.
fn best(of: &str, variants: Vec<usize>) -> FindingPlan {
    let among = FindingValuePlan::Best { metric: metric(of), variants, dimension: "profile".into() };
    FindingPlan { name: String::new(), text: "{best}".into(), values: [("best".to_owned(), among)].into() }
}

#[test]
fn the_best_is_not_set_beside_its_own_name() {
    let mut plan = Plan { findings: vec![best("throughput", vec![0, 1, 2])], ..flat(3, 8) };
    // Two variants of one profile, which differ in another dimension.
    plan.variants[1].dimensions.insert("profile".into(), text("p0"));
    plan.variants[1].dimensions.insert("sharing".into(), text("one-connection"));
    let trial = |round: u32, variant| throughput(1e6 + f64::from((round * 7 + [0, 3, 5][variant]) % 8));
    assert_eq!(analysed(&plan, trial).1.findings[0], "p0 (not told apart from p2)");
}

#[test]
fn the_best_is_told_apart_where_it_has_no_ratio() {
    let plan = Plan { findings: vec![best("wal_peak", vec![0, 1])], ..flat(2, 8) };
    let best = |peak: fn(u32, usize) -> u64| {
        let trial = |round, variant| Some(Numbers { wal_peak: peak(round, variant), ..Numbers::default() }.into());
        analysed(&plan, trial).1.findings[0].clone()
    };
    assert_eq!(best(|_, variant| [0, 4 << 20][variant]), "p0");
    assert_eq!(
        best(|round, variant| u64::from(round % 2) * [1 << 20, 4 << 20][variant]),
        "p0 (not told apart from p1)"
    );
}
