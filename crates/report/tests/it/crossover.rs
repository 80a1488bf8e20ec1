//! Crossovers of a run in the report: present, absent, or undecided.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common::plan::{empty, metric, scenario, text, variant};
use crate::common::{Gives, Numbers, exported, record, seen};
use litelab_model::crossover::{CrossoverPlan, LinePlan};
use litelab_model::{Plan, Scalar};
use litelab_record::RunInfo;
use litelab_record::outcome::FailureKind;
use litelab_report::analysis::MetricCrossover;
use litelab_report::export::{self, splice};
use litelab_report::{Analysis, analyse, html};
use litelab_stats::{CrossoverPosition, Reach};
use serde_json::json;

const LEVELS: [u32; 3] = [1, 4, 16];

/// Two drivers over three numbers of workers; variants 0 to 2 have the first driver, 3 to 5 the second.
fn plan(rounds: u32) -> Plan {
    let variants = ["lite", "server"].iter().flat_map(|driver| {
        LEVELS.map(|n| variant(0, &[("driver", text(driver)), ("workers", Scalar::Integer(n.into()))]))
    });
    let line = |label: &str, first: usize| LinePlan {
        label: label.into(),
        variants: LEVELS.iter().enumerate().map(|(i, level)| (*level, first + i)).collect(),
    };
    Plan {
        scenarios: vec![scenario("queue", rounds, &["driver", "workers"], 0, &["throughput", "p99"])],
        variants: variants.collect(),
        crossovers: vec![CrossoverPlan {
            scenario: 0,
            over: "workers".into(),
            metrics: vec![metric("throughput"), metric("p99")],
            base: line("lite", 0),
            others: vec![line("server", 3)],
        }],
        ..empty()
    }
}

fn analysed(plan: &Plan, trial: impl Fn(u32, usize) -> Option<Gives>) -> (Analysis, RunInfo, String) {
    let directory = tempfile::tempdir().unwrap();
    let (file, info) = record(&directory.path().join("run.db"), plan, |_| {}, trial);
    let (analysis, evidence) = html::read(&file, &info).unwrap();
    assert_eq!(analysis, analyse(&file, &info).unwrap());
    let page = html::page(&analysis, &info, &evidence);
    (analysis, info, page)
}

/// Small, and different in each round and variant.
fn jitter(round: u32, variant: usize) -> f64 {
    1.0 + f64::from((round as i32 * 5 + variant as i32 * 3) % 8 - 4) / 200.0
}

/// SQLite does 1,000 per second with any number of workers; the server 500, 1,000 × `at_four` and 2,000. The server's
/// P99 is always twice SQLite's.
fn rising(at_four: f64) -> impl Fn(u32, usize) -> Option<Gives> {
    move |round, variant| {
        let rate = [1000.0, 1000.0, 1000.0, 500.0, 1000.0 * at_four, 2000.0][variant] * jitter(round, variant);
        let p99_ns = if variant < 3 { 1_000_000 } else { 2_000_000 } + 1000 * u64::from(round);
        Some(Numbers { committed: rate as u64, p99_ns, ..Numbers::default() }.into())
    }
}

fn row(text: &str) -> &str {
    let mut lines = text.lines().skip_while(|line| !line.contains("── Crossovers"));
    lines.find(|line| line.contains("server")).unwrap_or_else(|| panic!("no row in:\n{text}")).trim()
}

/// Metrics of the only crossover.
fn metrics(analysis: &Analysis) -> &[MetricCrossover] {
    let [only] = analysis.crossovers.as_slice() else { panic!("{:?}", analysis.crossovers) };
    &only.metrics
}

/// The crossover of throughput, with its earliest and latest place.
fn places(analysis: &Analysis) -> (CrossoverPosition, CrossoverPosition, CrossoverPosition) {
    let found = metrics(analysis)[0].found.as_ref().unwrap();
    let Reach::Between { from, to, .. } = found.reach else { panic!("{found:?}") };
    (found.at, from, to)
}

#[test]
fn a_crossover_stands_in_text_page_markdown_and_json() {
    let (analysis, info, page) = analysed(&plan(8), rising(1.0));
    let text = seen(&analysis, &info);
    let row = row(&text);
    // Equal at four workers, where the rounds scatter by 4 %.
    let (_, after) =
        row.split_once("  recent commits at risk  ").unwrap_or_else(|| panic!("both keep the same: {row}"));
    let mut words = after.split_whitespace();
    let from: f64 = words.next().unwrap().parse().unwrap();
    assert!((3.5..4.5).contains(&from), "{row}");
    assert!(row.contains("none up to 16"), "{row}");
    assert!(row.contains("2.0"), "the ratio at 16: {row}");
    for said in ["throughput from (workers)", "p99 from (workers)", "none up to 16"] {
        assert!(page.contains(said), "{said}");
    }
    let (CrossoverPosition::At(at), CrossoverPosition::At(low), CrossoverPosition::At(high)) = places(&analysis) else {
        panic!("{:?}", places(&analysis))
    };
    assert!(low < at && at < high && 3.0 < low && high < 5.0, "{low} {at} {high}");
    let exported = exported(&analysis, &info)["crossovers"][0].clone();
    assert_eq!((&exported["levels"], &exported["variants"]), (&json!(LEVELS), &json!([[0, 1, 2], [3, 4, 5]])));
    let [throughput, p99] = [0, 1].map(|metric| exported["metrics"][metric].clone());
    assert_eq!((&throughput["metric"], &throughput["found"]["n"]), (&json!("throughput"), &json!(8)));
    assert_eq!(throughput["found"]["reach"]["between"]["from"], json!({ "at": low }));
    assert_eq!(p99["found"]["at"], "beyond_last");
    assert_eq!(p99["found"]["reach"]["between"]["from"], "beyond_last");
    let page = "<!-- splice made-up/crossovers -->\n<!-- end of splice -->\n";
    let (made, count) = splice::splice(page, &analysis, &info).unwrap();
    assert_eq!(count, 1);
    assert!(made.contains("| queue | lite | server |"), "{made}");
}

