//! Throughput and latency against workers.

use litelab_model::metric::Unit;
use litelab_stats::Usl;
use maud::Markup;

use super::{Chart, Reading, svg};

/// Two panels over the same workers: throughput with the fitted law above, latency below.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scaling {
    /// What is shown: `throughput and P99 against workers`.
    pub title: String,
    /// The answer in a sentence; may be empty.
    pub summary: String,
    /// Title of the horizontal axis: `workers`.
    pub workers: String,
    /// What the upper panel measures: `throughput`.
    pub throughput: String,
    /// Unit of the upper panel; none is read as per second.
    pub unit: Option<Unit>,
    /// What the lower panel measures, in nanoseconds: `P99 of service time`. Without latencies there is no lower panel.
    pub latency: String,
    /// One for each combination of the other dimensions.
    pub series: Vec<ScalingSeries>,
}

/// Arms that differ in the number of workers only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScalingSeries {
    /// Its name in the legend; may be empty where it is the only one.
    pub name: String,
    /// In any order.
    pub points: Vec<ScalingPoint>,
    /// The law as fitted, or why there is none in a few words; nothing where none was sought.
    pub law: Option<Result<Law, String>>,
}

/// One arm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScalingPoint {
    /// 0 is left out.
    pub workers: u32,
    /// In the unit of the chart.
    pub throughput: Option<Reading>,
    /// In nanoseconds.
    pub latency: Option<Reading>,
}

/// The Universal Scalability Law, X(N) = λN / (1 + σ(N − 1) + κN(N − 1)).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Law {
    /// Throughput of one worker alone.
    pub lambda: f64,
    /// Contention.
    pub sigma: Reading,
    /// Coherence.
    pub kappa: Reading,
    /// Workers at which it is highest; none where it has no peak above one worker.
    pub peak: Option<f64>,
}

impl From<&Usl> for Law {
    fn from(usl: &Usl) -> Self {
        Self { lambda: usl.lambda.value, sigma: (&usl.sigma).into(), kappa: (&usl.kappa).into(), peak: usl.peak() }
    }
}

impl Chart for Scaling {
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
