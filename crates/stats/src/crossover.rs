//! Crossovers: the level from which one variant leads another.

use serde::Serialize;

use crate::confidence::minimum_rounds;
use crate::paired::{critical, walsh_averages};
use crate::quantile::median_of_sorted;
use crate::sample;
use crate::{Better, Confidence, StatsError};

/// Number of points examined between two neighbouring levels before bisection. Features narrower than 1/32 of this
/// distance are not detected.
const STEPS: u32 = 32;
const HALVINGS: u32 = 40;
/// Maximum number of rounds: all their pairs are evaluated at hundreds of points.
const ROUNDS_LIMIT: usize = 200;

/// A position on the scale of measured levels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CrossoverPosition {
    /// At or below the first level; nothing was measured below it.
    UpToFirst,
    /// Between the first and the last level, by interpolation.
    At(f64),
    /// Beyond the last level, if it exists at all.
    BeyondLast,
}

/// Precision of a position.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The position is not before `from` and not after `to`.
    Between {
        /// The earliest position.
        from: CrossoverPosition,
        /// The latest position.
        to: CrossoverPosition,
        /// Achieved coverage as a fraction.
        confidence: f64,
    },
    /// Unknown: an interval at the requested level needs at least this many rounds.
    NeedsAtLeast(usize),
}

/// The level from which a variant stays ahead of another, up to the last measured level.
///
/// Each round yields a curve: ln(other/base) at each level, and a straight line over the logarithm of the level between
/// two neighbours. The crossover is the last position at which the centre of these curves (the Hodges–Lehmann estimate
/// over the rounds, as in [`PairedRatio`](crate::PairedRatio)) is at or below equality. Earlier events, such as a lead
/// that is lost again, are not reported.
///
/// **Interval.** An inverted test, as that of Fieller (1954) for the root of a fitted line, with Wilcoxon's signed-rank
/// test in place of Student's t: a position is kept if the paired interval of the ratio there does not exclude
/// equality. `to` is the last position at which the interval does not show the other variant ahead, `from` the last at
/// which it shows it behind. The crossover lies beyond `to` with a probability of at most α/2, exactly, because the
/// test would have had to fail at this one position. It lies before `from` with a probability of α/2 at each position
/// of a lead; simulations show less than α/2 over all of them, unless the lead is close to zero.
///
/// **Assumes** what a paired ratio assumes, and a straight curve between two levels: the interval does not reflect what
/// was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Crossover {
    /// Position from which the other variant stays ahead: [`CrossoverPosition::BeyondLast`] if it is not ahead at the
    /// last level, [`CrossoverPosition::UpToFirst`] if it is ahead at all levels.
    pub at: CrossoverPosition,
    /// Precision of `at`.
    pub reach: Reach,
    /// Number of rounds.
    pub n: usize,
}

impl Crossover {
    /// Computes the crossover from rounds that hold, for each level in order, the values of base and other: positive
    /// and in the same unit. `levels` are at least two, positive and ascending.
    ///
    /// # Errors
    /// No rounds or more than 200, fewer than two levels or levels that do not ascend, a round without a pair for each
    /// level, a number that is not finite and positive (the index counts rounds).
    pub fn from_rounds(
        levels: &[f64],
        rounds: &[Vec<(f64, f64)>],
        better: Better,
        confidence: Confidence,
    ) -> Result<Self, StatsError> {
        if levels.len() < 2 {
            return Err(StatsError::TooFew { have: levels.len(), need: 2 });
        }
        sample::positive(levels)?;
        if let Some(pair) = levels.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(StatsError::OutOfDomain { what: "level", value: pair[1], domain: "above the level before it" });
        }
        if rounds.is_empty() {
            return Err(StatsError::Empty);
        }
        sample::at_most(rounds.len(), ROUNDS_LIMIT)?;
        let curves = Curves::new(levels, rounds, better)?;
        let reach = match critical(rounds.len(), confidence) {
            Some((k, coverage)) => Reach::Between {
                from: curves.last_at_or_below_zero(|walsh| walsh[walsh.len() - 1 - k]),
                to: curves.last_at_or_below_zero(|walsh| walsh[k]),
                confidence: coverage,
            },
            None => Reach::NeedsAtLeast(minimum_rounds(confidence)),
        };
        Ok(Self { at: curves.last_at_or_below_zero(median_of_sorted), reach, n: rounds.len() })
    }
}

