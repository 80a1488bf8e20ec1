//! Latency by percentile, on an axis that gives each further nine the same room.

use maud::Markup;

use super::{Chart, svg};

/// Curves of latency against log(1/(1 − q)).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// What is shown: `service time of transfer`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// What the vertical axis measures: `service time`. The unit is on its ticks.
    pub axis: String,
    /// What the percentiles are of: `transactions`.
    pub of: String,
    /// One for each arm; more than eight are hard to tell apart.
    pub curves: Vec<PercentileCurve>,
}

/// One arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PercentileCurve {
    /// Its name in the legend.
    pub name: String,
    /// Quantile (0 to 1; 1 is the maximum) and nanoseconds, in any order.
    pub points: Vec<(f64, f64)>,
}

impl Chart for Percentiles {
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
