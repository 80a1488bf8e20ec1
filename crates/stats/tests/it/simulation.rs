//! Statistical guarantees of the verdicts: seeded experiments on simulated hosts with known true values.
//!
//! Margins are three standard errors of the simulated share. The seeds are fixed, so that a test either always passes
//! or always fails.

use crate::common::simulate::{self, Host, NOISES, Noise, covers, differs, holds_level, rounds, share};
use litelab_stats::{
    Aa, Better, ClaimVerdict, Confidence, Counted, Estimate, Events, PairedRatio, Planner, Spread, Tolerance,
    UnpairedRatio, Usl, UslPoint, Verdict, mad, median, proportion,
};
use rand::SeedableRng;
use rand_pcg::Pcg64;

const RUNS: u32 = 1000;

fn compare(pairs: &[(f64, f64)]) -> PairedRatio {
    PairedRatio::from_rounds(pairs, Confidence::P95).unwrap()
}

fn verdict(pairs: &[(f64, f64)]) -> Verdict {
    compare(pairs).verdict(Tolerance::DEFAULT, Better::Higher, &Planner::default())
}

#[test]
fn paired_verdicts_hold_their_level_whatever_the_noise() {
    for noise in NOISES {
        for n in [6, 10, 20] {
            let host = Host::noisy(noise);
            let false_finds = share(RUNS, |seed| differs(verdict(&rounds(host, n, 1.0, seed))));
            assert!(holds_level(false_finds, 0.05, RUNS), "{noise:?}, n = {n}: {false_finds}");
            // Without any false difference the check above would be empty.
            assert!(false_finds > 0.005, "{noise:?}, n = {n}: {false_finds}");
        }
    }
}

#[test]
fn paired_p_values_hold_every_level() {
    let host = Host::noisy(Noise::Heavy);
    for alpha in [0.01, 0.05, 0.2] {
        let rejected = share(RUNS, |seed| compare(&rounds(host, 12, 1.0, seed)).p_value <= alpha);
        assert!(holds_level(rejected, alpha, RUNS), "{alpha}: {rejected}");
    }
}

#[test]
fn ten_percent_is_found_with_its_sign() {
    // Scatter of the log-ratio between rounds: 0.04·√2, typical of a median latency.
    let sharp = Host { trial: 0.04, ..Host::noisy(Noise::Normal) };
    for (ratio, expected) in [(1.1, Verdict::Faster), (1.0 / 1.1, Verdict::Slower)] {
        let found = share(RUNS, |seed| verdict(&rounds(sharp, 10, ratio, seed)) == expected);
        assert!(found > 0.9, "{ratio}: {found}");
    }
    let blunt = Host { trial: 0.3, ..sharp };
    let found = share(RUNS, |seed| verdict(&rounds(blunt, 10, 1.1, seed)) == Verdict::Faster);
    assert!(found < 0.3, "a host this noisy cannot show 10 % in 10 rounds: {found}");
}

#[test]
fn equal_variants_on_a_quiet_host_are_shown_equivalent() {
    let quiet = Host { trial: 0.015, ..Host::noisy(Noise::Normal) };
    let shown = share(RUNS, |seed| verdict(&rounds(quiet, 10, 1.0, seed)) == Verdict::Equivalent);
    assert!(shown > 0.9, "{shown}");
    // With a difference of two tolerances, "equivalent" is not more frequent than the level allows.
    let wrong = share(RUNS, |seed| verdict(&rounds(quiet, 10, 1.1, seed)) == Verdict::Equivalent);
    assert!(holds_level(wrong, 0.05, RUNS), "{wrong}");
}

#[test]
fn the_planned_rounds_give_the_promised_power() {
    let tolerance = Tolerance::new(0.1).unwrap();
    for trial in [0.08, 0.12] {
        let host = Host { trial, drift: 0.0, ..Host::noisy(Noise::Normal) };
        let spread = trial * std::f64::consts::SQRT_2;
        let n = Planner::default().total_for_tolerance(Spread::normal(spread), tolerance).unwrap();
        let found = share(RUNS, |seed| compare(&rounds(host, n, 1.1, seed)).ratio.low() > Some(1.0));
        assert!((0.74..0.90).contains(&found), "{n} rounds: {found}");
    }
}

