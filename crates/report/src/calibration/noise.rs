//! From a run of identical arms to the noise of its host.

use litelab_record::calibration::{Effect, Noise, Work};
use litelab_stats::{Aa, Confidence, PairedRatio, Planner};

use crate::analysis::{Analysis, pairs};

/// Blocks of each A/A experiment: the fewest that give an interval at 95 %.
pub const EXPERIMENT: u32 = 6;

/// Numbers of blocks whose smallest effect is told.
pub const SIZES: [u32; 4] = [6, 10, 20, 40];

/// The noise of every scenario of the study `calibrate` and every metric it judges by, from arms and their twins. What
/// could not be compared (no block, a metric that was 0) is left out; trials too short to judge arms by are not, for it is
/// their noise that is asked for.
#[must_use]
pub fn noise(analysis: &Analysis) -> Vec<Noise> {
    let mut found = Vec::new();
    // Whether one of two identical arms is favoured is asked of every row at once.
    let rows: usize = analysis.scenarios.iter().map(|s| s.aa.len()).sum();
    let together = Confidence::P95.shared_by(rows.max(1)).unwrap_or_default();
    for scenario in &analysis.scenarios {
        let Some(work) = Work::named(&scenario.name) else { continue };
        for check in &scenario.aa {
            let metric = &check.comparison.metric;
            let (Some(arm), Some(twin)) = (analysis.arms.get(check.arm), analysis.arms.get(check.twin)) else {
                continue;
            };
            let blocks: Vec<(f64, f64)> = pairs(twin, arm, metric).into_iter().map(|(_, a, b)| (a, b)).collect();
            let Ok(aa) = Aa::of(&blocks, EXPERIMENT as usize, Confidence::P95) else { continue };
            let (Some(spread), Ok(overall)) = (aa.overall.spread, PairedRatio::from_blocks(&blocks, together)) else {
                continue;
            };
            let effect = |blocks| Effect { blocks, effect: Planner::default().smallest_effect(spread, blocks) };
            found.push(Noise {
                work,
                metric: metric.clone(),
                blocks: blocks.len() as u32,
                ratio: overall.ratio,
                spread,
                experiment_blocks: EXPERIMENT,
                experiments: aa.experiments,
                false_differences: aa.false_differences,
                false_rate: aa.rate,
                effects: SIZES.map(effect).to_vec(),
            });
        }
    }
    found
}
