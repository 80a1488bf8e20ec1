//! The Universal Scalability Law.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::schedule::below;
use crate::{Bounds, Confidence, Estimate, Interval, StatsError, sample};

/// Refits behind each interval. The resulting standard error is itself accurate to about 4 %.
const REPLICATES: usize = 400;
/// Minimum number of observations for an interval: with fewer it would rest on fewer than three residual degrees of
/// freedom.
const FOR_INTERVAL: usize = 6;
const PARAMETERS: usize = 3;
const ITERATIONS: usize = 200;
const HALVINGS: i32 = 60;
const LIMIT: usize = 10_000;

/// Throughput of one trial at a level of concurrency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UslPoint {
    /// Number of workers, at least 1.
    pub concurrency: u32,
    /// Operations per second (or any unit of rate), above 0.
    pub throughput: f64,
}

/// Gunther's Universal Scalability Law (2007): X(N) = λN / (1 + σ(N − 1) + κN(N − 1)).
///
/// Fitted by least squares on ln X, because the scatter of throughput is proportional to its value. The coefficients
/// are not restricted to 0 and above: a slightly negative one is noise around 0, which its interval shows and clamping
/// would hide. For writers of one SQLite file σ is expected near 1, because only one writes at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Usl {
    /// λ: throughput of one worker in the unit of the points.
    pub lambda: Estimate,
    /// σ: the share of serialised work (contention), from 0 for none to 1 for all.
    pub sigma: Estimate,
    /// κ: the coherency cost per pair of workers. If it is above 0, throughput has a peak and falls beyond it.
    pub kappa: Estimate,
    /// Standard deviation of the residuals of ln X: 0.03 means that the points are about 3 % off the curve.
    pub residual: f64,
}

impl Usl {
    /// Fits the law to trials at three or more levels of concurrency.
    ///
    /// Intervals come from a residual bootstrap. Residuals, inflated by √(n/(n − 3)) for the degrees of freedom used by
    /// the fit, are drawn again onto the fitted curve and refitted 400 times with a generator seeded by `seed`. The
    /// standard error is the spread of the refits, and its multiple is Student's t with n − 3 degrees of freedom. A
    /// percentile interval would be too narrow with so few points. The intervals need 6 points, their coverage is
    /// nominal, and they assume independent residuals, although trials of one round share the influences on the round.
    ///
    /// # Errors
    /// No points, a concurrency of 0, a throughput that is not finite and positive, fewer than three distinct levels,
    /// more than 10 000 points, points that do not resemble the law at all, or bounds that exceed a double.
    pub fn fit(points: &[UslPoint], confidence: Confidence, seed: u64) -> Result<Self, StatsError> {
        sample::at_most(points.len(), LIMIT)?;
        let throughput: Vec<f64> = points.iter().map(|p| p.throughput).collect();
        sample::positive(&throughput)?;
        if let Some(index) = points.iter().position(|p| p.concurrency == 0) {
            return Err(StatsError::NotPositive { index, value: 0.0 });
        }
        let mut levels: Vec<u32> = points.iter().map(|p| p.concurrency).collect();
        levels.sort_unstable();
        levels.dedup();
        if levels.len() < PARAMETERS {
            return Err(StatsError::TooFew { have: levels.len(), need: PARAMETERS });
        }

        let n: Vec<f64> = points.iter().map(|p| f64::from(p.concurrency)).collect();
        let log_x: Vec<f64> = throughput.iter().map(|x| x.ln()).collect();
        let best = Curve::descend(&n, &log_x, Curve::start(&n, &log_x)).ok_or(StatsError::NoConvergence)?;
        let freedom = points.len() - PARAMETERS;
        let residual = if freedom == 0 { 0.0 } else { (best.error / freedom as f64).sqrt() };

        let reach = (points.len() >= FOR_INTERVAL).then(|| reach(&n, &log_x, best, confidence, seed)).transpose()?;
        let bounds = |value: f64, reach: Option<f64>, back: fn(f64) -> f64| match reach {
            Some(reach) => {
                let (low, high) = (back(value - reach), back(value + reach));
                let interval = Interval::new(low, high, confidence.level());
                interval.map(Bounds::Interval).map_err(|_| StatsError::Overflow)
            }
            None => Ok(Bounds::NeedsAtLeast(FOR_INTERVAL)),
        };
        let estimate = |value: f64, reach: Option<f64>, back: fn(f64) -> f64| {
            Ok(Estimate { value: back(value), n: points.len(), bounds: bounds(value, reach, back)? })
        };
        let log_lambda = best.log_lambda;
        sample::ratio(log_lambda)?;
        Ok(Self {
            lambda: estimate(log_lambda, reach.map(|r| r[0]), f64::exp)?,
            sigma: estimate(best.sigma, reach.map(|r| r[1]), std::convert::identity)?,
            kappa: estimate(best.kappa, reach.map(|r| r[2]), std::convert::identity)?,
            residual,
        })
    }