#[test]
fn the_rounds_still_needed_settle_most_comparisons() {
    let host = Host { trial: 0.08, drift: 0.0, ..Host::noisy(Noise::Normal) };
    let (mut open, mut settled) = (0, 0);
    for seed in 0..150 {
        let all = rounds(host, 206, 1.15, seed);
        let Verdict::Inconclusive { rounds_needed } = verdict(&all[..6]) else {
            continue;
        };
        open += 1;
        // If no practical number of rounds is expected to suffice, the largest forecast.
        let total = 6 + rounds_needed.unwrap_or(200) as usize;
        settled += usize::from(!matches!(verdict(&all[..total]), Verdict::Inconclusive { .. }));
    }
    assert!(open > 30, "{open} were open");
    assert!(settled * 10 >= open * 8, "{settled} of {open}");
}

#[test]
fn claims_are_judged_right_or_left_open() {
    let host = Host { trial: 0.05, ..Host::noisy(Noise::Heavy) };
    let judge = |truth: f64, seed| {
        let ratio = compare(&rounds(host, 10, truth, seed)).ratio;
        ClaimVerdict::judge(&ratio, Some(2.0), None, &Planner::default())
    };
    assert!(share(RUNS, |seed| judge(3.0, seed) == ClaimVerdict::Holds) > 0.9);
    assert!(share(RUNS, |seed| judge(1.3, seed) == ClaimVerdict::Contradicted) > 0.9);
    // With the true ratio on the bound, each verdict errs in one tail: half the level.
    let on_the_bound = |verdict| share(RUNS, |seed| judge(2.0, seed) == verdict);
    assert!(holds_level(on_the_bound(ClaimVerdict::Holds), 0.025, RUNS));
    assert!(holds_level(on_the_bound(ClaimVerdict::Contradicted), 0.025, RUNS));
}

fn sample(noise: Noise, n: usize, seed: u64) -> Vec<f64> {
    let mut rng = Pcg64::seed_from_u64(seed);
    (0..n).map(|_| noise.draw(&mut rng)).collect()
}

fn contains(estimate: &Estimate, truth: f64) -> bool {
    estimate.interval().unwrap().contains(truth)
}

#[test]
fn order_statistic_intervals_cover_the_median_as_they_say() {
    for noise in NOISES {
        for n in [6, 7, 10, 20] {
            let stated = median(&sample(noise, n, 0), Confidence::P95).unwrap().confidence().unwrap();
            let covered = share(2000, |seed| {
                contains(&median(&sample(noise, n, seed), Confidence::P95).unwrap(), noise.median())
            });
            // The method is exact, so the coverage deviates in neither direction.
            let margin = simulate::margin(stated, 2000);
            assert!((covered - stated).abs() <= margin, "{noise:?}, n = {n}: {covered}, said {stated}");
        }
    }
}

#[test]
fn hodges_lehmann_intervals_cover_the_ratio_as_they_say() {
    for noise in NOISES {
        for n in [6, 10, 20] {
            let host = Host::noisy(noise);
            let truth = 1.3;
            let stated = compare(&rounds(host, n, truth, 0)).ratio.confidence().unwrap();
            let covered = share(RUNS, |seed| contains(&compare(&rounds(host, n, truth, seed)).ratio, truth));
            let margin = simulate::margin(stated, RUNS);
            assert!((covered - stated).abs() <= margin, "{noise:?}, n = {n}: {covered}, said {stated}");
        }
    }
}

