//! Properties that hold for every input, valid or not.

use litelab_stats::{
    Better, Bounds, ClaimVerdict, Confidence, Counted, Estimate, Events, Interval, PairedRatio, Planner, Schedule,
    Spread, Tolerance, UnpairedRatio, Usl, UslPoint, Verdict, holm, mad, median, quantile, standard_deviation,
};
use proptest::collection::vec;
use proptest::num::f64::ANY;
use proptest::prelude::*;

/// Any double, with far more special values than a uniform choice would contain.
fn wild() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => ANY,
        3 => 0.001..1000.0,
        1 => prop::sample::select(vec![
            0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN,
            f64::MIN_POSITIVE, 5e-324,
        ]),
    ]
}

/// Positive doubles of every magnitude, which pass the input checks.
fn extreme_positive() -> impl Strategy<Value = f64> {
    prop_oneof![
        2 => 0.5..2.0,
        1 => prop::num::f64::POSITIVE | prop::num::f64::SUBNORMAL,
        1 => prop::sample::select(vec![1.0, 5e-324, f64::MIN_POSITIVE, f64::MAX]),
    ]
}

fn level() -> impl Strategy<Value = Confidence> {
    (0.5..0.999_999).prop_map(|level| Confidence::new(level).unwrap())
}

fn sound(estimate: &Estimate) -> Result<(), TestCaseError> {
    prop_assert!(estimate.value.is_finite());
    match estimate.bounds {
        Bounds::Interval(interval) => {
            prop_assert!(interval.low().is_finite() && interval.high().is_finite());
            prop_assert!(interval.low() <= estimate.value && estimate.value <= interval.high());
        }
        Bounds::NeedsAtLeast(needed) => prop_assert!(needed > estimate.n || needed == 0),
    }
    Ok(())
}

fn probability(p: f64) -> bool {
    (0.0..=1.0).contains(&p)
}

