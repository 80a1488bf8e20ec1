//! From where on one arm is ahead of another, as something grows.

use serde::{Deserialize, Serialize};

use crate::paired::{critical, minimum_blocks, walsh_averages};
use crate::quantile::median_of_sorted;
use crate::sample;
use crate::{Better, Confidence, StatsError};

/// Points looked at between two neighbouring levels, before the one sought is narrowed down by halving. What is narrower
/// than 1/32 of the way between them is not seen.
const STEPS: u32 = 32;
const HALVINGS: u32 = 40;
/// All pairs of blocks are looked at in hundreds of places.
const BLOCKS_LIMIT: usize = 200;

/// A place on the measured levels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// At the first level or below it, where nothing was measured.
    UpToFirst,
    /// Between the first and the last level, interpolated.
    At(f64),
    /// Beyond the last level, if anywhere.
    BeyondLast,
}

/// How precisely a place is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// No earlier than `from` and no later than `to`.
    Between {
        /// The earliest place.
        from: Place,
        /// The latest place.
        to: Place,
        /// Coverage, as a fraction.
        confidence: f64,
    },
    /// Not known: an interval at the level asked for needs at least this many blocks.
    NeedsAtLeast(usize),
}

/// From which level on an arm stays ahead of another, up to the last level measured.
///
/// Each block gives a curve: ln(other/base) at each level, and between two neighbours a straight line over the logarithm
/// of the level. The crossover is where the centre of these curves (at each place the Hodges–Lehmann estimate over the
/// blocks, as in [`PairedRatio`](crate::PairedRatio)) was last at or below equality. What happens before it, such as an
/// earlier lead that is lost again, is not told.
///
/// **Interval.** A test inverted, as Fieller (1954) does for the root of a fitted line, with Wilcoxon's signed-rank test
/// in the place of Student's t: a place is kept where the paired interval of the ratio there does not exclude equality. `to` is
/// the last place where it does not show the other one ahead, `from` the last where it shows it behind. That the crossover
/// lies beyond `to` has a probability of at most α/2, exactly, for the test would have had to fail at this one place; that
/// it lies before `from` one of α/2 at each place of a lead, which is found in simulations to be less than α/2 over all of
/// them, unless the lead is next to nothing.
///
/// **Assumes** what a paired ratio assumes, and that between two levels the curve is as straight as its ends let it be: an
/// interval knows nothing of what was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    /// Where the other arm takes the lead for good; [`Place::BeyondLast`] where it is not ahead at the last level,
    /// [`Place::UpToFirst`] where it is ahead at all.
    pub at: Place,
    /// How precisely that is known.
    pub reach: Reach,
    /// Blocks.
    pub n: usize,
}

impl Crossover {
    /// Of blocks that have, for each level in order, the values of base and other: positive, in the same unit. `levels`
    /// are at least two, positive and ascending.
    ///
    /// # Errors
    /// No blocks or more than 200, levels that are too few or do not ascend, a block that has not one pair for each level,
    /// a number that is not finite and positive (the index counts blocks).
    pub fn from_blocks(
        levels: &[f64],
        blocks: &[Vec<(f64, f64)>],
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
        if blocks.is_empty() {
            return Err(StatsError::Empty);
        }
        sample::at_most(blocks.len(), BLOCKS_LIMIT)?;
        let curves = Curves::new(levels, blocks, better)?;
        let reach = match critical(blocks.len(), confidence) {
            Some((k, coverage)) => Reach::Between {
                from: curves.last_at_or_below_zero(|walsh| walsh[walsh.len() - 1 - k]),
                to: curves.last_at_or_below_zero(|walsh| walsh[k]),
                confidence: coverage,
            },
            None => Reach::NeedsAtLeast(minimum_blocks(confidence)),
        };
        Ok(Self { at: curves.last_at_or_below_zero(median_of_sorted), reach, n: blocks.len() })
    }
}

/// Log-ratios over the logarithm of the level, above zero where the other arm is ahead.
struct Curves {
    /// Logarithms of the levels.
    places: Vec<f64>,
    /// For each level those of all blocks.
    ahead: Vec<Vec<f64>>,
}