#[test]
fn unpaired_intervals_cover_the_ratio_on_a_host_that_does_not_drift() {
    for noise in NOISES {
        let covered = share(RUNS, |seed| {
            let run = |seed, factor: f64| -> Vec<f64> {
                let logs = sample(noise, 10, seed);
                logs.into_iter().map(|log| factor * (0.2 * log).exp()).collect()
            };
            let (a, b) = (run(2 * seed, 1.0), run(2 * seed + 1, 1.5));
            let ratio = UnpairedRatio::from_runs(&a, &b, Confidence::P95).unwrap();
            contains(&ratio.ratio, 1.5)
        });
        assert!(covers(covered, 0.95, RUNS), "{noise:?}: {covered}");
    }
}

#[test]
fn scalability_intervals_cover_the_coefficients() {
    const FITS: u32 = 150;
    let (lambda, sigma, kappa) = (1000.0, 0.1, 0.002);
    let fits: Vec<Usl> = (0..u64::from(FITS))
        .map(|seed| {
            let mut rng = Pcg64::seed_from_u64(seed);
            let points: Vec<UslPoint> = [1_u32, 2, 4, 8, 16, 32]
                .iter()
                .flat_map(|&level| [level; 2])
                .map(|concurrency| {
                    let n = f64::from(concurrency);
                    let noise = (0.05 * Noise::Normal.draw(&mut rng)).exp();
                    let throughput = noise * lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
                    UslPoint { concurrency, throughput }
                })
                .collect();
            Usl::fit(&points, Confidence::P95, seed).unwrap()
        })
        .collect();
    let covered = |pick: fn(&Usl) -> Estimate, truth: f64| {
        fits.iter().filter(|fit| contains(&pick(fit), truth)).count() as f64 / f64::from(FITS)
    };
    for (name, share) in [
        ("lambda", covered(|fit| fit.lambda, lambda)),
        ("sigma", covered(|fit| fit.sigma, sigma)),
        ("kappa", covered(|fit| fit.kappa, kappa)),
    ] {
        assert!(covers(share, 0.95, FITS), "{name}: {share}");
    }
}

/// Scatter of the log-ratio of two trials on a host whose trials scatter by `trial` each.
fn pair_spread(trial: f64) -> f64 {
    trial * std::f64::consts::SQRT_2
}

#[test]
fn a_calibration_finds_the_spread_and_holds_the_level_it_reports() {
    for noise in NOISES {
        let host = Host::noisy(noise);
        let aa = Aa::of(&rounds(host, 1200, 1.0, 7), 6, Confidence::P95).unwrap();
        assert_eq!(aa.experiments, 200);
        let rate = aa.rate.unwrap();
        assert!(rate.low().unwrap() <= 0.05, "{noise:?}: {rate:?}");
        assert!(aa.overall.ratio.interval().unwrap().contains(1.0), "{noise:?}: {:?}", aa.overall);
    }
    // For normal noise the spread is known.
    let host = Host { trial: 0.05, drift: 0.0, ..Host::noisy(Noise::Normal) };
    let spread = Aa::of(&rounds(host, 400, 1.0, 3), 6, Confidence::P95).unwrap().overall.spread.unwrap();
    for effect in [0.02, 0.1, 0.3] {
        assert!((spread.at(effect) / pair_spread(0.05) - 1.0).abs() < 0.15, "{effect}: {spread:?}");
    }
}

#[test]
fn the_smallest_effect_a_calibration_promises_is_found_as_often_as_it_says() {
    let host = Host { trial: 0.05, drift: 0.0, ..Host::noisy(Noise::Normal) };
    let spread = Aa::of(&rounds(host, 120, 1.0, 11), 6, Confidence::P95).unwrap().overall.spread.unwrap();
    for n in [10, 20, 40] {
        let effect = Planner::default().smallest_effect(spread, n).unwrap();
        let found = share(RUNS, |seed| compare(&rounds(host, n, 1.0 + effect, seed)).ratio.low() > Some(1.0));
        assert!((0.70..0.93).contains(&found), "{n} rounds, {effect}: {found}");
        // Half of this effect is not detectable with this number of rounds.
        let half = share(RUNS, |seed| compare(&rounds(host, n, 1.0 + effect / 2.0, seed)).ratio.low() > Some(1.0));
        assert!(half < 0.5, "{n} rounds: {half}");
    }
}

