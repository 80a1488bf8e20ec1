//! Rare events, counted in every trial and analysed over all trials: the median of shares that are mostly 0 is
//! meaningless.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Gamma, StudentsT};

use crate::confidence::minimum_rounds;
use crate::null::{standard_quantile, two_sided_z};
use crate::proportion::clopper_pearson;
use crate::{Bounds, Confidence, Estimate, Interval, PairedRatio, StatsError, sample};

/// Largest number of rounds for which all subsets are enumerated; above it a sample of them is drawn.
const ALL_SUBSETS: usize = 13;
const LEAST_SAMPLE: f64 = 10_000.0;
const ROUNDS_LIMIT: usize = 200;
/// Relative difference below which sums are equal up to rounding.
const ROUNDING: f64 = 1e-12;

/// Counts of one trial: events and transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Events {
    /// Number of events.
    pub count: u64,
    /// Number of transactions in which the event was possible.
    pub of: u64,
}

/// Relation of events to transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// At most one event per transaction: the value is a share.
    Share,
    /// Any number of events per transaction: the value is a rate.
    Rate,
}

impl Events {
    /// The sums over all trials.
    #[must_use]
    pub fn sum(trials: &[Self]) -> Self {
        trials.iter().fold(Self::default(), |sum, trial| Self {
            count: sum.count.saturating_add(trial.count),
            of: sum.of.saturating_add(trial.of),
        })
    }

    /// Events per transaction over all trials together, k of n, with an interval that allows for similar transactions
    /// within a trial: for a [`Counted::Share`] that of Korn and Graubard (*Survey Methodology* 24, 1998, 193).
    ///
    /// It is Clopper and Pearson's interval of p·n* in n* transactions, n* = n / max(1, D) · (z₁₋α/₂ / t₁₋α/₂,ₘ₋₁)².
    /// The design effect D is the variance of p between the m trials, m/(m − 1) · Σ(kᵢ − p·nᵢ)² / n², divided by that
    /// of n independent transactions, p(1 − p)/n; the last factor compensates for the estimation of D. The interval is
    /// therefore never narrower than Clopper and Pearson's of k in n. Without any event, or with events only, no trial
    /// differs from another: the interval is that of k in n, which assumes independent transactions, and 0 of 304
    /// leaves up to 1.2 % possible.
    ///
    /// For a [`Counted::Rate`] the method is the same with Poisson's distribution: D divided by k/n², and Garwood's
    /// interval (*Biometrika* 28, 1936, 437) of k / max(1, D) · (z/t)² events.
    ///
    /// `n` of the estimate counts trials with transactions; below 6 at 95 % there is no interval, as for any other
    /// metric.
    ///
    /// # Errors
    /// [`StatsError::Empty`] without transactions, [`StatsError::OutOfDomain`] for a share above 1.
    pub fn pooled(trials: &[Self], counted: Counted, confidence: Confidence) -> Result<Estimate, StatsError> {
        let trials: Vec<Self> = trials.iter().copied().filter(|trial| trial.of > 0).collect();
        let Self { count, of } = Self::sum(&trials);
        if trials.is_empty() {
            return Err(StatsError::Empty);
        }
        let (m, k, n) = (trials.len(), count as f64, of as f64);
        let value = k / n;
        if counted == Counted::Share && trials.iter().any(|trial| trial.count > trial.of) {
            return Err(StatsError::OutOfDomain { what: "share", value, domain: "at most 1" });
        }
        if m < minimum_rounds(confidence) {
            return Ok(Estimate { value, n: m, bounds: Bounds::NeedsAtLeast(minimum_rounds(confidence)) });
        }
        let independent = match counted {
            Counted::Share => value * (1.0 - value) / n,
            Counted::Rate => value / n,
        };
        let information = if independent > 0.0 {
            let squares: f64 = trials.iter().map(|t| (t.count as f64 - value * t.of as f64).powi(2)).sum();
            let between = m as f64 / (m - 1) as f64 * squares / n / n;
            let t = StudentsT::new(0.0, 1.0, (m - 1) as f64).map_err(|_| StatsError::Empty)?;
            let t = t.inverse_cdf(1.0 - confidence.alpha() / 2.0);
            (two_sided_z(confidence) / t).powi(2) / (between / independent).max(1.0)
        } else {
            1.0
        };
        let (low, high) = match counted {
            Counted::Share => clopper_pearson(k * information, n * information, confidence),
            Counted::Rate => {
                let (low, high) = garwood(k * information, confidence);
                (low / n / information, high / n / information)
            }
        };
        let interval = Interval::new(low.min(value), high.max(value), confidence.level())?;
        Ok(Estimate { value, n: m, bounds: Bounds::Interval(interval) })
    }
}