impl Curves {
    fn new(levels: &[f64], blocks: &[Vec<(f64, f64)>], better: Better) -> Result<Self, StatsError> {
        let sign = match better {
            Better::Higher => 1.0,
            Better::Lower => -1.0,
        };
        let mut ahead = vec![Vec::with_capacity(blocks.len()); levels.len()];
        for (index, block) in blocks.iter().enumerate() {
            if block.len() != levels.len() {
                return Err(StatsError::TooFew { have: block.len(), need: levels.len() });
            }
            for (level, (base, other)) in ahead.iter_mut().zip(block) {
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

    /// The last place at which a statistic of the sorted Walsh averages is at or below zero.
    fn last_at_or_below_zero(&self, statistic: impl Fn(&[f64]) -> f64) -> Place {
        let last = self.places.len() - 1;
        if statistic(&self.walsh(last - 1, 1.0)) <= 0.0 {
            return Place::BeyondLast;
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
            return Place::At(self.between(segment, low, &self.places).exp());
        }
        Place::UpToFirst
    }

    fn between(&self, segment: usize, t: f64, of: &[f64]) -> f64 {
        of[segment] + t * (of[segment + 1] - of[segment])
    }

    /// Sorted Walsh averages of the blocks' curves at a place: 0 is the segment's first level, 1 its second.
    fn walsh(&self, segment: usize, t: f64) -> Vec<f64> {
        let ends = self.ahead[segment].iter().zip(&self.ahead[segment + 1]);
        walsh_averages(&ends.map(|(a, b)| if t == 1.0 { *b } else { a + t * (b - a) }).collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight blocks whose curves go through these log-ratios, moved up and down by up to `spread`.
    fn blocks(curve: &[f64], spread: f64) -> Vec<Vec<(f64, f64)>> {
        let moved = |i: i32| curve.iter().map(|d| (100.0, 100.0 * (d + spread * f64::from(i) / 4.0).exp())).collect();
        (-4..=4).filter(|i| *i != 0).map(moved).collect()
    }

    fn of(curve: &[f64], spread: f64, better: Better) -> Crossover {
        let levels: Vec<f64> = (0..curve.len()).map(|i| f64::from(1_u32 << i)).collect();
        Crossover::from_blocks(&levels, &blocks(curve, spread), better, Confidence::P95).unwrap()
    }

    fn at(place: Place) -> f64 {
        match place {
            Place::At(at) => at,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_crossover_between_two_levels_is_interpolated_over_their_logarithms() {
        // Half-way between 2 and 4 on the scale of logarithms.
        let found = of(&[-0.6, -0.2, 0.2, 0.6], 0.1, Better::Higher);
        assert!((at(found.at) - 8.0_f64.sqrt()).abs() < 1e-6, "{found:?}");
        let Reach::Between { from, to, confidence } = found.reach else { panic!("{found:?}") };
        assert!(at(from) < at(found.at) && at(found.at) < at(to), "{found:?}");
        assert!(confidence >= 0.95);
        // All blocks' curves are parallel and scatter by 0.1, so both ends lie where a curve 0.1 away crosses, or nearer.
        let far = |d: f64| (2.0_f64.ln() * (1.5 + d / 0.4)).exp();
        assert!(at(from) >= far(-0.1) - 1e-6 && at(to) <= far(0.1) + 1e-6, "{found:?}");
    }

    #[test]
    fn lower_is_better_mirrors_the_curve() {
        let higher = of(&[-0.6, -0.2, 0.2, 0.6], 0.1, Better::Higher);
        let lower = of(&[0.6, 0.2, -0.2, -0.6], 0.1, Better::Lower);
        assert!((at(higher.at) - at(lower.at)).abs() < 1e-9);
        assert_eq!(of(&[0.6, 0.2, -0.2, -0.6], 0.1, Better::Higher).at, Place::BeyondLast);
    }

    #[test]
    fn ahead_everywhere_and_ahead_nowhere_are_said() {
        let everywhere = of(&[0.5, 0.7, 0.9], 0.1, Better::Higher);
        let Reach::Between { from, to, .. } = everywhere.reach else { panic!("{everywhere:?}") };
        assert_eq!((everywhere.at, from, to), (Place::UpToFirst, Place::UpToFirst, Place::UpToFirst));
        let nowhere = of(&[-0.9, -0.7, -0.5], 0.1, Better::Higher);
        let Reach::Between { from, to, .. } = nowhere.reach else { panic!("{nowhere:?}") };
        assert_eq!((nowhere.at, from, to), (Place::BeyondLast, Place::BeyondLast, Place::BeyondLast));
    }

    #[test]
    fn a_crossover_at_the_first_level_is_not_told_from_one_before_it() {
        let found = of(&[0.0, 0.5, 1.0], 0.2, Better::Higher);
        assert!((at(found.at) - 1.0).abs() < 1e-6, "{found:?}");
        let Reach::Between { from, to, .. } = found.reach else { panic!("{found:?}") };
        assert_eq!(from, Place::UpToFirst);
        assert!(at(to) > 1.0 && at(to) < 2.0, "{found:?}");
    }

    #[test]
    fn only_the_last_crossover_counts() {
        let found = of(&[0.5, -0.5, -0.5, 0.5], 0.1, Better::Higher);
        assert!((at(found.at) - 32.0_f64.sqrt()).abs() < 1e-6, "{found:?}");
        let lost = of(&[-0.5, 0.5, 0.5, -0.5], 0.1, Better::Higher);
        assert_eq!(lost.at, Place::BeyondLast, "a lead that is lost again is none");
    }

    #[test]
    fn what_was_not_shown_is_left_open() {
        // Ahead by less than the blocks scatter: it may begin anywhere, and may be none.
        let found = of(&[0.02, 0.02, 0.02], 0.5, Better::Higher);
        let Reach::Between { from, to, .. } = found.reach else { panic!("{found:?}") };
        assert_eq!((found.at, from, to), (Place::UpToFirst, Place::UpToFirst, Place::BeyondLast));
    }

    #[test]
    fn five_blocks_have_no_interval_and_say_what_they_need() {
        let five = &blocks(&[-0.5, 0.5], 0.1)[..5];
        let found = Crossover::from_blocks(&[1.0, 2.0], five, Better::Higher, Confidence::P95).unwrap();
        assert_eq!((found.reach, found.n), (Reach::NeedsAtLeast(6), 5));
    }

    #[test]
    fn what_cannot_be_judged_is_refused() {
        let pair = vec![vec![(1.0, 1.0), (1.0, 2.0)]];
        let refused = |levels: &[f64], blocks: &[Vec<(f64, f64)>]| {
            Crossover::from_blocks(levels, blocks, Better::Higher, Confidence::P95).unwrap_err()
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