/// Log-ratios over the logarithm of the level, above zero if the other variant is ahead.
struct Curves {
    /// Logarithms of the levels.
    places: Vec<f64>,
    /// For each level the log-ratios of all rounds.
    ahead: Vec<Vec<f64>>,
}

impl Curves {
    fn new(levels: &[f64], rounds: &[Vec<(f64, f64)>], better: Better) -> Result<Self, StatsError> {
        let sign = match better {
            Better::Higher => 1.0,
            Better::Lower => -1.0,
        };
        let mut ahead = vec![Vec::with_capacity(rounds.len()); levels.len()];
        for (index, round) in rounds.iter().enumerate() {
            if round.len() != levels.len() {
                return Err(StatsError::TooFew { have: round.len(), need: levels.len() });
            }
            for (level, (base, other)) in ahead.iter_mut().zip(round) {
                for value in [*base, *other] {
                    sample::positive(&[value]).map_err(|error| match error {
                        StatsError::NotFinite { value, .. } => StatsError::NotFinite { index, value },
                        _ => StatsError::NotPositive { index, value },
                    })?;
                }
                level.push(sign * sample::log_ratio(*base, *other));
            }
        }
        Ok(Self { places: levels.iter().map(|level| level.ln()).collect(), ahead })
    }

    /// The last position at which a statistic of the sorted Walsh averages is at or below zero.
    fn last_at_or_below_zero(&self, statistic: impl Fn(&[f64]) -> f64) -> CrossoverPosition {
        let last = self.places.len() - 1;
        if statistic(&self.walsh(last - 1, 1.0)) <= 0.0 {
            return CrossoverPosition::BeyondLast;
        }
        for segment in (0..last).rev() {
            let below = |t: f64| statistic(&self.walsh(segment, t)) <= 0.0;
            let Some(step) = (0..STEPS).rev().find(|step| below(f64::from(*step) / f64::from(STEPS))) else { continue };
            let (mut low, mut high) = (f64::from(step) / f64::from(STEPS), f64::from(step + 1) / f64::from(STEPS));
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(low, high);
                if below(middle) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            return CrossoverPosition::At(self.between(segment, low, &self.places).exp());
        }
        CrossoverPosition::UpToFirst
    }

    fn between(&self, segment: usize, t: f64, of: &[f64]) -> f64 {
        of[segment] + t * (of[segment + 1] - of[segment])
    }