    /// The concurrency with the highest fitted throughput, √((1 − σ)/κ); `None` if there is no peak above one worker.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        let peak = ((1.0 - self.sigma.value) / self.kappa.value).sqrt();
        (self.kappa.value > 0.0 && peak.is_finite() && peak > 1.0).then_some(peak)
    }

    /// Fitted throughput with this number of workers; `None` if the fitted law is undefined there (outside the measured
    /// range, with a negative coefficient).
    #[must_use]
    pub fn throughput(&self, concurrency: f64) -> Option<f64> {
        let x = self.lambda.value * concurrency / denominator(concurrency, self.sigma.value, self.kappa.value);
        (x.is_finite() && x > 0.0).then_some(x)
    }
}

fn denominator(n: f64, sigma: f64, kappa: f64) -> f64 {
    1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0)
}

/// A candidate fit. λ is an additive constant of ln X, so for given σ and κ the best ln λ is a mean, and the search has
/// only two parameters.
#[derive(Clone, Copy)]
struct Curve {
    log_lambda: f64,
    sigma: f64,
    kappa: f64,
    /// Sum of squared residuals of ln X.
    error: f64,
}

impl Curve {
    /// The curve with the best λ; `None` if the law is not positive at every measured level.
    fn at(n: &[f64], log_x: &[f64], sigma: f64, kappa: f64) -> Option<Self> {
        let offsets = offsets(n, log_x, sigma, kappa)?;
        let log_lambda = mean(&offsets);
        let error = offsets.iter().map(|o| (o - log_lambda).powi(2)).sum::<f64>();
        error.is_finite().then_some(Self { log_lambda, sigma, kappa, error })
    }

    /// The best curve of a coarse grid, all of whose curves are positive at any level.
    fn start(n: &[f64], log_x: &[f64]) -> Self {
        let none = Self { log_lambda: 0.0, sigma: 0.0, kappa: 0.0, error: f64::INFINITY };
        let grid = [0.0, 0.02, 0.1, 0.3, 0.7, 1.0].into_iter().flat_map(|sigma| {
            let kappas = [0.0, 1e-6, 1e-4, 1e-3, 1e-2, 0.1];
            kappas.into_iter().map(move |kappa| (sigma, kappa))
        });
        grid.filter_map(|(sigma, kappa)| Self::at(n, log_x, sigma, kappa))
            .fold(none, |best, next| if next.error < best.error { next } else { best })
    }

    /// Gauss and Newton's method from `start`; a step is halved until it improves the fit. `None` without convergence
    /// after 200 steps.
    fn descend(n: &[f64], log_x: &[f64], start: Self) -> Option<Self> {
        let mut best = start;
        for _ in 0..ITERATIONS {
            let (by_sigma, by_kappa) = best.step(n, log_x)?;
            let part = |halvings: i32| {
                let share = 0.5_f64.powi(halvings);
                Self::at(n, log_x, best.sigma + share * by_sigma, best.kappa + share * by_kappa)
            };
            let Some(next) = (0..HALVINGS).filter_map(part).find(|next| next.error <= best.error) else {
                // No direction improves the fit: this is the minimum within the precision of doubles.
                return Some(best);
            };
            let stuck = best.error - next.error <= 1e-15 * best.error;
            best = next;
            if stuck {
                return Some(best);
            }
        }
        None
    }

    /// The step in σ and κ from the normal equations.
    fn step(&self, n: &[f64], log_x: &[f64]) -> Option<(f64, f64)> {
        let residuals: Vec<f64> =
            offsets(n, log_x, self.sigma, self.kappa)?.iter().map(|offset| offset - self.log_lambda).collect();
        // Derivatives of the residuals, minus their means, because λ adapts to σ and κ.
        let slope = |weight: fn(f64) -> f64| {
            let raw: Vec<f64> = n.iter().map(|&n| weight(n) / denominator(n, self.sigma, self.kappa)).collect();
            let centre = mean(&raw);
            raw.into_iter().map(|s| s - centre).collect::<Vec<f64>>()
        };
        let by_sigma = slope(|n| n - 1.0);
        let by_kappa = slope(|n| n * (n - 1.0));
        let (ss, kk, sk) = (dot(&by_sigma, &by_sigma), dot(&by_kappa, &by_kappa), dot(&by_sigma, &by_kappa));
        let (gs, gk) = (dot(&by_sigma, &residuals), dot(&by_kappa, &residuals));
        let determinant = ss * kk - sk * sk;
        let steps = ((sk * gk - kk * gs) / determinant, (sk * gs - ss * gk) / determinant);
        (determinant > 0.0 && steps.0.is_finite() && steps.1.is_finite()).then_some(steps)
    }
}

