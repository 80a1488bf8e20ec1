//! Cost of the harness itself, measured with a driver that calls no database. It is reported, never subtracted.

use litelab_model::metric::{Measure, Metric, Quantile, Timing};
use litelab_record::RunInfo;
use litelab_record::measure;
use serde::Serialize;

use super::variant::VariantAnalysis;

/// Cost of a runner's harness in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HarnessCost {
    /// Name of the runner.
    pub runner: String,
    /// Nanoseconds per transaction, inside it and between two transactions.
    pub nanos: f64,
    /// Index of the runner's variant with the shortest mean service time.
    pub fastest: Option<usize>,
    /// The cost as a share of that variant's mean service time. An upper bound if transactions wait, because the
    /// harness then works during the wait.
    pub share: Option<f64>,
}

/// Costs of the runners that were calibrated for the scenario.
pub(super) fn costs(scenario: usize, variants: &[&VariantAnalysis], info: &RunInfo) -> Vec<HarnessCost> {
    let calibrations: Vec<_> = info.calibrations.iter().filter(|c| c.scenario == scenario).collect();
    let only = calibrations.len() == 1;
    let cost = |calibration: &&litelab_record::Calibration| {
        let nanos = measure::cost(&calibration.result)?;
        let has = |variant: &VariantAnalysis| info.driver(&variant.driver).map(|(runner, _)| &runner.runner);
        let of_runner = |variant: &&&VariantAnalysis| only || has(variant) == Some(&calibration.runner);
        let time = |variant: &&&VariantAnalysis| {
            let metric = Metric::from(Measure::Latency(Timing::Service, Quantile::Mean));
            Some((variant.index, variant.estimate(&metric)?.value)).filter(|(_, nanos)| *nanos > 0.0)
        };
        let fastest = variants
            .iter()
            .filter(of_runner)
            .filter_map(|variant| time(&variant))
            .min_by(|(_, a), (_, b)| a.total_cmp(b));
        Some(HarnessCost {
            runner: calibration.runner.clone(),
            nanos,
            fastest: fastest.map(|(variant, _)| variant),
            share: fastest.map(|(_, time)| nanos / time),
        })
    };
    calibrations.iter().filter_map(cost).collect()
}
