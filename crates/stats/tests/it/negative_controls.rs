//! Negative controls: wrong estimators and wrong designs in the same checks as the right ones. Each check must detect
//! them; otherwise it could not detect an error of this package either.

use crate::common::close;
use crate::common::fixtures::{self, MedianCase, RatioCase};
use crate::common::simulate::{Host, Noise, covers, differs, failures, holds_level, rounds, rounds_in_order, share};
use litelab_stats::{
    Aa, Better, Confidence, Counted, Estimate, Events, PairedRatio, Planner, Schedule, StatsError, Tolerance,
    UnpairedRatio, Verdict, mad, median, proportion,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const RUNS: u32 = 1000;

fn paired(pairs: &[(f64, f64)]) -> Verdict {
    let ratio = PairedRatio::from_rounds(pairs, Confidence::P95).unwrap();
    ratio.verdict(Tolerance::DEFAULT, Better::Higher, &Planner::default())
}

fn unpaired(a: &[f64], b: &[f64]) -> Verdict {
    let ratio = UnpairedRatio::from_runs(a, b, Confidence::P95).unwrap();
    ratio.verdict(Tolerance::DEFAULT, Better::Higher, &Planner::default())
}

/// A quiet host that slows down steadily: 1 % per trial.
const DRIFTING: Host = Host { round: 0.0, trial: 0.05, drift: 0.01, position: 0.0, noise: Noise::Normal };

#[test]
fn all_of_a_then_all_of_b_finds_differences_that_are_drift() {
    let sequential = share(RUNS, |seed| {
        // The same host with all trials in sequence: the first half is called A, the second B.
        let series: Vec<f64> = rounds_in_order(DRIFTING, 10, 1.0, seed, |_| vec![0, 1])
            .into_iter()
            .flat_map(|(first, second)| [first, second])
            .collect();
        differs(unpaired(&series[..10], &series[10..]))
    });
    assert!(!holds_level(sequential, 0.05, RUNS), "drift went unseen: {sequential}");
    assert!(sequential > 0.5, "{sequential}");

    let in_rounds = share(RUNS, |seed| differs(paired(&rounds(DRIFTING, 10, 1.0, seed))));
    assert!(holds_level(in_rounds, 0.05, RUNS), "{in_rounds}");
}

#[test]
fn a_before_b_in_every_round_mistakes_position_for_difference() {
    // The second position is 10 % slower, for either variant.
    let second_suffers = Host { position: 0.1, drift: 0.0, ..DRIFTING };
    let fixed = share(RUNS, |seed| differs(paired(&rounds_in_order(second_suffers, 10, 1.0, seed, |_| vec![0, 1]))));
    assert!(!holds_level(fixed, 0.05, RUNS), "position went unseen: {fixed}");

    let scheduled = share(RUNS, |seed| differs(paired(&rounds(second_suffers, 10, 1.0, seed))));
    assert!(holds_level(scheduled, 0.05, RUNS), "{scheduled}");
}

#[test]
fn orders_by_free_coins_are_not_balanced() {
    let worst_lead = |order: &dyn Fn(u64, u32) -> Vec<usize>| {
        (0..100_u64)
            .map(|seed| {
                let ahead: i32 = (0..20).map(|round| if order(seed, round)[0] == 0 { 1 } else { -1 }).sum();
                ahead.abs()
            })
            .max()
            .unwrap()
    };
    // Each round has its own schedule, so that the order of the second round does not depend on the first.
    let free = |seed: u64, round: u32| Schedule::new(seed * 1000 + u64::from(round), 2).order(0);
    assert!(worst_lead(&free) > 1);
    assert!(worst_lead(&|seed, round| Schedule::new(seed, 2).order(round)) <= 1);
}

#[test]
fn the_paired_test_on_operations_instead_of_rounds_is_caught() {
    // Two trials cut into 20 windows each: the noise of a trial is the same in all its windows.
    let pseudo = share(RUNS, |seed| {
        let mut rng = Pcg64::seed_from_u64(seed);
        let trial = [0.1, 0.1].map(|scale| scale * Noise::Normal.draw(&mut rng));
        let windows: Vec<(f64, f64)> = (0..20)
            .map(|_| {
                let mut window = |trial: f64| (trial + 0.03 * Noise::Normal.draw(&mut rng)).exp();
                (window(trial[0]), window(trial[1]))
            })
            .collect();
        differs(paired(&windows))
    });
    assert!(!holds_level(pseudo, 0.05, RUNS), "{pseudo}");
}

fn mad_agrees(estimator: impl Fn(&[f64]) -> Result<f64, StatsError>) -> bool {
    fixtures::load::<MedianCase>("median").iter().all(|case| close(estimator(&case.sample).unwrap(), case.mad, 1e-12))
}

#[test]
fn a_mad_that_forgets_to_sort_the_deviations_is_caught() {
    let unsorted = |sample: &[f64]| {
        let centre = median(sample, Confidence::P95)?.value;
        let deviations: Vec<f64> = sample.iter().map(|x| (x - centre).abs()).collect();
        let middle = deviations.len() / 2;
        let value = if deviations.len() % 2 == 1 {
            deviations[middle]
        } else {
            (deviations[middle - 1] + deviations[middle]) / 2.0
        };
        Ok(1.482_602_218_505_602 * value)
    };
    assert!(!mad_agrees(unsorted));
    assert!(!mad_agrees(|sample| mad(sample).map(|scaled| scaled * 1.001)));
    assert!(mad_agrees(mad));
}

/// Whether the omission of `leave_out(k)` Walsh averages gives SciPy's interval, where k is the correct number.
fn walsh_interval_agrees(leave_out: impl Fn(usize) -> usize) -> bool {
    let cases = fixtures::load::<RatioCase>("paired");
    let mut with_interval = cases.iter().filter(|case| case.interval.is_some());
    with_interval.all(|case| {
        let d: Vec<f64> = case.rounds.iter().map(|(a, b)| (b / a).ln()).collect();
        let mut walsh: Vec<f64> =
            (0..d.len()).flat_map(|i| (i..d.len()).map(move |j| (i, j))).map(|(i, j)| (d[i] + d[j]) / 2.0).collect();
        walsh.sort_by(f64::total_cmp);
        let [low, high, _] = case.interval.unwrap();
        let right = walsh.iter().position(|w| close(w.exp(), low, 1e-9)).unwrap();
        let k = leave_out(right);
        close(walsh[k].exp(), low, 1e-9) && close(walsh[walsh.len() - 1 - k].exp(), high, 1e-9)
    })
}

#[test]
fn an_interval_one_walsh_average_too_narrow_is_caught() {
    assert!(walsh_interval_agrees(|right| right));
    assert!(!walsh_interval_agrees(|right| right + 1));
}

#[test]
fn a_percentile_bootstrap_of_a_skewed_mean_does_not_cover() {
    const N: usize = 6;
    let truth = 0.5_f64.exp();
    let covered = share(RUNS, |seed| {
        let mut rng = Pcg64::seed_from_u64(seed);
        let sample: Vec<f64> = (0..N).map(|_| Noise::LogNormal.draw(&mut rng)).collect();
        let mut means: Vec<f64> =
            (0..200).map(|_| (0..N).map(|_| sample[rng.random_range(0..N)]).sum::<f64>() / N as f64).collect();
        means.sort_by(f64::total_cmp);
        means[4] <= truth && truth <= means[195]
    });
    assert!(!covers(covered, 0.95, RUNS), "{covered}");
}

#[test]
fn uncorrected_cells_find_something_in_a_report_where_nothing_is() {
    const CELLS: u64 = 8;
    let any = |confidence: Confidence| {
        share(300, |seed| {
            (0..CELLS).any(|cell| {
                let pairs = rounds(Host::noisy(Noise::Normal), 10, 1.0, seed * CELLS + cell);
                let ratio = PairedRatio::from_rounds(&pairs, confidence).unwrap();
                let planner = Planner::new(confidence, 0.8).unwrap();
                differs(ratio.verdict(Tolerance::DEFAULT, Better::Higher, &planner))
            })
        })
    };
    let uncorrected = any(Confidence::P95);
    assert!(!holds_level(uncorrected, 0.05, 300), "{uncorrected}");
    let shared = any(Confidence::P95.shared_by(CELLS as usize).unwrap());
    assert!(holds_level(shared, 0.05, 300), "{shared}");
}

/// How often an interval covers the failure share in nine trials of 200 similar transactions.
fn covers_failures(interval: impl Fn(&[Events]) -> Estimate) -> f64 {
    share(RUNS, |seed| {
        let trials = failures(&mut Pcg64::seed_from_u64(seed), 9, 200, 0.02, 0.05);
        interval(&trials).interval().unwrap().contains(0.02)
    })
}

#[test]
fn shares_judged_by_their_median_or_as_if_trials_were_nothing_do_not_cover() {
    let of_medians = covers_failures(|trials| {
        let shares: Vec<f64> = trials.iter().map(|trial| trial.count as f64 / trial.of as f64).collect();
        median(&shares, Confidence::P95).unwrap()
    });
    assert!(!covers(of_medians, 0.95, RUNS), "{of_medians}");
    let of_transactions = covers_failures(|trials| {
        let all = Events::sum(trials);
        proportion(all.count as u32, all.of as u32, Confidence::P95).unwrap()
    });
    assert!(!covers(of_transactions, 0.95, RUNS), "{of_transactions}");
    let pooled = covers_failures(|trials| Events::pooled(trials, Counted::Share, Confidence::P95).unwrap());
    assert!(pooled > of_transactions + 0.05, "{pooled}, {of_transactions}");
}

/// Results of a calibration: the smallest effect detectable with 10 rounds, in logs, and the lower bound of the rate of
/// false differences.
fn calibrated(host: Host, ratio: f64) -> (f64, f64) {
    let aa = Aa::of(&rounds(host, 240, ratio, 5), 6, Confidence::P95).unwrap();
    let effect = Planner::default().smallest_effect(aa.overall.spread.unwrap(), 10).unwrap();
    (effect.ln_1p(), aa.rate.unwrap().low().unwrap())
}

#[test]
fn a_host_of_three_times_the_noise_is_told_a_three_times_coarser_effect() {
    let quiet = Host { trial: 0.03, drift: 0.0, ..DRIFTING };
    let (fine, _) = calibrated(quiet, 1.0);
    let (coarse, _) = calibrated(Host { trial: 0.09, ..quiet }, 1.0);
    assert!((coarse / fine / 3.0 - 1.0).abs() < 0.05, "{fine} and {coarse}");
}

#[test]
fn a_host_that_favours_one_of_two_identical_variants_is_told_so() {
    let host = Host { trial: 0.03, drift: 0.0, ..DRIFTING };
    let (_, fair) = calibrated(host, 1.0);
    let (_, biased) = calibrated(host, 1.05);
    assert!(fair <= 0.05, "{fair}");
    assert!(biased > 0.2, "{biased}");
}