/// Half the widths of the intervals of ln λ, σ and κ.
fn reach(n: &[f64], log_x: &[f64], best: Curve, confidence: Confidence, seed: u64) -> Result<[f64; 3], StatsError> {
    let points = n.len();
    let freedom = (points - PARAMETERS) as f64;
    let inflation = (points as f64 / freedom).sqrt();
    let offsets = offsets(n, log_x, best.sigma, best.kappa).ok_or(StatsError::NoConvergence)?;
    let residuals: Vec<f64> = offsets.iter().map(|o| (o - best.log_lambda) * inflation).collect();

    let mut generator = Pcg64::seed_from_u64(seed);
    let mut drawn = vec![0.0; points];
    let mut squares = [0.0; 3];
    let mut refits = 0_usize;
    for _ in 0..REPLICATES {
        for (i, slot) in drawn.iter_mut().enumerate() {
            let fitted = log_x[i] - (offsets[i] - best.log_lambda);
            *slot = fitted + residuals[below(points as u64, &mut generator) as usize];
        }
        let Some(start) = Curve::at(n, &drawn, best.sigma, best.kappa) else {
            continue;
        };
        let Some(refit) = Curve::descend(n, &drawn, start) else {
            continue;
        };
        squares[0] += (refit.log_lambda - best.log_lambda).powi(2);
        squares[1] += (refit.sigma - best.sigma).powi(2);
        squares[2] += (refit.kappa - best.kappa).powi(2);
        refits += 1;
    }
    // Refits without convergence belong to the tails of the distribution. Their omission narrows the interval, so with
    // many of them there is no valid interval.
    if refits < REPLICATES * 9 / 10 {
        return Err(StatsError::NoConvergence);
    }
    let quantile = StudentsT::new(0.0, 1.0, freedom)
        .map_err(|_| StatsError::NoConvergence)?
        .inverse_cdf(1.0 - confidence.alpha() / 2.0);
    Ok(squares.map(|sum: f64| quantile * (sum / refits as f64).sqrt()))
}

/// ln X − ln N + ln(denominator): equal to ln λ for points on the curve. `None` if the law is not positive at every
/// point.
fn offsets(n: &[f64], log_x: &[f64], sigma: f64, kappa: f64) -> Option<Vec<f64>> {
    n.iter()
        .zip(log_x)
        .map(|(&n, &log_x)| {
            let denominator = denominator(n, sigma, kappa);
            (denominator > 0.0 && denominator.is_finite()).then(|| log_x - n.ln() + denominator.ln())
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(lambda: f64, sigma: f64, kappa: f64, levels: &[u32]) -> Vec<UslPoint> {
        let at = |&concurrency: &u32| {
            let n = f64::from(concurrency);
            UslPoint { concurrency, throughput: lambda * n / denominator(n, sigma, kappa) }
        };
        levels.iter().map(at).collect()
    }

    #[test]
    fn recovers_the_law_it_was_given() {
        for (lambda, sigma, kappa) in [(1000.0, 0.05, 0.001), (3.0, 1.0, 0.0), (50_000.0, 0.0, 0.0), (1e-3, 0.3, 0.02)]
        {
            let points = law(lambda, sigma, kappa, &[1, 2, 4, 8, 16, 32]);
            let fit = Usl::fit(&points, Confidence::P95, 1).unwrap();
            assert!((fit.lambda.value / lambda - 1.0).abs() < 1e-6, "{fit:?}");
            assert!((fit.sigma.value - sigma).abs() < 1e-6, "{fit:?}");
            assert!((fit.kappa.value - kappa).abs() < 1e-7, "{fit:?}");
            assert!(fit.residual < 1e-6);
        }
    }

    #[test]
    fn knows_where_the_peak_is_and_when_there_is_none() {
        let fit = |sigma, kappa| {
            let points = law(10.0, sigma, kappa, &[1, 2, 4, 8, 16, 32]);
            Usl::fit(&points, Confidence::P95, 1).unwrap()
        };
        let peaked = fit(0.1, 0.009);
        assert!((peaked.peak().unwrap() - 10.0).abs() < 1e-3);
        assert!(peaked.throughput(10.0) > peaked.throughput(5.0));
        assert!(peaked.throughput(10.0) > peaked.throughput(20.0));
        assert_eq!(fit(1.0, 0.01).peak(), None);
    }

    #[test]
    fn two_levels_or_none_are_refused() {
        let two = law(1.0, 0.1, 0.0, &[1, 1, 2, 2, 2]);
        let few = Usl::fit(&two, Confidence::P95, 1);
        assert_eq!(few, Err(StatsError::TooFew { have: 2, need: 3 }));
        assert_eq!(Usl::fit(&[], Confidence::P95, 1), Err(StatsError::Empty));
        let zero = UslPoint { concurrency: 0, throughput: 1.0 };
        assert!(Usl::fit(&[zero], Confidence::P95, 1).is_err());
        let five = law(1.0, 0.1, 0.0, &[1, 2, 3, 4, 5]);
        let five = Usl::fit(&five, Confidence::P95, 1).unwrap();
        assert_eq!(five.sigma.needs(), Some(6));
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let mut points = law(100.0, 0.2, 0.001, &[1, 2, 4, 8, 16, 24]);
        points[2].throughput *= 1.1;
        let fit = |seed| Usl::fit(&points, Confidence::P95, seed).unwrap();
        assert_eq!(fit(1), fit(1));
        assert_ne!(fit(1).sigma.bounds, fit(2).sigma.bounds);
    }
}
