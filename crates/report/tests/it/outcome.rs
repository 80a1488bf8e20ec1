//! Lines below a scenario's table: alerts, laws of scalability, and results of searches.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common;
use crate::common::plan::{metric, scenario, text, variant};
use crate::common::{Gives, Numbers, analysed, exported, seen};
use litelab_model::condition::LimitPlan;
use litelab_model::plan::{ScenarioPlan, Variant};
use litelab_model::{Plan, Scalar};
use litelab_record::RunInfo;
use litelab_record::outcome::{FailureKind, Flag, Outcome, Probe, SearchOutcome, TrialRecord};
use litelab_report::analysis::{AlertResult, Scalability};
use litelab_report::{Analysis, Collector};
use serde_json::{Value, json};

/// The only line with these words.
fn line<'a>(text: &'a str, words: &str) -> &'a str {
    let mut found = text.lines().filter(|line| line.contains(words));
    let line = found.next().unwrap_or_else(|| panic!("`{words}` is nowhere in:\n{text}"));
    assert_eq!(found.next(), None, "`{words}` is there twice");
    line.trim()
}

/// Small, different in each round and variant, and of both signs.
fn jitter(round: u32, variant: usize) -> f64 {
    1.0 + f64::from((round as i32 * 5 + variant as i32 * 3) % 8 - 4) / 500.0
}

// Alerts.

fn limit(name: &str, at_least: Option<f64>, at_most: Option<f64>) -> LimitPlan {
    LimitPlan { metric: metric(name), at_least, at_most, text: String::new() }
}

#[test]
fn an_alert_examines_trials_that_are_too_short_to_judge() {
    let plan = Plan {
        scenarios: vec![ScenarioPlan {
            alerts: vec![limit("throughput", Some(100.0), None)],
            ..scenario("watched", 8, &["profile"], 0, &["throughput"])
        }],
        variants: ["calm", "stalled"].map(|name| variant(0, &[("profile", text(name))])).to_vec(),
        ..common::plan::empty()
    };
    let (_, analysis) = analysed(&plan, |_, variant| {
        let short = Flag::Short { seconds: 5.0, ended: 4, median: Some(1.2) };
        let (flags, committed) = if variant == 1 { (vec![short], 4) } else { (Vec::new(), 900) };
        Some(Numbers { flags, committed, ..Numbers::default() }.into())
    });
    let alert = &analysis.scenarios[0].alerts[0];
    assert_eq!(alert.trials, 16);
    assert_eq!(alert.fired.iter().map(|fired| (fired.variant, fired.trials)).collect::<Vec<_>>(), [(1, 8)]);
}

/// Two profiles over eight rounds: `p99` of the second is 9 ms in rounds 2, 4 and 6, and its trial of round 7 fails.
fn alerted(limit: LimitPlan) -> (AlertResult, String, Value) {
    let plan = Plan {
        scenarios: vec![ScenarioPlan {
            alerts: vec![limit],
            ..scenario("watched", 8, &["profile"], 0, &["throughput"])
        }],
        variants: ["calm", "jumpy"].map(|name| variant(0, &[("profile", text(name))])).to_vec(),
        ..common::plan::empty()
    };
    let (info, analysis) = analysed(&plan, |round, variant| match (variant, round) {
        (1, 7) => Some(Gives::Failure(FailureKind::Runner, "gone")),
        (1, 2 | 4 | 6) => {
            Some(Numbers { p99_ns: 9_000_000 + u64::from(round), committed: 500, ..Numbers::default() }.into())
        }
        _ => Some(Numbers { p99_ns: 1_000_000, committed: 900 + 10 * u64::from(round), ..Numbers::default() }.into()),
    });
    let exported = exported(&analysis, &info)["scenarios"][0]["alerts"][0].clone();
    let text = seen(&analysis, &info);
    // No alert fails a trial.
    assert_eq!(analysis.variants.iter().map(|a| (a.measured, a.failed())).collect::<Vec<_>>(), [(8, 0), (7, 1)]);
    (analysis.scenarios[0].alerts[0].clone(), text, exported)
}

