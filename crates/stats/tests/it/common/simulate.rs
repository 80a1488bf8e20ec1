//! Seeded experiments on simulated hosts with known true values.

use litelab_stats::{Events, Schedule, Verdict};
use rand::SeedableRng;
use rand_distr::{Beta, Binomial, Distribution, LogNormal, Normal, Poisson, StandardNormal, StudentT};
use rand_pcg::Pcg64;

/// A noisy machine. All noise is in logs and therefore relative.
#[derive(Clone, Copy)]
pub struct Host {
    /// Scale of the noise common to all variants of a round, Student's t with 2 degrees of freedom: neighbours,
    /// occasional stalls.
    pub round: f64,
    /// Scale of the noise of each trial.
    pub trial: f64,
    /// Growth per trial in order of execution.
    pub drift: f64,
    /// Change per position within a round: the advantage or disadvantage of running later.
    pub position: f64,
    pub noise: Noise,
}

/// Distribution of the noise of each trial, in logs, at scale 1.
#[derive(Clone, Copy, Debug)]
pub enum Noise {
    Normal,
    /// Skewed: most trials near the best, some far slower.
    LogNormal,
    /// One trial in ten deviates ten times as much.
    Outliers,
    /// Student's t with 2 degrees of freedom: infinite variance.
    Heavy,
    /// One trial in four shares its processor and is slower by one in logs; the others agree within a tenth.
    Shared,
}

pub const NOISES: [Noise; 4] = [Noise::Normal, Noise::LogNormal, Noise::Outliers, Noise::Heavy];

impl Host {
    pub fn noisy(noise: Noise) -> Self {
        Self { round: 0.5, trial: 0.3, drift: 0.02, position: 0.0, noise }
    }
}

impl Noise {
    pub fn draw(self, rng: &mut Pcg64) -> f64 {
        match self {
            Noise::Normal => StandardNormal.sample(rng),
            Noise::LogNormal => LogNormal::new(0.0, 1.0).unwrap().sample(rng),
            Noise::Outliers => {
                let far = rand::RngExt::random_bool(rng, 0.1);
                Normal::new(0.0, if far { 10.0 } else { 1.0 }).unwrap().sample(rng)
            }
            Noise::Heavy => StudentT::new(2.0).unwrap().sample(rng),
            Noise::Shared => {
                let slower = if rand::RngExt::random_bool(rng, 0.25) { 1.0 } else { 0.0 };
                slower + Normal::new(0.0, 0.1).unwrap().sample(rng)
            }
        }
    }

    /// The true median at scale 1.
    pub fn median(self) -> f64 {
        match self {
            Noise::LogNormal => 1.0,
            _ => 0.0,
        }
    }
}

/// Trials of two variants in rounds, in the scheduled order. The metric of variant B is `ratio` times that of variant
/// A.
pub fn rounds(host: Host, n: u32, ratio: f64, seed: u64) -> Vec<(f64, f64)> {
    let schedule = Schedule::new(seed, 2);
    rounds_in_order(host, n, ratio, seed, |round| schedule.order(round))
}

/// Trials as in [`rounds`], in an order given by the caller.
pub fn rounds_in_order(
    host: Host,
    n: u32,
    ratio: f64,
    seed: u64,
    order: impl Fn(u32) -> Vec<usize>,
) -> Vec<(f64, f64)> {
    let mut rng = Pcg64::seed_from_u64(seed ^ 0x5EED);
    let shared = StudentT::new(2.0).unwrap();
    (0..n)
        .map(|round| {
            let common = host.round * shared.sample(&mut rng);
            let mut variants = [0.0; 2];
            for (position, variant) in order(round).into_iter().enumerate() {
                let time = f64::from(2 * round) + position as f64;
                let log = common
                    + host.trial * host.noise.draw(&mut rng)
                    + host.drift * time
                    + host.position * position as f64;
                variants[variant] = if variant == 1 { ratio * log.exp() } else { log.exp() };
            }
            (variants[0], variants[1])
        })
        .collect()
}

/// Trials of `of` transactions, each of which fails with probability `share`. Transactions of one trial have an
/// intraclass correlation of `alike`.
pub fn failures(rng: &mut Pcg64, trials: u32, of: u64, share: f64, alike: f64) -> Vec<Events> {
    let spread = (1.0 - alike) / alike;
    let of_trial = Beta::new(share * spread, (1.0 - share) * spread).unwrap();
    let trial = |_| {
        let p = of_trial.sample(rng);
        Events { count: Binomial::new(of, p).unwrap().sample(rng), of }
    };
    (0..trials).map(trial).collect()
}

/// Trials with a mean of `rate` errors per transaction, where the rate of a trial scatters by `scatter` in logs.
pub fn errors(rng: &mut Pcg64, trials: u32, of: u64, rate: f64, scatter: f64) -> Vec<Events> {
    let trial = |_| {
        let own: f64 = scatter * Noise::Normal.draw(rng) - scatter * scatter / 2.0;
        let count: f64 = Poisson::new(rate * own.exp() * of as f64).unwrap().sample(rng);
        Events { count: count as u64, of }
    };
    (0..trials).map(trial).collect()
}

/// Share of `runs` seeded experiments in which `event` occurs.
pub fn share(runs: u32, event: impl Fn(u64) -> bool) -> f64 {
    let hits = (0..runs).filter(|&run| event(1_000_003 * u64::from(run) + 17)).count();
    hits as f64 / f64::from(runs)
}

/// Three standard errors of a share estimated from `runs` experiments.
pub fn margin(share: f64, runs: u32) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(runs)).sqrt()
}

/// Whether an observed rate of false findings is compatible with a level of at most `alpha`.
pub fn holds_level(observed: f64, alpha: f64, runs: u32) -> bool {
    observed <= alpha + margin(alpha, runs)
}

/// Whether an observed coverage is compatible with at least `confidence`.
pub fn covers(observed: f64, confidence: f64, runs: u32) -> bool {
    observed >= confidence - margin(confidence, runs)
}

/// Whether a verdict is of a difference.
pub fn differs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}