    /// Sorted Walsh averages of the rounds' curves at a position: `t` = 0 is the segment's first level, 1 its second.
    fn walsh(&self, segment: usize, t: f64) -> Vec<f64> {
        let ends = self.ahead[segment].iter().zip(&self.ahead[segment + 1]);
        walsh_averages(&ends.map(|(a, b)| if t == 1.0 { *b } else { a + t * (b - a) }).collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight rounds whose curves follow these log-ratios, shifted by up to `spread`.
    fn rounds(curve: &[f64], spread: f64) -> Vec<Vec<(f64, f64)>> {
        let moved = |i: i32| curve.iter().map(|d| (100.0, 100.0 * (d + spread * f64::from(i) / 4.0).exp())).collect();
        (-4..=4).filter(|i| *i != 0).map(moved).collect()
    }

    fn of(curve: &[f64], spread: f64, better: Better) -> Crossover {
        let levels: Vec<f64> = (0..curve.len()).map(|i| f64::from(1_u32 << i)).collect();
        Crossover::from_rounds(&levels, &rounds(curve, spread), better, Confidence::P95).unwrap()
    }

    fn at(place: CrossoverPosition) -> f64 {
        match place {
            CrossoverPosition::At(at) => at,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_crossover_between_two_levels_is_interpolated_over_their_logarithms() {
        // Half-way between 2 and 4 on the logarithmic scale.
        let found = of(&[-0.6, -0.2, 0.2, 0.6], 0.1, Better::Higher);
        assert!((at(found.at) - 8.0_f64.sqrt()).abs() < 1e-6, "{found:?}");
        let Reach::Between { from, to, confidence } = found.reach else { panic!("{found:?}") };
        assert!(at(from) < at(found.at) && at(found.at) < at(to), "{found:?}");
        assert!(confidence >= 0.95);
        // The curves of all rounds are parallel and scatter by 0.1, so each end is where a curve 0.1 away crosses, or
        // nearer.
        let far = |d: f64| (2.0_f64.ln() * (1.5 + d / 0.4)).exp();
        assert!(at(from) >= far(-0.1) - 1e-6 && at(to) <= far(0.1) + 1e-6, "{found:?}");
    }

    #[test]
    fn lower_is_better_mirrors_the_curve() {
        let higher = of(&[-0.6, -0.2, 0.2, 0.6], 0.1, Better::Higher);
        let lower = of(&[0.6, 0.2, -0.2, -0.6], 0.1, Better::Lower);
        assert!((at(higher.at) - at(lower.at)).abs() < 1e-9);
        assert_eq!(of(&[0.6, 0.2, -0.2, -0.6], 0.1, Better::Higher).at, CrossoverPosition::BeyondLast);
    }

    #[test]
    fn open_ends_are_said() {
        use CrossoverPosition::{BeyondLast, UpToFirst};
        for (curve, spread, expected) in [
            ([0.5, 0.7, 0.9], 0.1, [UpToFirst, UpToFirst, UpToFirst]),
            ([-0.9, -0.7, -0.5], 0.1, [BeyondLast, BeyondLast, BeyondLast]),
            // The lead is smaller than the scatter of the rounds: it can begin at any level, or not exist.
            ([0.02, 0.02, 0.02], 0.5, [UpToFirst, UpToFirst, BeyondLast]),
        ] {
            let found = of(&curve, spread, Better::Higher);
            let Reach::Between { from, to, .. } = found.reach else { panic!("{found:?}") };
            assert_eq!([found.at, from, to], expected, "{curve:?}");
        }
    }

    #[test]
    fn a_crossover_at_the_first_level_is_not_told_from_one_before_it() {
        let found = of(&[0.0, 0.5, 1.0], 0.2, Better::Higher);
        assert!((at(found.at) - 1.0).abs() < 1e-6, "{found:?}");
        let Reach::Between { from, to, .. } = found.reach else { panic!("{found:?}") };
        assert_eq!(from, CrossoverPosition::UpToFirst);
        assert!(at(to) > 1.0 && at(to) < 2.0, "{found:?}");
    }

    #[test]
    fn only_the_last_crossover_counts() {
        let found = of(&[0.5, -0.5, -0.5, 0.5], 0.1, Better::Higher);
        assert!((at(found.at) - 32.0_f64.sqrt()).abs() < 1e-6, "{found:?}");
        let lost = of(&[-0.5, 0.5, 0.5, -0.5], 0.1, Better::Higher);
        assert_eq!(lost.at, CrossoverPosition::BeyondLast, "a lead that is lost again is none");
    }

    #[test]
    fn five_rounds_have_no_interval_and_say_what_they_need() {
        let five = &rounds(&[-0.5, 0.5], 0.1)[..5];
        let found = Crossover::from_rounds(&[1.0, 2.0], five, Better::Higher, Confidence::P95).unwrap();
        assert_eq!((found.reach, found.n), (Reach::NeedsAtLeast(6), 5));
    }

    #[test]
    fn what_cannot_be_judged_is_refused() {
        let pair = vec![vec![(1.0, 1.0), (1.0, 2.0)]];
        let refused = |levels: &[f64], rounds: &[Vec<(f64, f64)>]| {
            Crossover::from_rounds(levels, rounds, Better::Higher, Confidence::P95).unwrap_err()
        };
        assert_eq!(refused(&[1.0], &pair), StatsError::TooFew { have: 1, need: 2 });
        assert!(matches!(refused(&[2.0, 2.0], &pair), StatsError::OutOfDomain { .. }));
        assert_eq!(refused(&[0.0, 2.0], &pair), StatsError::NotPositive { index: 0, value: 0.0 });
        assert_eq!(refused(&[1.0, 2.0], &[]), StatsError::Empty);
        assert_eq!(refused(&[1.0, 2.0, 4.0], &pair), StatsError::TooFew { have: 2, need: 3 });
        let zero = vec![pair[0].clone(), vec![(1.0, 1.0), (0.0, 2.0)]];
        assert_eq!(refused(&[1.0, 2.0], &zero), StatsError::NotPositive { index: 1, value: 0.0 });
        let many = vec![pair[0].clone(); 201];
        assert!(matches!(refused(&[1.0, 2.0], &many), StatsError::TooMany { have: 201, limit: 200 }));
    }
}
