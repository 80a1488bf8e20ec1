//! The first metric block by block: drift and outliers.

use super::{Figure, Source, left_out};
use crate::chart::{Reading, Strip, StripArm};
use crate::document::max_of;

/// Panels of a picture that is still seen at once.
const MOST: usize = 6;

pub(super) fn figure(source: Source<'_>) -> Option<Figure> {
    let metric = source.scenario.metrics.first()?;
    let shown = source.scenario.leading(source.analysis, MOST);
    // A block or two show no drift.
    let most = shown.iter().map(|arm| arm.values(metric).len()).max()?;
    if most < 3 {
        return None;
    }
    let panel = |arm: &&crate::analysis::ArmAnalysis| StripArm {
        label: max_of(arm, metric) + &source.name(arm),
        values: arm.values(metric).iter().map(|(block, value)| (block + 1, *value)).collect(),
        median: arm.estimate(metric).map(Reading::from),
    };
    let chart = Strip {
        title: format!("{}: {metric} by block", source.scenario.name),
        summary: String::new(),
        axis: metric.to_string(),
        unit: Some(metric.measure.unit()),
        arms: shown.iter().map(panel).collect(),
    };
    let note = format!(
        "{}Blocks in the order in which they were measured, with the median and its 95 % interval.",
        left_out(shown.len(), source.measured().count(), "the baseline and the best by the first metric"),
    );
    let arms = shown.iter().map(|arm| arm.index).collect();
    Some(Figure { chart: Box::new(chart), note, arms, course: None })
}