#[test]
fn where_the_lead_is_from_the_first_value_on_it_is_said() {
    let (analysis, info, _) = analysed(&plan(8), |round, variant| {
        let rate = if variant < 3 { 1000.0 } else { 1500.0 };
        Some(Numbers { committed: (rate * jitter(round, variant)) as u64, ..Numbers::default() }.into())
    });
    assert!(row(&seen(&analysis, &info)).contains("≤ 1  "), "{}", row(&seen(&analysis, &info)));
    assert_eq!(places(&analysis).2, CrossoverPosition::UpToFirst);
}

/// Negative control: twins, which differ by noise alone, show neither a crossover nor that there is none.
#[test]
fn identical_ways_leave_it_open() {
    let (analysis, ..) = analysed(&plan(8), |round, variant| {
        Some(Numbers { committed: (1000.0 * jitter(round * 3, variant)) as u64, ..Numbers::default() }.into())
    });
    let (_, from, to) = places(&analysis);
    assert_eq!(to, CrossoverPosition::BeyondLast);
    assert_ne!(from, CrossoverPosition::BeyondLast);
}

#[test]
fn too_few_rounds_have_no_interval() {
    let (analysis, info, _) = analysed(&plan(5), rising(1.0));
    assert!(row(&seen(&analysis, &info)).contains("[?]"));
    let found = metrics(&analysis)[0].found.as_ref().unwrap();
    assert_eq!((found.reach, found.n), (Reach::NeedsAtLeast(6), 5));
    let last = exported(&analysis, &info)["crossovers"][0]["metrics"][0]["last"].clone();
    assert_eq!(last, json!({ "reason": "needs ≥ 6 rounds" }), "no ratio without an interval");
}

#[test]
fn a_variant_whose_trials_failed_proves_nothing() {
    let (analysis, info, _) = analysed(&plan(8), |round, variant| match (round, variant) {
        (2, 4) => Some(Gives::Failure(FailureKind::Runner, "the server is gone")),
        _ => rising(1.0)(round, variant),
    });
    let text = seen(&analysis, &info);
    let why = "2 crossovers not known: 1 of 8 trials of queue/driver=server workers=4 failed: the server is gone";
    assert!(text.contains(why), "{text}");
    assert!(metrics(&analysis).iter().all(|metric| metric.found.is_err()));
    let found = exported(&analysis, &info)["crossovers"][0]["metrics"][1]["found"].clone();
    assert!(found["at"].is_null() && found["reason"].is_string(), "{found}");
}

#[test]
fn a_trial_that_committed_nothing_has_no_ratio() {
    let (analysis, info, _) = analysed(&plan(8), |round, variant| match (round, variant) {
        (2, 4) => Some(Numbers { committed: 0, ..Numbers::default() }.into()),
        _ => rising(1.0)(round, variant),
    });
    let text = seen(&analysis, &info);
    assert!(text.contains("1 crossover not known: no ratio in throughput: it is not above 0 in round 3"), "{text}");
}

#[test]
fn a_server_that_is_not_installed_is_named_as_the_reason() {
    let mut plan = plan(8);
    plan.variants[3..].iter_mut().for_each(|variant| variant.skipped = Some("postgres is not installed".into()));
    let (analysis, info, _) =
        analysed(&plan, |round, variant| if variant < 3 { rising(1.0)(round, variant) } else { None });
    let text = seen(&analysis, &info);
    assert!(
        text.contains("2 crossovers not known: queue/driver=server workers=1 was skipped: postgres is not"),
        "{text}"
    );
}

#[test]
fn a_study_that_asks_for_none_has_no_table() {
    let plan = Plan { crossovers: vec![], ..plan(8) };
    let (analysis, info, page) = analysed(&plan, rising(1.0));
    assert!(!seen(&analysis, &info).contains("Crossovers"));
    assert!(!page.contains("Crossovers"));
    assert!(!export::json::text(&analysis, &info).unwrap().contains("crossovers"));
}

/// Six rounds are enough for a crossover, and too few for ratios of five variants that hold together.
#[test]
fn that_no_variant_can_be_compared_is_said_once() {
    let (analysis, info, _) = analysed(&plan(6), rising(1.0));
    let text = seen(&analysis, &info);
    let said = "no variant is compared with a baseline: ratios of 5 variants in 3 metrics that all hold together at 95 % need 10 rounds at the least";
    assert_eq!(text.matches(said).count(), 1, "{text}");
    assert!(!text.contains("needs ≥") && !text.contains("throughput ratio"), "{text}");
    let (analysis, info, _) = analysed(&plan(10), rising(1.0));
    let text = seen(&analysis, &info);
    assert!(text.contains("throughput ratio") && !text.contains("no variant is compared"), "{text}");
}
