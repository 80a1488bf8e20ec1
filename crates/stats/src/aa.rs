//! A/A tests: the false differences that a host shows between two identical variants.

use crate::{Confidence, Estimate, PairedRatio, StatsError, proportion};

/// Result of one variant run twice in each round, analysed as a whole and as many small experiments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aa {
    /// Ratio of the twin to the variant over all rounds. Its spread determines the effects that the host can show, and
    /// its interval contains 1 unless the host favours one of two identical variants.
    pub overall: PairedRatio,
    /// Number of experiments: disjoint groups of consecutive rounds, each analysed like a comparison of its own.
    pub experiments: u32,
    /// Number of experiments whose interval excludes 1.
    pub false_differences: u32,
    /// Share of these experiments ([`proportion`]); `None` without an experiment.
    pub rate: Option<Estimate>,
}

impl Aa {
    /// Analyses pairs of identical variants in experiments of `per` rounds each; remaining rounds belong to no
    /// experiment.
    ///
    /// # Errors
    /// The errors of [`PairedRatio::from_rounds`], and [`StatsError::OutOfDomain`] if `per` is 0.
    pub fn of(rounds: &[(f64, f64)], per: usize, confidence: Confidence) -> Result<Self, StatsError> {
        if per == 0 {
            return Err(StatsError::OutOfDomain { what: "rounds of an experiment", value: 0.0, domain: "at least 1" });
        }
        let overall = PairedRatio::from_rounds(rounds, confidence)?;
        let (mut experiments, mut false_differences) = (0, 0);
        for experiment in rounds.chunks_exact(per) {
            let interval = PairedRatio::from_rounds(experiment, confidence)?.ratio.interval();
            experiments += 1;
            false_differences += u32::from(interval.is_some_and(|interval| !interval.contains(1.0)));
        }
        let rate = proportion(false_differences, experiments, confidence).ok();
        Ok(Self { overall, experiments, false_differences, rate })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_are_disjoint_and_what_is_left_over_belongs_to_none() {
        // Six rounds with one sign, six that cancel out, and one more.
        let mut rounds = vec![(1.0, 1.1), (1.0, 1.2), (1.0, 1.3), (1.0, 1.4), (1.0, 1.5), (1.0, 1.6)];
        rounds.extend([(1.0, 1.1), (1.1, 1.0), (1.0, 1.2), (1.2, 1.0), (1.0, 1.3), (1.3, 1.0)]);
        rounds.push((1.0, 9.0));
        let aa = Aa::of(&rounds, 6, Confidence::P95).unwrap();
        assert_eq!((aa.experiments, aa.false_differences, aa.overall.ratio.n), (2, 1, 13));
        assert_eq!(aa.rate.unwrap().value, 0.5);
    }

    #[test]
    fn too_few_rounds_are_no_experiment() {
        let aa = Aa::of(&[(1.0, 1.0); 5], 6, Confidence::P95).unwrap();
        assert_eq!((aa.experiments, aa.rate), (0, None));
        assert!(Aa::of(&[(1.0, 1.0); 5], 0, Confidence::P95).is_err());
        assert_eq!(Aa::of(&[], 6, Confidence::P95), Err(StatsError::Empty));
    }
}