#[test]
fn the_scenarios_own_ceiling_stands_below_what_was_reached() {
    let variants = [Some(40.0), None].map(|ceiling| Variant {
        ceiling,
        ..variant(0, &[("profile", text(if ceiling.is_some() { "paused" } else { "free" }))])
    });
    let plan = Plan {
        scenarios: vec![scenario("s", 8, &["profile"], 0, &["throughput"])],
        variants: variants.to_vec(),
        ..common::plan::empty()
    };
    let (info, analysis) = analysed(&plan, |_, _| Some(Numbers::default().into()));
    let note = "the scenario's own pauses leave room for 40.0/s at the most, whatever the database";
    assert!(analysis.variants[0].notes.iter().any(|n| n == note), "{:?}", analysis.variants[0].notes);
    assert!(analysis.variants[1].notes.iter().all(|n| n != note));
    assert!(seen(&analysis, &info).contains("leave room for 40.0/s"));
}

#[test]
fn an_alert_that_fired_says_where_how_often_and_how_far() {
    let (alert, text, exported) = alerted(limit("p99", None, Some(5e6)));
    // The failed trial has no value.
    assert_eq!(alert.trials, 15);
    let [fired] = alert.fired.as_slice() else { panic!("{:?}", alert.fired) };
    assert_eq!((fired.variant, fired.trials, fired.of), (1, 3, 7));
    assert!((fired.worst / 9e6 - 1.0).abs() < 0.01, "{fired:?}");
    assert_eq!(line(&text, "alert: "), "! alert: p99 > 5.00 ms: profile=jumpy: in 3 of 7 trials, up to 9.00 ms");
    assert!(!text.contains("no alert"));
    assert_eq!(
        (&exported["metric"], &exported["at_most"], &exported["at_least"]),
        (&json!("p99"), &json!(5e6), &Value::Null)
    );
    assert_eq!(exported["fired"], json!([{ "variant": 1, "trials": 3, "of": 7, "worst": fired.worst }]));
}

#[test]
fn the_worst_is_the_farthest_beyond_the_bound_on_either_side() {
    // A lower bound alone: 500 is below it, in the second variant only.
    let (alert, text, _) = alerted(limit("throughput", Some(800.0), None));
    assert_eq!(alert.fired.iter().map(|f| (f.variant, f.trials, f.worst)).collect::<Vec<_>>(), [(1, 3, 500.0)]);
    assert!(line(&text, "alert: ").ends_with("throughput < 800/s: profile=jumpy: in 3 of 7 trials, down to 500/s"));
    // Both bounds: 900 is 40 below the lower, 970 is 20 above the upper.
    let (alert, ..) = alerted(limit("throughput", Some(940.0), Some(950.0)));
    let calm = &alert.fired[0];
    assert_eq!((calm.variant, calm.trials, calm.of, calm.worst), (0, 6, 8, 900.0));
    let (alert, text, _) = alerted(limit("throughput", Some(905.0), Some(945.0)));
    let calm = &alert.fired[0];
    assert_eq!((calm.variant, calm.trials, calm.worst), (0, 4, 970.0));
    assert!(text.contains("throughput > 945/s or throughput < 905/s: profile=calm: in 4 of 8 trials, up to 970/s"));
}

#[test]
fn an_alert_that_did_not_fire_says_how_many_trials_it_saw() {
    let (alert, text, exported) = alerted(LimitPlan { text: "Slow?".into(), ..limit("p99", None, Some(1e9)) });
    assert_eq!((alert.fired.len(), &exported["fired"]), (0, &json!([])));
    assert_eq!((alert.trials, &exported["trials"]), (15, &json!(15)));
    assert_eq!(line(&text, "alert"), "= no alert in 15 trials for: Slow? (p99 > 1.00 s)");
}

#[test]
fn an_alert_that_never_saw_a_value_is_no_good_news() {
    // A closed loop has no response time.
    let (alert, text, _) = alerted(limit("response_p99", None, Some(5e6)));
    assert_eq!((alert.trials, alert.fired.len()), (0, 0));
    let expected =
        "? alert never looked at, for no trial has its metric, or enough observations for it: response_p99 > 5.00 ms";
    assert_eq!(line(&text, "alert"), expected);
}

// Scalability.

const LEVELS: [u32; 5] = [1, 2, 4, 8, 16];

