//! A row has one verdict, which comes from one of three metrics: its rate of errors if nothing differs, and its power
//! to find a difference of a tenth.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common::plan::{empty, scenario, text, variant};
use litelab_model::Metric;
use litelab_model::plan::Plan;
use litelab_report::analysis::{Values, VariantAnalysis, compare, judged, pair, shared_confidence};
use litelab_stats::{Confidence, Planner, Spread, Tolerance, Verdict};

const EXPERIMENTS: u64 = 1000;

/// Spread of ln(B/A) between rounds on a busy machine: throughput, p50 and CPU time.
const SPREADS: [f64; 3] = [0.2, 0.06, 0.04];

/// SplitMix64 (Steele, Lea and Flood 2014). The sum of twelve uniform numbers is close enough to a normal distribution.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

fn metrics() -> Vec<Metric> {
    judged(&["throughput".parse().unwrap()])
}

/// A baseline and `others`, which take `slower` times as long in every metric.
fn variants(others: usize, rounds: u32, slower: f64, seed: u64) -> Vec<VariantAnalysis> {
    let names = (0..=others).map(|i| variant(0, &[("profile", text(&format!("p{i}")))])).collect();
    let plan =
        Plan { scenarios: vec![scenario("s", rounds, &["profile"], 0, &["throughput"])], variants: names, ..empty() };
    let mut noise = Noise(seed);
    let of_variant = |index: usize| {
        let factor = if index == 0 { 1.0 } else { slower };
        let mut analysis = VariantAnalysis::new(&plan, index).unwrap();
        for (metric, spread) in metrics().into_iter().zip(SPREADS) {
            let longer = if metric.measure.more_is_better() { 1.0 / factor } else { factor };
            let mut value = |_| longer * (spread / std::f64::consts::SQRT_2 * noise.normal()).exp();
            analysis.metrics.insert(metric, Values::new((0..rounds).map(|round| (round, value(round))).collect()));
        }
        analysis
    };
    (0..=others).map(of_variant).collect()
}

/// The verdict of each row of the report.
fn rows(variants: &[VariantAnalysis]) -> Vec<Option<Verdict>> {
    let others: Vec<&VariantAnalysis> = variants[1..].iter().collect();
    let comparisons = compare(&variants[0], &others, &metrics(), Tolerance::DEFAULT);
    comparisons.iter().map(|row| row.decided().map(|decided| decided.verdict)).collect()
}

/// The verdict of each row without the correction for several metrics.
fn uncorrected(variants: &[VariantAnalysis]) -> Vec<Option<Verdict>> {
    let alone = Confidence::P95.shared_by(variants.len() - 1).unwrap();
    let row = |variant: &VariantAnalysis| {
        let verdict = |metric: &Metric| pair(variant, &variants[0], metric, alone, Tolerance::DEFAULT).verdict;
        metrics().iter().map(verdict).find(|verdict| !matches!(verdict, Verdict::Inconclusive { .. }))
    };
    variants[1..].iter().map(row).collect()
}

fn differs(verdict: &Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Faster | Verdict::Slower))
}

fn share(of: impl Fn(u64) -> bool) -> f64 {
    (0..EXPERIMENTS).filter(|seed| of(seed * 7919 + 1)).count() as f64 / EXPERIMENTS as f64
}

fn margin(share: f64) -> f64 {
    3.0 * (share * (1.0 - share) / EXPERIMENTS as f64).sqrt()
}

#[test]
fn identical_variants_are_told_apart_in_no_more_than_five_of_a_hundred_tables() {
    for (others, rounds) in [(1, 10), (1, 20), (3, 12)] {
        let wrong = share(|seed| rows(&variants(others, rounds, 1.0, seed)).iter().any(differs));
        assert!(wrong <= 0.05 + margin(0.05), "{others} variants in {rounds} rounds: {wrong}");
        assert!(wrong > 0.005, "a check that nothing could fail: {wrong}");
        let without = share(|seed| uncorrected(&variants(others, rounds, 1.0, seed)).iter().any(differs));
        assert!(without > 0.05 + margin(0.05), "three metrics at 5 % each went unnoticed: {without}");
    }
}

#[test]
fn a_tenth_slower_is_found_in_nine_of_ten_rows_with_the_rounds_planned_for_it() {
    let sharpest = SPREADS[2];
    for others in [1, 4] {
        let confidence = shared_confidence(others, &metrics());
        let planner = Planner::new(confidence, 0.9).unwrap();
        let rounds = planner.total_for_tolerance(Spread::normal(sharpest), Tolerance::new(0.1).unwrap()).unwrap();
        let found = share(|seed| rows(&variants(others, rounds, 1.1, seed))[0] == Some(Verdict::Slower));
        assert!(found >= 0.9 - margin(0.9), "{others} variants in {rounds} rounds: {found}");
        // The rounds that a report requests for its tolerance of 5 %, with a power of 80 %.
        let rounds = Planner::new(confidence, 0.8)
            .unwrap()
            .total_for_tolerance(Spread::normal(sharpest), Tolerance::DEFAULT)
            .unwrap();
        let found = share(|seed| rows(&variants(others, rounds, 1.1, seed))[0] == Some(Verdict::Slower));
        assert!(found >= 0.9, "{others} variants in {rounds} rounds: {found}");
    }
}
