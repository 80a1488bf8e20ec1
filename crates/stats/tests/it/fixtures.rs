//! Estimators against values computed by SciPy (`fixtures/generate.py`). `negative_controls.rs` shows that these
//! comparisons detect a wrong estimator.

use crate::common::fixtures::{self, MedianCase, OrderStatisticCase, RatioCase, UslCase};
use crate::common::{close, relative};
use litelab_stats::{Confidence, Estimate, PairedRatio, UnpairedRatio, Usl, mad, median, quantile, standard_deviation};

fn interval(estimate: &Estimate) -> Option<[f64; 3]> {
    let found = estimate.interval()?;
    Some([found.low(), found.high(), found.confidence()])
}

fn assert_interval(found: Option<[f64; 3]>, expected: Option<[f64; 3]>, case: &str) {
    match (found, expected) {
        (None, None) => {}
        (Some(found), Some(expected)) => {
            for (f, e) in found.iter().zip(&expected) {
                assert!(close(*f, *e, 1e-9), "{case}: {found:?} instead of {expected:?}");
            }
        }
        _ => panic!("{case}: {found:?} instead of {expected:?}"),
    }
}

#[test]
fn medians_intervals_and_quantiles() {
    let cases = fixtures::load::<MedianCase>("median");
    assert!(cases.len() >= 9);
    for case in cases {
        let note = format!("n = {}", case.sample.len());
        for (level, expected) in case.intervals {
            let found = median(&case.sample, Confidence::new(level).unwrap()).unwrap();
            assert!(close(found.value, case.median, 1e-12), "{note}");
            assert_interval(interval(&found), expected, &format!("{note} at {level}"));
        }
        for (fraction, expected) in case.quantiles {
            let found = quantile(&case.sample, fraction).unwrap();
            assert!(close(found, expected, 1e-12), "{note}, quantile {fraction}: {found}");
        }
        assert!(close(mad(&case.sample).unwrap(), case.mad, 1e-12), "{note}");
        match case.sd {
            Some(sd) => assert!(close(standard_deviation(&case.sample).unwrap(), sd, 1e-12)),
            None => assert!(standard_deviation(&case.sample).is_err()),
        }
    }
}

#[test]
fn order_statistics_from_one_observation_to_a_hundred_thousand() {
    for case in fixtures::load::<OrderStatisticCase>("order_statistics") {
        let sample: Vec<f64> = (1..=case.n).map(f64::from).collect();
        let confidence = Confidence::new(case.confidence).unwrap();
        let found = median(&sample, confidence).unwrap();
        let note = format!("n = {} at {}", case.n, case.confidence);
        assert_interval(interval(&found), case.interval, &note);
    }
}

/// Compares ratios and p-values of all cases with those of SciPy.
fn ratios(file: &str, least: usize, compare: impl Fn(&RatioCase, Confidence) -> (Estimate, f64)) {
    let cases = fixtures::load::<RatioCase>(file);
    assert!(cases.len() >= least);
    for case in cases {
        let (ratio, p_value) = compare(&case, Confidence::new(case.confidence).unwrap());
        let note = &case.note;
        assert!(close(ratio.value, case.ratio, 1e-10), "{note}: {ratio:?}");
        assert!(close(p_value, case.p_value, 1e-9), "{note}: {p_value}, {}", case.p_value);
        if case.checks_interval {
            assert_interval(interval(&ratio), case.interval, note);
        }
    }
}

#[test]
fn paired_and_unpaired_ratios() {
    ratios("paired", 18, |case, confidence| {
        let found = PairedRatio::from_rounds(&case.rounds, confidence).unwrap();
        (found.ratio, found.p_value)
    });
    ratios("unpaired", 10, |case, confidence| {
        let found = UnpairedRatio::from_runs(&case.a, &case.b, confidence).unwrap();
        (found.ratio, found.p_value)
    });
}

#[test]
fn scalability_laws() {
    for case in fixtures::load::<UslCase>("usl") {
        let fit = Usl::fit(&case.points, Confidence::P95, 11).unwrap();
        assert!(relative(fit.lambda.value, case.lambda) < 1e-5, "{fit:?}");
        assert!(relative(fit.sigma.value, case.sigma) < 1e-4, "{fit:?}");
        assert!(relative(fit.kappa.value, case.kappa) < 1e-4, "{fit:?}");
        // Bootstrap against linearised standard errors: two methods, so their results are close but not equal.
        let half = |estimate: &Estimate, map: fn(f64) -> f64| {
            (map(estimate.high().unwrap()) - map(estimate.low().unwrap())) / 2.0
        };
        let found = [
            half(&fit.lambda, f64::ln),
            half(&fit.sigma, std::convert::identity),
            half(&fit.kappa, std::convert::identity),
        ];
        for (found, linearised) in found.iter().zip(case.standard_errors) {
            assert!(relative(*found / case.t, linearised) < 0.15, "{fit:?}, {linearised}");
        }
    }
}