fn law(n: u32, sigma: f64, kappa: f64) -> f64 {
    let n = f64::from(n);
    100_000.0 * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

/// A scenario over workers, combined with each of the dimensions `beside`.
fn scaled(rounds: u32, beside: &[(&str, Scalar)]) -> Plan {
    let dimensions: Vec<&str> = beside.iter().take(1).map(|(name, _)| *name).chain(["workers"]).collect();
    let workers = |n: u32| ("workers", Scalar::Integer(n.into()));
    let variants: Vec<Variant> = match beside {
        [] => LEVELS.iter().map(|n| variant(0, &[workers(*n)])).collect(),
        _ => beside.iter().flat_map(|b| LEVELS.iter().map(move |n| variant(0, &[b.clone(), workers(*n)]))).collect(),
    };
    let scenario = scenario("scale", rounds, &dimensions, 0, &["p99", "throughput"]);
    Plan {
        scenarios: vec![ScenarioPlan { usl: Some("workers".into()), ..scenario }],
        variants,
        ..common::plan::empty()
    }
}

fn gives(throughput: f64) -> Option<Gives> {
    Some(Numbers { committed: throughput.round() as u64, ..Numbers::default() }.into())
}

fn only(analysis: &Analysis) -> &Scalability {
    let [only] = analysis.scenarios[0].scalability.as_slice() else {
        panic!("{:?}", analysis.scenarios[0].scalability)
    };
    only
}

/// The only law as exported JSON.
fn exported_law(analysis: &Analysis, info: &RunInfo) -> Value {
    exported(analysis, info)["scenarios"][0]["scalability"][0].clone()
}

#[test]
fn a_law_with_a_peak_is_found_and_its_fall_is_shown() {
    let (sigma, kappa) = (0.1, 0.02);
    let (info, analysis) =
        analysed(&scaled(8, &[]), |round, variant| gives(law(LEVELS[variant], sigma, kappa) * jitter(round, variant)));
    let found = only(&analysis);
    let fit = found.law.as_ref().unwrap();
    for (name, estimate, truth) in [("λ", fit.lambda, 100_000.0), ("σ", fit.sigma, sigma), ("κ", fit.kappa, kappa)] {
        let interval = estimate.interval().unwrap();
        assert!(interval.low() <= truth && truth <= interval.high(), "{name}: {estimate:?} and {truth}");
        assert!(interval.high() / interval.low() < 1.5, "{name}: {estimate:?} says nothing");
    }
    // √((1 − σ)/κ) = 6.7; of the measured levels 8 is the best, and at 16 it is a fifth less.
    assert!(fit.peak().is_some_and(|peak| (6.0..7.5).contains(&peak)), "{:?}", fit.peak());
    assert_eq!(found.best.map(|(level, _)| level), Some(8));
    let (level, ratio) = found.falls.unwrap();
    assert_eq!(level, 16);
    assert!(ratio.high().is_some_and(|high| high < 1.0), "{ratio:?}");
    let text = seen(&analysis, &info);
    let line = line(&text, "scalability of throughput: λ ");
    for part in ["k/s [", "σ 0.1", "κ 0.0", "; the fitted peak is at 6.", " workers; best measured at 8 (", "× ["] {
        assert!(line.contains(part), "`{part}` not in: {line}");
    }
    assert!(line.contains(", shown to be lower at 16 (0."), "{line}");
    let exported = exported_law(&analysis, &info);
    assert_eq!((&exported["dimension"], &exported["metric"]), (&json!("workers"), &json!("throughput")));
    assert_eq!((&exported["best"][0], &exported["falls"][0]), (&json!(8), &json!(16)));
    assert_eq!((&exported["law"]["sigma"], &exported["law"]["peak"]), (&json!(fit.sigma), &json!(fit.peak())));
}

#[test]
fn what_only_grows_has_no_peak_and_no_fall() {
    let (info, analysis) =
        analysed(&scaled(8, &[]), |round, variant| gives(law(LEVELS[variant], 0.1, 0.0) * jitter(round, variant)));
    let found = only(&analysis);
    assert_eq!((found.best.map(|(level, _)| level), found.falls), (Some(16), None));
    assert!(found.law.as_ref().is_ok_and(|fit| fit.kappa.low().unwrap() <= 0.0));
    assert!(line(&seen(&analysis, &info), "scalability").ends_with(", not shown to fall beyond that"));
    assert_eq!(exported_law(&analysis, &info)["falls"], Value::Null);
}

#[test]
fn a_fall_that_the_interval_does_not_bear_is_not_said() {
    // At 16 a fifth less in the median, and in three of eight rounds as much more.
    let noise = [0.6, 1.5, 0.8, 0.7, 1.4, 0.8, 1.6, 0.75];
    let flat = |noisy: bool| {
        analysed(&scaled(8, &[]), move |round, variant| {
            let noise = if noisy { noise[round as usize] } else { 0.8 };
            let last = if LEVELS[variant] == 16 { noise } else { 1.0 };
            gives(law(LEVELS[variant].min(8), 0.3, 0.0) * last * jitter(round, variant))
        })
    };
    let (_, analysis) = flat(true);
    let found = only(&analysis);
    assert_eq!((found.best.map(|(level, _)| level), found.falls), (Some(8), None));
    let median = |variant: usize| analysis.variants[variant].estimate(&metric("throughput")).unwrap().value;
    assert!(median(4) < median(3) * 0.85, "the median alone would say that it falls");
    // Without the noise the same fall is shown.
    let (_, analysis) = flat(false);
    assert_eq!(only(&analysis).falls.map(|(level, _)| level), Some(16));
}

#[test]
fn a_level_with_failed_trials_is_not_the_best() {
    let (_, analysis) = analysed(&scaled(8, &[]), |round, variant| match (LEVELS[variant], round) {
        (8, 3) => Some(Gives::Failure(FailureKind::Runner, "too many")),
        (level, _) => gives(law(level, 0.1, 0.02) * jitter(round, variant)),
    });
    let found = only(&analysis);
    let throughput = |variant: usize| analysis.variants[variant].estimate(&metric("throughput")).unwrap().value;
    assert!(throughput(3) > throughput(2), "by the trials that are left");
    assert_eq!(found.best.map(|(level, _)| level), Some(4));
}

#[test]
fn one_round_gives_a_fit_without_intervals_and_no_fall() {
    let (info, analysis) = analysed(&scaled(1, &[]), |_, variant| gives(law(LEVELS[variant], 0.1, 0.02)));
    let found = only(&analysis);
    let fit = found.law.as_ref().unwrap();
    assert!((fit.sigma.value - 0.1).abs() < 1e-3 && fit.sigma.interval().is_none(), "{:?}", fit.sigma);
    assert_eq!((found.best.map(|(level, _)| level), found.falls), (Some(8), None));
    let text = seen(&analysis, &info);
    let line = line(&text, "scalability");
    assert!(line.contains("σ 0.100 [?], κ 0.020 [?]; the fitted peak is at 6.7 workers"), "{line}");
    assert_eq!(exported_law(&analysis, &info)["law"]["sigma"]["bounds"], json!({ "needs_at_least": 6 }));
}

#[test]
fn variants_that_failed_leave_too_few_levels_and_that_is_said() {
    let measured = |levels: u32| {
        analysed(&scaled(8, &[]), move |round, variant| {
            if LEVELS[variant] > levels {
                return Some(Gives::Failure(FailureKind::Runner, "too many"));
            }
            gives(law(LEVELS[variant], 0.1, 0.02) * jitter(round, variant))
        })
    };
    let (info, analysis) = measured(2);
    let found = only(&analysis);
    assert_eq!(found.law, Err("it needs 3 levels, and 2 were measured".to_owned()));
    assert_eq!(found.best.map(|(level, _)| level), Some(2));
    let text = seen(&analysis, &info);
    let expected = "no fit: it needs 3 levels, and 2 were measured; best measured at 2 (";
    assert!(line(&text, "scalability").contains(expected), "{text}");
    let law = exported_law(&analysis, &info)["law"].clone();
    assert_eq!(law, json!({ "reason": "it needs 3 levels, and 2 were measured" }));
    // One level more is enough; without any level there is no best.
    assert!(only(&measured(4).1).law.is_ok());
    let (info, analysis) = measured(0);
    assert_eq!(only(&analysis).best, None);
    assert!(
        line(&seen(&analysis, &info), "scalability").ends_with("no fit: no observations: nothing can be estimated")
    );
}

#[test]
fn each_combination_of_the_other_dimensions_has_a_law_of_its_own() {
    let profiles = [("profile", text("even")), ("profile", text("peaked"))];
    let (info, analysis) = analysed(&scaled(8, &profiles), |round, variant| {
        let kappa = if variant < LEVELS.len() { 0.0 } else { 0.05 };
        gives(law(LEVELS[variant % LEVELS.len()], 0.1, kappa) * jitter(round, variant))
    });
    let [even, peaked] = analysis.scenarios[0].scalability.as_slice() else { panic!("two laws") };
    assert_eq!((even.label.as_str(), peaked.label.as_str()), ("profile=even", "profile=peaked"));
    assert_eq!((even.falls.is_some(), peaked.falls.map(|(level, _)| level)), (false, Some(8)));
    let text = seen(&analysis, &info);
    assert!(line(&text, "scalability of throughput, profile=even: ").contains("best measured at 16"));
    assert!(line(&text, "scalability of throughput, profile=peaked: ").contains("best measured at 4"));
}

// Searches.

/// Two variants whose searches ended at these rates, by round; `condition` was violated by the next rate.
fn searched(condition: &str, rates: impl Fn(u32, usize) -> f64) -> (RunInfo, Analysis) {
    let plan = Plan {
        scenarios: vec![scenario("limit", 8, &["profile"], 0, &["sustainable", "throughput"])],
        variants: ["a", "b"].map(|name| variant(0, &[("profile", text(name))])).to_vec(),
        ..common::plan::empty()
    };
    let directory = tempfile::tempdir().unwrap();
    let (_, info) = common::record(&directory.path().join("run.db"), &plan, |_| {}, |_, _| None);
    let mut collector = Collector::new(&plan, &[]);
    for (round, index) in (0..8).flat_map(|round| [(round, 0), (round, 1)]) {
        let sustainable = rates(round, index);
        let probe = |rate, kept: u32| Probe {
            rate,
            kept,
            broken: 2 - kept,
            condition: if kept > 0 { String::new() } else { condition.to_owned() },
            ..Probe::default()
        };
        let mut measurement = Numbers::default().measurement(&plan.variants[index]);
        // A higher rate violated another condition: the nearest rate is the limit.
        let far = Probe { condition: "memory".into(), ..probe(sustainable.max(1.0) * 9.0, 0) };
        let probes = vec![probe(sustainable, 2), far, probe(sustainable.max(1.0) * 1.1, 0)];
        measurement.search = Some(SearchOutcome { sustainable, probes });
        let outcome = Outcome::Measured(Box::new(measurement));
        let started = String::new();
        let record = TrialRecord { round, variant: index, position: index as u32, started, seconds: 1.0, outcome };
        collector.add(&plan, &record).unwrap();
    }
    let analysis = collector.finish(&info);
    (info, analysis)
}

#[test]
fn a_sustainable_rate_is_compared_like_any_metric_and_its_limit_is_named() {
    let (info, analysis) = searched("response_p99", |round, variant| [100.0, 300.0][variant] * jitter(round, variant));
    let sustainable = metric("sustainable");
    assert!(analysis.variants[1].estimate(&sustainable).is_some_and(|e| e.low().unwrap() > 290.0));
    let comparison = &analysis.scenarios[0].comparisons[0].metrics[0];
    let ratio = comparison.ratio.as_ref().unwrap().ratio;
    assert!((2.9..3.1).contains(&ratio.value) && ratio.low().is_some_and(|low| low > 2.8), "{ratio:?}");
    assert_eq!(comparison.verdict, litelab_stats::Verdict::Faster);
    let note = "the next rate broke a condition: response_p99 (in 8 of 8 trials)";
    assert_eq!(analysis.variants[0].notes, [note]);
    assert!(seen(&analysis, &info).contains(note));
    let (_, analysis) = searched("arrivals", |_, _| 100.0);
    assert_eq!(analysis.variants[0].notes, ["the next rate broke a condition: arrivals not begun (in 8 of 8 trials)"]);
}

#[test]
fn a_rate_that_was_never_kept_has_no_ratio() {
    let (_, analysis) = searched("errors", |round, variant| if (round, variant) == (3, 1) { 0.0 } else { 100.0 });
    let comparison = &analysis.scenarios[0].comparisons[0].metrics[0];
    assert_eq!(comparison.ratio.as_ref().unwrap_err(), "no ratio in sustainable: it is not above 0 in round 4");
    // It counts as the rate 0: with one such round of eight the median stays, and its interval extends to 0.
    let estimate = analysis.variants[1].estimate(&metric("sustainable")).unwrap();
    assert_eq!((estimate.value, estimate.low(), estimate.high()), (100.0, Some(0.0), Some(100.0)));
}

#[test]
fn a_study_without_any_of_it_says_nothing_of_it() {
    let (info, analysis) = common::study();
    let text = seen(&analysis, &info);
    for word in ["alert", "scalability", "sustainable", "broke a condition"] {
        assert!(!text.contains(word), "{word}");
    }
    assert!(analysis.scenarios.iter().all(|s| s.alerts.is_empty() && s.scalability.is_empty()));
    assert!(analysis.variants.iter().all(|a| !a.metrics.contains_key(&metric("sustainable"))));
    // Negative control: other runs of this file have these fields.
    let (_, analysis) = searched("errors", |_, _| 100.0);
    assert!(analysis.variants.iter().all(|a| a.metrics.contains_key(&metric("sustainable"))));
}
