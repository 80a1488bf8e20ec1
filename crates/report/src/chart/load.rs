//! Response time against offered load.

use maud::Markup;

use super::{Chart, svg};

/// P50, P95 and P99 of response time at each rate that was tried, with the limit they are held against.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// What is shown: `response time against offered load`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// What the horizontal axis measures, per second: `offered load`.
    pub offered: String,
    /// What the vertical axis measures, in nanoseconds: `response time`.
    pub response: String,
    /// In any order.
    pub probes: Vec<Probe>,
    /// What had to be kept; none where there was no such condition.
    pub limit: Option<Limit>,
    /// The highest rate that was kept, per second.
    pub sustainable: Option<f64>,
}

/// One rate that was tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probe {
    /// Offered, per second.
    pub offered: f64,
    /// Median response time in nanoseconds.
    pub p50: Option<f64>,
    /// Nanoseconds.
    pub p95: Option<f64>,
    /// Nanoseconds.
    pub p99: Option<f64>,
    /// Why the rate was not kept, in a few words; none where it was.
    pub saturated: Option<String>,
}

/// A bound on response time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limit {
    /// Nanoseconds.
    pub nanos: f64,
    /// What it is of: `limit of P99`.
    pub label: String,
}

impl Chart for Load {
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
