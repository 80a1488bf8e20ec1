//! A metric by block: one dot for each block, one panel for each arm.

use litelab_model::metric::Unit;
use maud::Markup;

use super::{Chart, Reading, svg};

/// Panels below each other that show drift and outliers. Blocks run from left to right in the order of measurement.
/// Each panel has its own ticks, yet all reach equally far from their median in proportion, so that a wide scatter
/// looks wide.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strip {
    /// What is shown: `throughput by block`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// What the vertical axes measure: `throughput`.
    pub axis: String,
    /// Unit of all values; none for a ratio.
    pub unit: Option<Unit>,
    /// From top to bottom.
    pub arms: Vec<StripArm>,
}

/// One panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StripArm {
    /// The arm; long ones are wrapped.
    pub label: String,
    /// Number of the block, and the value measured in it.
    pub values: Vec<(u32, f64)>,
    /// The median and its interval.
    pub median: Option<Reading>,
}

impl Chart for Strip {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> String {
        self.summary.clone()
    }

    fn svg(&self, id: &str) -> Markup {
        svg::figure(self, id, 40.0, maud::html! {})
    }
}