/// The ends of the interval of Poisson's mean for `k` events, which can be fractional.
fn garwood(k: f64, confidence: Confidence) -> (f64, f64) {
    let tail = confidence.alpha() / 2.0;
    let quantile = |shape: f64, p: f64| {
        if shape > 1e4 {
            // Wilson and Hilferty (1931): correct to six digits here, where the inverse is slow.
            return shape * (1.0 - 1.0 / (9.0 * shape) + standard_quantile(p) / (3.0 * shape.sqrt())).powi(3);
        }
        Gamma::new(shape, 1.0).map_or(f64::NAN, |gamma| gamma.inverse_cdf(p))
    };
    (if k > 0.0 { quantile(k, tail) } else { 0.0 }, quantile(k + 1.0, 1.0 - tail))
}

impl PairedRatio {
    /// The ratio B/A of the event rates of two variants, from rounds `(a, b)` that ran both.
    ///
    /// The estimate is Mantel and Haenszel's with the rounds as strata: Σxᵢ / Σyᵢ with xᵢ = b·nₐ/(nₐ + n_b), yᵢ =
    /// a·n_b/(nₐ + n_b) for `a` events in nₐ transactions against `b` in n_b. If the variants do not differ, both signs
    /// of each xᵢ − yᵢ are equally likely, whatever the counts and however similar the transactions of a trial: the
    /// test flips the signs of whole rounds (Fisher's randomisation test). Rounds without an event contribute no
    /// evidence.
    ///
    /// The interval is the inverted test: it omits the c smallest and c largest of the ratios of all subsets of rounds,
    /// c = ⌊α/2 · 2ᵐ⌋ (Hartigan, *JASA* 64, 1969, 1303). It is exact at equality, elsewhere to the extent that xᵢ −
    /// ρ·yᵢ is symmetric. Above 13 rounds a sample of subsets is used (at least 10 000, always the same ones).
    ///
    /// # Errors
    /// No rounds, more than 200 rounds, and [`StatsError::Overflow`] if A has events in too few rounds for an upper
    /// end.
    pub fn from_events(rounds: &[(Events, Events)], confidence: Confidence) -> Result<Self, StatsError> {
        sample::at_most(rounds.len(), ROUNDS_LIMIT)?;
        let ran = rounds.iter().filter(|(a, b)| a.of > 0 && b.of > 0);
        let weighed = ran.map(|(a, b)| {
            let (n_a, n_b) = (a.of as f64, b.of as f64);
            (b.count as f64 * (n_a / (n_a + n_b)), a.count as f64 * (n_b / (n_a + n_b)))
        });
        let weighed: Vec<(f64, f64)> = weighed.collect();
        let m = weighed.len();
        if m == 0 {
            return Err(StatsError::Empty);
        }
        let add = |(x, y): (f64, f64), (further_x, further_y): &(f64, f64)| (x + further_x, y + further_y);
        let (x, y) = weighed.iter().fold((0.0, 0.0), add);
        let subsets = subsets(&weighed, confidence);
        let patterns = (subsets.len() + 1) as f64;
        // The empty set of rounds belongs to both tails.
        let tail = |in_tail: fn(f64, f64) -> bool| 1 + subsets.iter().filter(|(x, y)| in_tail(*x, *y)).count();
        let less = tail(|x, y| x - y <= ROUNDING * (x + y));
        let more = tail(|x, y| y - x <= ROUNDING * (x + y));
        let p_value = (2.0 * less.min(more) as f64 / patterns).min(1.0);

        let cut = (confidence.alpha() / 2.0 * patterns + 1e-9).floor() as usize;
        // A subset without any event belongs to both tails, for any ratio.
        let end = |none: f64, at: usize| {
            let mut ratios: Vec<f64> =
                subsets.iter().map(|(x, y)| if *x == 0.0 && *y == 0.0 { none } else { x / y }).collect();
            ratios.sort_unstable_by(f64::total_cmp);
            ratios.get(at).copied().filter(|ratio| ratio.is_finite()).ok_or(StatsError::Overflow)
        };
        let bounds = match cut {
            0 => Bounds::NeedsAtLeast(minimum_rounds(confidence).max(m + 1)),
            cut => Bounds::Interval(Interval::new(
                end(0.0, cut - 1)?.min(x / y),
                end(f64::INFINITY, subsets.len() - cut)?.max(x / y),
                1.0 - 2.0 * cut as f64 / patterns,
            )?),
        };
        let value = Some(x / y).filter(|ratio| ratio.is_finite()).ok_or(StatsError::Overflow)?;
        Ok(Self { ratio: Estimate { value, n: m, bounds }, p_value, spread: None })
    }
}