#[test]
fn a_tenth_is_found_on_a_shared_host_in_the_rounds_planned_and_not_in_those_of_its_median_deviation() {
    let host = Host { round: 0.5, trial: 0.3, drift: 0.0, position: 0.0, noise: Noise::Shared };
    let planner = Planner::new(Confidence::P95, 0.9).unwrap();
    let tenth = Tolerance::new(0.1).unwrap();
    let found = |n| share(RUNS, |seed| compare(&rounds(host, n, 1.1, seed)).ratio.low() > Some(1.0));
    // The calibration of such a host, each with another 60 rounds.
    let mut plans: Vec<u32> = (0..40)
        .map(|seed| {
            let spread = compare(&rounds(host, 60, 1.0, 70_001 + seed)).spread.unwrap();
            planner.total_for_tolerance(spread, tenth).unwrap()
        })
        .collect();
    plans.sort_unstable();
    let (few, usual, many) = (plans[4], plans[20], plans[35]);
    assert!(found(usual) >= 0.85, "{usual} rounds: {}", found(usual));
    assert!(found(few) >= 0.6, "{few} rounds: {}", found(few));
    assert!(many <= 3 * usual, "{plans:?}");
    let differences: Vec<f64> = rounds(host, 60, 1.0, 3).iter().map(|(a, b)| (b / a).ln()).collect();
    let naive = planner.total_for_tolerance(Spread::normal(mad(&differences).unwrap()), tenth).unwrap();
    assert!(found(naive) < 0.6, "{naive} rounds: {}", found(naive));
}

#[test]
fn intervals_of_shares_cover_them() {
    for truth in [0.01, 0.05, 0.3] {
        let covered = share(2000, |seed| {
            let mut rng = Pcg64::seed_from_u64(seed);
            let hits = (0..40).filter(|_| rand::RngExt::random_bool(&mut rng, truth)).count() as u32;
            contains(&proportion(hits, 40, Confidence::P95).unwrap(), truth)
        });
        assert!(covers(covered, 0.95, 2000), "{truth}: {covered}");
    }
}

#[test]
fn intervals_of_pooled_counts_cover_although_transactions_of_a_trial_are_alike() {
    for (trials, of, truth, alike) in
        [(6, 400, 0.05, 0.01), (9, 40, 0.05, 0.05), (9, 400, 0.02, 0.01), (12, 100, 0.3, 0.1), (20, 40, 0.01, 0.001)]
    {
        let covered = share(RUNS, |seed| {
            let trials = simulate::failures(&mut Pcg64::seed_from_u64(seed), trials, of, truth, alike);
            contains(&Events::pooled(&trials, Counted::Share, Confidence::P95).unwrap(), truth)
        });
        assert!(covers(covered, 0.95, RUNS), "{truth} in {trials} trials of {of}: {covered}");
    }
    for (trials, of, truth, scatter) in
        [(6, 40, 0.5, 0.3), (9, 40, 1.8, 0.5), (9, 400, 0.002, 0.1), (20, 100, 0.05, 0.2)]
    {
        let covered = share(RUNS, |seed| {
            let trials = simulate::errors(&mut Pcg64::seed_from_u64(seed), trials, of, truth, scatter);
            contains(&Events::pooled(&trials, Counted::Rate, Confidence::P95).unwrap(), truth)
        });
        assert!(covers(covered, 0.95, RUNS), "{truth} in {trials} trials of {of}: {covered}");
    }
}

