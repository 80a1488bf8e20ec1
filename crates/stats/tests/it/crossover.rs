//! Statistical guarantees of crossovers: seeded experiments on simulated hosts with a known crossover.

use crate::common::simulate::{Host, Noise, covers, holds_level, share};
use litelab_stats::{Better, Confidence, Crossover, CrossoverPosition, Reach};
use rand::SeedableRng;
use rand_pcg::Pcg64;

const LEVELS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];
const RUNS: u32 = 300;

/// Rounds of a host on which the log-ratio of the other variant to the base is `truth` at each level.
fn rounds(host: Host, n: u32, truth: &[f64], seed: u64) -> Vec<Vec<(f64, f64)>> {
    let mut rng = Pcg64::seed_from_u64(seed ^ 0xC0DE);
    let one = |_| {
        let common = host.round * host.noise.draw(&mut rng);
        let mut trial = || (common + host.trial * host.noise.draw(&mut rng)).exp();
        truth.iter().map(|d| (trial(), trial() * d.exp())).collect()
    };
    (0..n).map(one).collect()
}

fn found(host: Host, n: u32, truth: &[f64], seed: u64) -> Crossover {
    Crossover::from_rounds(&LEVELS, &rounds(host, n, truth, seed), Better::Higher, Confidence::P95).unwrap()
}

/// A position as a number for comparisons. The open ends are outside all levels.
fn number(place: CrossoverPosition) -> f64 {
    match place {
        CrossoverPosition::UpToFirst => 0.0,
        CrossoverPosition::At(at) => at,
        CrossoverPosition::BeyondLast => f64::INFINITY,
    }
}

fn ends(crossover: &Crossover) -> (f64, f64) {
    match crossover.reach {
        Reach::Between { from, to, .. } => (number(from), number(to)),
        Reach::NeedsAtLeast(n) => panic!("needs {n}"),
    }
}

fn holds(crossover: &Crossover, truth: f64) -> bool {
    let (from, to) = ends(crossover);
    from <= truth && truth <= to
}

/// Log-ratios of a lead that grows by `slope` with each doubling and begins half-way between 2 and 4.
fn rising(slope: f64) -> [f64; 5] {
    [0.0, 1.0, 2.0, 3.0, 4.0].map(|at| slope * (at - 1.5))
}

const TRUE_CROSSOVER: f64 = 2.828_427_124_746_19;

#[test]
fn intervals_cover_a_known_crossover() {
    for noise in [Noise::Normal, Noise::Outliers, Noise::Heavy] {
        for (n, slope) in [(6, 0.4), (10, 0.4), (10, 0.1)] {
            let host = Host { trial: 0.2, ..Host::noisy(noise) };
            let covered = share(RUNS, |seed| holds(&found(host, n, &rising(slope), seed), TRUE_CROSSOVER));
            assert!(covers(covered, 0.95, RUNS), "{noise:?}, n = {n}, slope {slope}: {covered}");
        }
    }
}

#[test]
fn a_steep_crossover_is_found_closely() {
    let host = Host { trial: 0.05, ..Host::noisy(Noise::Normal) };
    let close = share(100, |seed| {
        let crossover = found(host, 10, &rising(0.4), seed);
        let (from, to) = ends(&crossover);
        2.0 < from && to < 4.0 && (2.4..3.4).contains(&number(crossover.at))
    });
    assert!(close > 0.95, "{close}");
}

#[test]
fn the_interval_of_a_crossover_at_the_first_level_reaches_it() {
    let host = Host { trial: 0.2, ..Host::noisy(Noise::Normal) };
    let truth = [0.0, 0.3, 0.6, 0.9, 1.2];
    let covered = share(RUNS, |seed| holds(&found(host, 10, &truth, seed), 1.0));
    assert!(covers(covered, 0.95, RUNS), "{covered}");
}

#[test]
fn where_none_is_none_is_claimed() {
    let host = Host { trial: 0.2, ..Host::noisy(Noise::Normal) };
    for truth in [[-0.1; 5], [0.3, 0.1, 0.0, -0.1, -0.2]] {
        let claimed = share(RUNS, |seed| ends(&found(host, 10, &truth, seed)).1 < f64::INFINITY);
        assert!(holds_level(claimed, 0.025, RUNS), "{truth:?}: {claimed}");
    }
    // With a large lag the absence of a crossover is shown.
    let shown = share(100, |seed| ends(&found(host, 10, &[-0.8; 5], seed)).0 == f64::INFINITY);
    assert!(shown > 0.95, "{shown}");
}

#[test]
fn identical_variants_have_no_crossover_that_is_shown_and_no_lack_of_one() {
    let host = Host { trial: 0.2, ..Host::noisy(Noise::Heavy) };
    let ahead = share(RUNS, |seed| ends(&found(host, 10, &[0.0; 5], seed)).1 < f64::INFINITY);
    let behind = share(RUNS, |seed| ends(&found(host, 10, &[0.0; 5], seed)).0 == f64::INFINITY);
    assert!(holds_level(ahead, 0.025, RUNS), "{ahead}");
    assert!(holds_level(behind, 0.025, RUNS), "{behind}");
}

/// Negative control: the middle half of the rounds' own crossovers resembles an interval but covers far less, which the
/// check above detects.
#[test]
fn the_spread_of_the_rounds_is_no_interval() {
    let host = Host { trial: 0.2, ..Host::noisy(Noise::Normal) };
    let covered = share(RUNS, |seed| {
        let rounds = rounds(host, 10, &rising(0.4), seed);
        let alone = |round: &Vec<(f64, f64)>| {
            let one = std::slice::from_ref(round);
            number(Crossover::from_rounds(&LEVELS, one, Better::Higher, Confidence::P95).unwrap().at)
        };
        let mut own: Vec<f64> = rounds.iter().map(alone).collect();
        own.sort_by(f64::total_cmp);
        own[3] <= TRUE_CROSSOVER && TRUE_CROSSOVER <= own[6]
    });
    assert!(!covers(covered, 0.95, RUNS), "{covered}");
}

/// Negative control: a wrong crossover is not covered.
#[test]
fn a_wrong_truth_is_not_covered() {
    let host = Host { trial: 0.1, ..Host::noisy(Noise::Normal) };
    let covered = share(100, |seed| holds(&found(host, 10, &rising(0.4), seed), 8.0));
    assert!(covered < 0.05, "{covered}");
}
