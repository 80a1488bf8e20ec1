//! What the harness itself costs: the same work with a driver that calls no database. Reported, never subtracted.

use litelab_model::metric::{Measure, Metric, Quantile, Timing};
use litelab_record::RunInfo;
use litelab_record::measure;
use serde::Serialize;

use super::arm::ArmAnalysis;

/// A runner's own cost in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HarnessCost {
    /// The runner.
    pub runner: String,
    /// Nanoseconds per transaction, inside it and between two.
    pub nanos: f64,
    /// The runner's arm with the shortest mean service time.
    pub fastest: Option<usize>,
    /// The cost as a share of that arm's mean service time. An upper bound where transactions wait: the harness's part
    /// passes beside the waiting.
    pub share: Option<f64>,
}

/// One for each runner that was calibrated for the scenario.
pub(super) fn costs(scenario: usize, arms: &[&ArmAnalysis], info: &RunInfo) -> Vec<HarnessCost> {
    let calibrations: Vec<_> = info.calibrations.iter().filter(|c| c.scenario == scenario).collect();
    let only = calibrations.len() == 1;
    let cost = |calibration: &&litelab_record::Calibration| {
        let nanos = measure::cost(&calibration.result)?;
        let of_runner = |arm: &&&ArmAnalysis| only || runner_has(info, &calibration.runner, &arm.driver);
        let time = |arm: &&&ArmAnalysis| {
            let metric = Metric::from(Measure::Latency(Timing::Service, Quantile::Mean));
            Some((arm.index, arm.estimate(&metric)?.value)).filter(|(_, nanos)| *nanos > 0.0)
        };
        let fastest =
            arms.iter().filter(of_runner).filter_map(|arm| time(&arm)).min_by(|(_, a), (_, b)| a.total_cmp(b));
        Some(HarnessCost {
            runner: calibration.runner.clone(),
            nanos,
            fastest: fastest.map(|(arm, _)| arm),
            share: fastest.map(|(_, time)| nanos / time),
        })
    };
    calibrations.iter().filter_map(cost).collect()
}

/// Whether `runner:driver` or `driver` is one of the runner's.
fn runner_has(info: &RunInfo, runner: &str, driver: &str) -> bool {
    match driver.split_once(':') {
        Some((named, _)) => named == runner,
        None => {
            let described = info.runners.iter().find(|d| d.runner == runner);
            described.is_some_and(|d| d.drivers.iter().any(|d| d.name == driver))
        }
    }
}