#[test]
fn variants_that_fail_alike_are_rarely_told_apart_and_those_that_do_not_are() {
    let judge = |rounds: u32, truths: [f64; 2], seed: u64| {
        let mut rng = Pcg64::seed_from_u64(seed);
        let [a, b] = truths.map(|truth| simulate::failures(&mut rng, rounds, 200, truth, 0.01));
        let pairs: Vec<(Events, Events)> = a.into_iter().zip(b).collect();
        PairedRatio::from_events(&pairs, Confidence::P95)
    };
    for rounds in [6, 10, 16] {
        for truth in [0.005, 0.05, 0.5] {
            let told = share(400, |seed| judge(rounds, [truth; 2], seed).is_ok_and(|found| found.p_value <= 0.05));
            assert!(holds_level(told, 0.05, 400), "{rounds} rounds at {truth}: {told}");
        }
        let covered = share(400, |seed| contains(&judge(rounds, [0.1, 0.2], seed).unwrap().ratio, 2.0));
        assert!(covers(covered, 0.95, 400), "{rounds} rounds: {covered}");
    }
    let found = share(400, |seed| judge(10, [0.05, 0.15], seed).unwrap().ratio.low() > Some(1.0));
    assert!(found > 0.9, "{found}");
}

/// Verdicts of a scenario with `others` variants against its baseline, each at its share of the 95 % level, as in a
/// report.
fn family(host: Host, n: u32, others: usize, ratio: f64, seed: u64) -> Vec<Verdict> {
    let confidence = Confidence::P95.shared_by(others).unwrap();
    let planner = Planner::new(confidence, 0.8).unwrap();
    (0..others as u64)
        .map(|variant| {
            let pairs = rounds(host, n, ratio, seed * 1009 + variant);
            let found = PairedRatio::from_rounds(&pairs, confidence).unwrap();
            found.verdict(Tolerance::DEFAULT, Better::Lower, &planner)
        })
        .collect()
}

#[test]
fn families_of_identical_variants_are_rarely_told_apart() {
    const EXPERIMENTS: u32 = 400;
    for noise in NOISES {
        for (others, n) in [(1, 6), (3, 8), (11, 10)] {
            let judge = |seed| family(Host::noisy(noise), n, others, 1.0, seed);
            // At most 5 % of the experiments have any false difference; 5 % is reached if the level is attained
            // exactly.
            let any = share(EXPERIMENTS, |seed| judge(seed).into_iter().any(differs));
            assert!(holds_level(any, 0.05, EXPERIMENTS), "{noise:?}, {others} variants in {n} rounds: {any}");
            // Of the verdicts of 100 experiments, far fewer than 5 % are wrong.
            let verdicts = (0..100).flat_map(judge).collect::<Vec<_>>();
            let wrong = verdicts.iter().filter(|v| differs(**v)).count();
            assert!(wrong * 20 <= verdicts.len(), "{noise:?}, {others} variants: {wrong} of {}", verdicts.len());
        }
    }
}

#[test]
fn a_tenth_slower_is_found_in_nine_of_ten_with_the_rounds_planned_for_it() {
    // Spreads of the median latency from a quiet to a loaded host. The result of `litelab calibrate` on the busy
    // two-processor development machine is within this range.
    let tenth = Tolerance::new(0.1).unwrap();
    for spread in [0.02, 0.06, 0.12, 0.25] {
        let host = Host { trial: spread / std::f64::consts::SQRT_2, drift: 0.0, ..Host::noisy(Noise::Normal) };
        let n = Planner::new(Confidence::P95, 0.9).unwrap().total_for_tolerance(Spread::normal(spread), tenth).unwrap();
        let found = share(RUNS, |seed| family(host, n, 1, 1.1, seed) == [Verdict::Slower]);
        assert!(found >= 0.9 - simulate::margin(0.9, RUNS), "{n} rounds at {spread}: {found}");
        // A report requests the rounds for its tolerance of 5 % at a power of 80 %; a difference of a tenth is then
        // nearly always detected. For the noisiest host this number is too large for a test.
        if spread < 0.2 {
            let n = Planner::default().total_for_tolerance(Spread::normal(spread), Tolerance::DEFAULT).unwrap();
            let found = share(RUNS, |seed| family(host, n, 1, 1.1, seed) == [Verdict::Slower]);
            assert!(found >= 0.9, "{n} rounds at {spread}: {found}");
        }
    }
}