/// Sums over the non-empty subsets of the rounds, or over a sample of them.
fn subsets(rounds: &[(f64, f64)], confidence: Confidence) -> Vec<(f64, f64)> {
    if rounds.len() <= ALL_SUBSETS {
        let mut sums = vec![(0.0, 0.0)];
        for (x, y) in rounds {
            let with: Vec<(f64, f64)> = sums.iter().map(|sum| (sum.0 + x, sum.1 + y)).collect();
            sums.extend(with);
        }
        return sums.split_off(1);
    }
    // Sampling changes only the last digit, and a constant seed gives the same report each time.
    let mut random = Pcg64::seed_from_u64(1);
    let draws = (40.0 / confidence.alpha()).clamp(LEAST_SAMPLE, 1e6) as usize - 1;
    let draw = |_| {
        let mut bits = 0;
        let chosen = rounds.iter().enumerate().filter(|(i, _)| {
            bits = if i % 64 == 0 { random.next_u64() } else { bits >> 1 };
            bits & 1 == 1
        });
        chosen.fold((0.0, 0.0), |(x, y), (_, round)| (x + round.0, y + round.1))
    };
    (0..draws).map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(counts: &[u64], of: u64) -> Vec<Events> {
        counts.iter().map(|count| Events { count: *count, of }).collect()
    }

    fn ends(trials: &[Events], counted: Counted) -> (f64, f64) {
        let interval = Events::pooled(trials, counted, Confidence::P95).unwrap().interval().unwrap();
        (interval.low(), interval.high())
    }

    #[test]
    fn no_event_in_304_leaves_one_per_cent_possible() {
        let (low, high) = ends(&trials(&[0; 8], 38), Counted::Share);
        assert!(low == 0.0 && (high - 0.012_061).abs() < 1e-6, "{high}");
        // The exact upper end for 0 events is −ln 0.025 events.
        let (low, high) = ends(&trials(&[0; 8], 38), Counted::Rate);
        assert!(low == 0.0 && (high - 3.688_879 / 304.0).abs() < 1e-7, "{high}");
        assert_eq!(ends(&trials(&[38; 8], 38), Counted::Share).1, 1.0);
    }

    #[test]
    fn events_that_come_together_say_less_and_none_says_more_than_clopper_pearson() {
        let spread = ends(&trials(&[2, 2, 2, 1, 2, 2, 1, 2], 100), Counted::Share);
        let together = ends(&trials(&[14, 0, 0, 0, 0, 0, 0, 0], 100), Counted::Share);
        let exact = clopper_pearson(14.0, 800.0, Confidence::P95);
        assert!(together.0 < spread.0 && spread.0 < exact.0, "{together:?} {spread:?} {exact:?}");
        assert!(together.1 > spread.1 && spread.1 > exact.1, "{together:?} {spread:?} {exact:?}");
        // With all events in one trial, the information is little more than that of eight observations.
        assert!(together.1 > 0.08, "{together:?}");
        let apart = ends(&trials(&[14, 0, 0, 0, 0, 0, 0, 0], 100), Counted::Rate);
        assert!(apart.1 > 2.0 * ends(&trials(&[2, 2, 2, 1, 2, 2, 1, 2], 100), Counted::Rate).1);
    }

    #[test]
    fn one_event_excludes_never_and_a_rate_may_exceed_one() {
        let mut one = trials(&[0; 9], 40);
        one[4].count = 1;
        assert!(ends(&one, Counted::Share).0 > 0.0 && ends(&one, Counted::Rate).0 > 0.0);
        let rate = Events::pooled(&trials(&[150, 160, 140, 155, 145, 150], 100), Counted::Rate, Confidence::P95);
        assert_eq!(rate.unwrap().value, 1.5);
        let share = Events::pooled(&trials(&[150; 6], 100), Counted::Share, Confidence::P95);
        assert!(share.is_err());
    }

    #[test]
    fn few_trials_and_none_and_numbers_beyond_all_measure() {
        let five = Events::pooled(&trials(&[0; 5], 1000), Counted::Share, Confidence::P95).unwrap();
        assert_eq!((five.value, five.needs()), (0.0, Some(6)));
        assert_eq!(Events::pooled(&[], Counted::Rate, Confidence::P95), Err(StatsError::Empty));
        assert_eq!(Events::pooled(&trials(&[0; 9], 0), Counted::Share, Confidence::P95), Err(StatsError::Empty));
        for counted in [Counted::Share, Counted::Rate] {
            for count in [0, 1, u64::MAX / 2, u64::MAX] {
                let (low, high) = ends(&trials(&[count; 7], u64::MAX), counted);
                assert!(low <= high && high.is_finite(), "{count}: {low} {high}");
            }
        }
    }

    #[test]
    fn the_poisson_ends_meet_where_the_approximation_begins() {
        let (below, above) = (garwood(9_998.0, Confidence::P95), garwood(10_001.0, Confidence::P95));
        // From tables of Poisson's distribution: 5 events, [1.623, 11.668].
        let five = garwood(5.0, Confidence::P95);
        assert!((five.0 - 1.623_486).abs() < 1e-5 && (five.1 - 11.668_332).abs() < 1e-5, "{five:?}");
        assert!(
            (above.0 - below.0 - 3.0).abs() < 0.05 && (above.1 - below.1 - 3.0).abs() < 0.05,
            "{below:?} {above:?}"
        );
    }

    fn rounds(a: &[u64], b: &[u64], of: u64) -> Vec<(Events, Events)> {
        trials(a, of).into_iter().zip(trials(b, of)).collect()
    }

    #[test]
    fn the_ratio_is_that_of_the_counts_and_its_ends_those_of_subsets() {
        let six = rounds(&[10, 10, 10, 10, 10, 10], &[20, 30, 20, 20, 20, 25], 100);
        let found = PairedRatio::from_events(&six, Confidence::P95).unwrap();
        let shown = [found.ratio.value, found.ratio.low().unwrap(), found.ratio.high().unwrap()];
        assert!(shown.iter().zip([2.25, 2.0, 3.0]).all(|(found, is)| (found - is).abs() < 1e-12), "{shown:?}");
        assert_eq!(found.p_value, 2.0 / 64.0);
        let swapped: Vec<_> = six.iter().map(|(a, b)| (*b, *a)).collect();
        let other = PairedRatio::from_events(&swapped, Confidence::P95).unwrap();
        assert!((other.ratio.value * 2.25 - 1.0).abs() < 1e-12 && other.p_value == found.p_value);
        assert_eq!(PairedRatio::from_events(&six[..5], Confidence::P95).unwrap().ratio.needs(), Some(6));
    }

    #[test]
    fn rounds_without_an_event_are_no_evidence() {
        let b = [5, 0, 0, 4, 0, 0, 6, 0, 5];
        // Only one pattern of four rounds, and its opposite, is as extreme.
        let a = [1, 0, 0, 1, 0, 0, 1, 0, 1];
        assert_eq!(PairedRatio::from_events(&rounds(&a, &b, 50), Confidence::P95), Err(StatsError::Overflow));
        let same = rounds(&[3, 0, 4, 4, 2, 3, 5, 3, 1], &[3, 0, 4, 4, 2, 3, 5, 3, 1], 50);
        let found = PairedRatio::from_events(&same, Confidence::P95).unwrap();
        assert_eq!((found.p_value, found.ratio.value), (1.0, 1.0));
        assert!(found.ratio.interval().unwrap().contains(1.0));
        assert!(PairedRatio::from_events(&rounds(&[0; 9], &[0; 9], 50), Confidence::P95).is_err());
        assert!(PairedRatio::from_events(&rounds(&[0; 9], &b, 50), Confidence::P95).is_err());
        assert_eq!(PairedRatio::from_events(&[], Confidence::P95), Err(StatsError::Empty));
    }

    #[test]
    fn a_sample_of_subsets_says_what_all_of_them_say() {
        let counts = |seed: u64| (0..13).map(|i| 8 + (i * i * 7 + seed * i) % 11).collect::<Vec<u64>>();
        let thirteen = rounds(&counts(3), &counts(5), 40);
        let exact = PairedRatio::from_events(&thirteen, Confidence::P95).unwrap();
        // One more round, without events and therefore with hardly any weight.
        let mut fourteen = thirteen;
        fourteen.extend(rounds(&[0], &[0], 40));
        let sampled = PairedRatio::from_events(&fourteen, Confidence::P95).unwrap();
        assert_eq!(exact.ratio.value, sampled.ratio.value);
        assert_ne!(exact.p_value, sampled.p_value, "a sample is drawn");
        assert!((exact.p_value - sampled.p_value).abs() < 0.03, "{exact:?} {sampled:?}");
        let off = |end: fn(&Estimate) -> Option<f64>| (end(&exact.ratio).unwrap() / end(&sampled.ratio).unwrap()).ln();
        assert!(off(Estimate::low).abs() < 0.02 && off(Estimate::high).abs() < 0.02, "{exact:?} {sampled:?}");
    }
}
