//! Computes the noise of a host from a run of identical variants.

use litelab_record::calibration::{DetectableEffect, Noise, Work};
use litelab_stats::{Aa, Confidence, PairedRatio, Planner};

use crate::analysis::{Analysis, pairs};

/// Number of rounds of each A/A experiment: the fewest that give an interval at 95 %.
pub const EXPERIMENT: u32 = 6;

/// Numbers of rounds for which the smallest effect is reported.
pub const SIZES: [u32; 4] = [6, 10, 20, 40];

/// The noise of every scenario of the study `calibrate` in every judged metric, from variants and their twins. Rows
/// that cannot be compared (no round, a metric that was 0) are left out. Trials that are too short to judge variants by
/// are included, because their noise is measured here.
#[must_use]
pub fn noise(analysis: &Analysis) -> Vec<Noise> {
    let mut found = Vec::new();
    // All rows share the confidence level at which one of two identical variants is tested for an advantage.
    let rows: usize = analysis.scenarios.iter().map(|s| s.aa.len()).sum();
    let together = Confidence::P95.shared_by(rows.max(1)).unwrap_or_default();
    for scenario in &analysis.scenarios {
        let Some(work) = Work::named(&scenario.name) else { continue };
        for check in &scenario.aa {
            let metric = &check.comparison.metric;
            let (Some(variant), Some(twin)) = (analysis.variants.get(check.variant), analysis.variants.get(check.twin))
            else {
                continue;
            };
            let rounds: Vec<(f64, f64)> = pairs(twin, variant, metric).into_iter().map(|(_, a, b)| (a, b)).collect();
            let Ok(aa) = Aa::of(&rounds, EXPERIMENT as usize, Confidence::P95) else { continue };
            let (Some(spread), Ok(overall)) = (aa.overall.spread, PairedRatio::from_rounds(&rounds, together)) else {
                continue;
            };
            let effect =
                |rounds| DetectableEffect { rounds, effect: Planner::default().smallest_effect(spread, rounds) };
            found.push(Noise {
                work,
                metric: metric.clone(),
                rounds: rounds.len() as u32,
                ratio: overall.ratio,
                spread,
                experiment_rounds: EXPERIMENT,
                experiments: aa.experiments,
                false_differences: aa.false_differences,
                false_rate: aa.rate,
                effects: SIZES.map(effect).to_vec(),
            });
        }
    }
    found
}