fn judged(ratio: &Estimate, tolerance: Tolerance, planner: &Planner) -> Result<(), TestCaseError> {
    let interval = ratio.interval();
    let more = planner.more_for_tolerance(ratio, Some(Spread::normal(0.1)), tolerance);
    let verdict = Verdict::judge(interval, tolerance, Better::Higher, more);
    let mirrored = Verdict::judge(interval, tolerance, Better::Lower, more);
    match verdict {
        Verdict::Faster => prop_assert_eq!(mirrored, Verdict::Slower),
        Verdict::Slower => prop_assert_eq!(mirrored, Verdict::Faster),
        same => prop_assert_eq!(mirrored, same),
    }
    if let Verdict::Inconclusive { rounds_needed } = verdict {
        prop_assert_ne!(rounds_needed, Some(0));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn summaries_never_panic(sample in vec(wild(), 0..40), fraction in wild(), confidence in level()) {
        if let Ok(estimate) = median(&sample, confidence) {
            sound(&estimate)?;
        }
        for spread in [mad(&sample), standard_deviation(&sample)].into_iter().flatten() {
            prop_assert!(spread.is_finite() && spread >= 0.0);
        }
        if let Ok(value) = quantile(&sample, fraction) {
            let inside = sample.iter().any(|&x| x <= value) && sample.iter().any(|&x| x >= value);
            prop_assert!(inside, "{} of {:?}", value, sample);
        }
    }

    #[test]
    fn comparisons_never_panic(
        wild_rounds in vec((wild(), wild()), 0..20),
        rounds in vec((extreme_positive(), extreme_positive()), 0..60),
        confidence in level(),
        delta in 0.001..10.0,
    ) {
        let tolerance = Tolerance::new(delta).unwrap();
        let planner = Planner::new(confidence, 0.8).unwrap();
        for rounds in [wild_rounds, rounds] {
            if let Ok(found) = PairedRatio::from_rounds(&rounds, confidence) {
                sound(&found.ratio)?;
                prop_assert!(probability(found.p_value));
                prop_assert!(found.spread.map(|s| s.at(delta.ln_1p())).is_none_or(|s| s.is_finite() && s >= 0.0));
                judged(&found.ratio, tolerance, &planner)?;
            } else {
                let usable = |x: f64| x.is_finite() && x > 0.0;
                let moderate = |(a, b): (f64, f64)| (a / b).ln().abs() < 700.0;
                prop_assert!(
                    rounds.is_empty()
                        || !rounds.iter().all(|&(a, b)| usable(a) && usable(b) && moderate((a, b)))
                );
            }
            let (a, b): (Vec<f64>, Vec<f64>) = rounds.into_iter().unzip();
            if let Ok(found) = UnpairedRatio::from_runs(&a, &b[b.len() / 3..], confidence) {
                sound(&found.ratio)?;
                prop_assert!(probability(found.p_value));
                judged(&found.ratio, tolerance, &planner)?;
            }
        }
    }

    #[test]
    fn counts_never_panic(
        counts in vec((0_u64..50, prop_oneof![Just(0), 1_u64..100, any::<u64>()], 0_u64..50, 1_u64..100), 0..16),
        confidence in level(),
    ) {
        let event = |(count, of)| Events { count, of };
        let variants: Vec<(Events, Events)> = counts.iter().map(|&(k, n, l, m)| (event((k, n)), event((l, m)))).collect();
        let trials: Vec<Events> = variants.iter().map(|(a, _)| *a).collect();
        for counted in [Counted::Share, Counted::Rate] {
            if let Ok(found) = Events::pooled(&trials, counted, confidence) {
                sound(&found)?;
            }
        }
        if let Ok(found) = PairedRatio::from_events(&variants, confidence) {
            sound(&found.ratio)?;
            prop_assert!(probability(found.p_value));
        }
    }

    #[test]
    fn the_rest_never_panics(
        series in vec(wild(), 0..60),
        numbers in (wild(), wild(), wild(), wild()),
        seed in any::<u64>(),
        round in any::<u32>(),
        variants in 0_usize..20,
    ) {
        let (a, b, c, d) = numbers;
        if let Ok(adjusted) = holm(&series) {
            prop_assert_eq!(adjusted.len(), series.len());
        }
        prop_assert_eq!(Schedule::new(seed, variants).order(round).len(), variants);
        let confidence = Confidence::new(a).unwrap_or_default();
        let planner = Planner::new(confidence, b).unwrap_or_default();
        let tolerance = Tolerance::new(c).unwrap_or_default();
        let _ = planner.total_for_tolerance(Spread::normal(d), tolerance);
        if let Ok(interval) = Interval::new(a, b, 0.95) {
            let estimate = Estimate { value: d, n: 7, bounds: Bounds::Interval(interval) };
            let _ = ClaimVerdict::judge(&estimate, Some(c), Some(d), &planner);
            judged(&estimate, tolerance, &planner)?;
        }
        // The fields of an estimate are public: even an inconsistent one must not panic.
        for bounds in [Bounds::NeedsAtLeast(usize::MAX), Bounds::NeedsAtLeast(0)] {
            let estimate = Estimate { value: a, n: usize::MAX, bounds };
            let _ = planner.more_for_tolerance(&estimate, Some(Spread::normal(b)), tolerance);
            let _ = ClaimVerdict::judge(&estimate, Some(c), None, &planner);
        }
    }

    #[test]
    fn swapping_the_variants_gives_the_reciprocal(
        rounds in vec((0.01..100.0, 0.01..100.0), 1..25),
        ties in vec(0_usize..25, 0..5),
    ) {
        let mut rounds = rounds;
        for tie in ties {
            let at = tie % rounds.len();
            rounds.push(rounds[at]);
            rounds.push((rounds[at].0, rounds[at].0));
        }
        let swapped: Vec<(f64, f64)> = rounds.iter().map(|&(a, b)| (b, a)).collect();
        let one = PairedRatio::from_rounds(&rounds, Confidence::P95).unwrap();
        let other = PairedRatio::from_rounds(&swapped, Confidence::P95).unwrap();
        prop_assert!((one.p_value - other.p_value).abs() < 1e-14);
        prop_assert!((one.ratio.value * other.ratio.value - 1.0).abs() < 1e-12);
        if let (Some(one), Some(other)) = (one.ratio.interval(), other.ratio.interval()) {
            prop_assert!((one.low() * other.high() - 1.0).abs() < 1e-12);
            prop_assert_eq!(one.confidence(), other.confidence());
        }
    }

    #[test]
    fn without_ties_interval_and_test_agree(
        logs in vec(-1.0..1.0_f64, 6..30),
        shift in -1.0..1.0_f64,
        confidence in level(),
    ) {
        let rounds: Vec<(f64, f64)> = logs.iter().map(|&d| (1.0, (d + shift).exp())).collect();
        let found = PairedRatio::from_rounds(&rounds, confidence).unwrap();
        if let Some(interval) = found.ratio.interval() {
            let excludes = interval.low() > 1.0 || interval.high() < 1.0;
            prop_assert_eq!(excludes, found.p_value <= confidence.alpha() + 1e-12);
            prop_assert!(interval.confidence() >= confidence.level() - 1e-9);
        }
        let b: Vec<f64> = rounds.iter().map(|round| round.1).collect();
        let (first, second) = b.split_at(b.len() / 2);
        let found = UnpairedRatio::from_runs(first, second, confidence).unwrap();
        if let Some(interval) = found.ratio.interval() {
            let excludes = interval.low() > 1.0 || interval.high() < 1.0;
            prop_assert_eq!(excludes, found.p_value <= confidence.alpha() + 1e-12);
        }
    }

    #[test]
    fn more_confidence_is_never_narrower(logs in vec(-1.0..1.0_f64, 1..60)) {
        let rounds: Vec<(f64, f64)> = logs.iter().map(|d| (1.0, d.exp())).collect();
        let at = |level| {
            let confidence = Confidence::new(level).unwrap();
            let paired = PairedRatio::from_rounds(&rounds, confidence).unwrap();
            [paired.ratio.interval(), median(&logs, confidence).unwrap().interval()]
        };
        for (wide, narrow) in at(0.99).iter().zip(at(0.9)) {
            match (wide, narrow) {
                (Some(wide), Some(narrow)) => {
                    prop_assert!(wide.low() <= narrow.low() && narrow.high() <= wide.high());
                    prop_assert!(wide.confidence() >= narrow.confidence());
                }
                (Some(_), None) => prop_assert!(false, "more confidence from as little"),
                (None, _) => {}
            }
        }
    }

    #[test]
    fn holm_only_raises_and_keeps_the_order(p in vec(0.0..=1.0_f64, 0..30)) {
        let adjusted = holm(&p).unwrap();
        for i in 0..p.len() {
            prop_assert!(p[i] <= adjusted[i] && adjusted[i] <= 1.0);
            // Never above Bonferroni: Holm rejects whatever Bonferroni's intervals exclude.
            prop_assert!(adjusted[i] <= (p.len() as f64 * p[i]).min(1.0));
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
            }
        }
    }
}

proptest! {
    // Each case refits hundreds of times.
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_scalability_fit_never_panics(
        points in vec((prop_oneof![4 => 0_u32..40, 1 => any::<u32>()], prop_oneof![1 => wild(), 4 => extreme_positive()]), 0..14),
        confidence in level(),
        at in any::<u32>(),
    ) {
        let points: Vec<UslPoint> = points
            .into_iter()
            .map(|(concurrency, throughput)| UslPoint { concurrency, throughput })
            .collect();
        if let Ok(fit) = Usl::fit(&points, confidence, 5) {
            for estimate in [fit.lambda, fit.sigma, fit.kappa] {
                sound(&estimate)?;
            }
            prop_assert!(fit.residual.is_finite());
            prop_assert!(fit.peak().is_none_or(|peak| peak > 1.0 && peak.is_finite()));
            prop_assert!(fit.throughput(f64::from(at)).is_none_or(|x| x > 0.0 && x.is_finite()));
        }
    }
}
