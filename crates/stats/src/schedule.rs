//! Order of the variants in a round.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Draws reserved for each round, far more than a shuffle uses, and for each stream, far more than all rounds use. Odd,
/// because strides by powers of two repeat the low bits of a linear congruential state.
const DRAWS_PER_BLOCK: u128 = (1 << 32) + 1;
const DRAWS_PER_STREAM: u128 = (1 << 80) + 1;

/// Randomised complete rounds: every variant runs once per round, in an order that depends only on the seed, the stream
/// and the number of the round. A resumed run continues with the same orders.
///
/// Round b of stream s reads its own section of one PCG XSL RR 128/64 sequence (O'Neill 2014), which begins at draw
/// s·(2⁸⁰ + 1) + b·(2³² + 1), and shuffles with Fisher and Yates. Two variants have their orders in pairs of rounds:
/// the order of the first round is random, and the second round has the opposite one (AB BA or BA AB), so that whenever
/// the run stops, both orders have occurred equally often, give or take one. An advantage of the second position (a
/// warm cache, a dirty disk) therefore does not favour one variant. With more variants the balance is random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    seed: u64,
    stream: u32,
    variants: usize,
}

impl Schedule {
    /// A schedule of variants 0 .. `variants`, in stream 0.
    #[must_use]
    pub fn new(seed: u64, variants: usize) -> Self {
        Self { seed, stream: 0, variants }
    }

    /// The schedule in another stream, independent of all other streams.
    #[must_use]
    pub fn in_stream(self, stream: u32) -> Self {
        Self { stream, ..self }
    }

    /// The variants in the order in which round number `round` (from 0) runs them.
    #[must_use]
    pub fn order(&self, round: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.variants).collect();
        if self.variants == 2 {
            shuffle(&mut order, &mut self.generator(round / 2));
            if round % 2 == 1 {
                order.reverse();
            }
        } else {
            shuffle(&mut order, &mut self.generator(round));
        }
        order
    }

    fn generator(&self, stretch: u32) -> Pcg64 {
        let mut generator = Pcg64::seed_from_u64(self.seed);
        generator.advance(u128::from(self.stream) * DRAWS_PER_STREAM + u128::from(stretch) * DRAWS_PER_BLOCK);
        generator
    }
}

fn shuffle(order: &mut [usize], generator: &mut Pcg64) {
    for last in (1..order.len()).rev() {
        order.swap(last, below(last as u64 + 1, generator) as usize);
    }
}

/// A uniformly distributed integer in 0 .. `bound`, for `bound` > 0.
pub(crate) fn below(bound: u64, generator: &mut Pcg64) -> u64 {
    // The lowest draws, which the remainder would otherwise favour, are rejected.
    let unfair = bound.wrapping_neg() % bound;
    loop {
        let draw = generator.next_u64();
        if draw >= unfair {
            return draw % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_runs_every_variant_once() {
        for variants in 0..12 {
            let schedule = Schedule::new(7, variants);
            for round in 0..50 {
                let mut order = schedule.order(round);
                order.sort_unstable();
                assert!(order.into_iter().eq(0..variants));
            }
        }
    }

    /// A stopped run can be resumed by another version, so the orders are part of the format of a run. A version of the
    /// generator that changes them must not be used.
    #[test]
    fn the_orders_do_not_change_between_versions() {
        let orders: Vec<Vec<usize>> = (0..4).map(|round| Schedule::new(1, 5).order(round)).collect();
        assert_eq!(orders, [[0, 2, 1, 3, 4], [2, 1, 3, 0, 4], [1, 3, 2, 4, 0], [0, 3, 1, 2, 4]]);
        let leads: Vec<usize> = (0..16).map(|round| Schedule::new(1, 2).order(round)[0]).collect();
        assert_eq!(leads, [0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn two_variants_are_balanced_wherever_the_run_stops() {
        for seed in 0..200 {
            let schedule = Schedule::new(seed, 2);
            let mut lead = 0_i32;
            for round in 0..40 {
                lead += if schedule.order(round)[0] == 0 { 1 } else { -1 };
                assert!(lead.abs() <= 1, "seed {seed}, round {round}");
            }
        }
    }

    #[test]
    fn streams_are_independent() {
        // Two streams have the same first variant in half of all rounds: 4 standard deviations of 2000 coin tosses.
        let lead = |stream, round: u32| Schedule::new(1, 2).in_stream(stream).order(2 * round)[0];
        for (one, other) in [(0, 1), (1, 2), (0, 1 << 16)] {
            let agree = (0..2000).filter(|&round| lead(one, round) == lead(other, round)).count() as i32;
            assert!((agree - 1000).abs() < 90, "{one} {other}: {agree}");
        }
    }

    #[test]
    fn two_variants_are_still_random() {
        // Half of all pairs begin with A, over seeds and within a seed: 4 standard deviations of 2000 coin tosses.
        let leads = |orders: &mut dyn Iterator<Item = Vec<usize>>| orders.filter(|order| order[0] == 0).count() as i32;
        let over_seeds = leads(&mut (0..2000).map(|seed| Schedule::new(seed, 2).order(0)));
        let within = leads(&mut (0..2000).map(|pair| Schedule::new(1, 2).order(2 * pair)));
        assert!((over_seeds - 1000).abs() < 90, "{over_seeds}");
        assert!((within - 1000).abs() < 90, "{within}");
    }

    #[test]
    fn all_orders_of_three_variants_are_equally_likely() {
        let schedule = Schedule::new(2026, 3);
        let mut counts = std::collections::HashMap::new();
        for round in 0..6000 {
            *counts.entry(schedule.order(round)).or_insert(0_i32) += 1;
        }
        assert_eq!(counts.len(), 6);
        // χ² with 5 degrees of freedom exceeds 20.5 once in a thousand.
        let chi2: f64 = counts.values().map(|&count| f64::from(count - 1000).powi(2) / 1000.0).sum();
        assert!(chi2 < 20.5, "{chi2}: {counts:?}");
    }

    #[test]
    fn draws_are_uniform_below_a_bound_that_does_not_divide_the_range() {
        // Two thirds of the range: without rejection the lower half would occur twice as often.
        let bound = (1 << 63) + (1 << 62);
        let mut generator = Pcg64::seed_from_u64(3);
        let low = (0..4000).filter(|_| below(bound, &mut generator) < bound / 2).count() as i32;
        assert!((low - 2000).abs() < 130, "{low}");
    }
}
