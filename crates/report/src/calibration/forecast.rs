//! Forecasts whether a host can show the differences that a study requires.

use litelab_model::plan::ScenarioPlan;
use litelab_model::study::Location;
use litelab_model::{Metric, Plan, Variant};
use litelab_record::RunInfo;
use litelab_record::calibration::{HostCalibration, Work};
use litelab_stats::{Planner, Spread, Tolerance};

use crate::analysis::{judged, planner, shared_confidence};

/// A scenario whose planned rounds are too few for its tolerance on this host.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Name of the scenario.
    pub scenario: String,
    /// The judged metric in which the host has the least noise.
    pub metric: Metric,
    /// Number of planned rounds.
    pub rounds: u32,
    /// Smallest difference that the planned rounds are likely to show, a fraction; `None` if they are too few for any.
    pub effect: Option<f64>,
    /// Difference that the study requires, a fraction.
    pub tolerance: f64,
    /// Number of rounds that are likely to show it; `None` if no reasonable number suffices.
    pub needed: Option<u32>,
}

/// Scenarios of a run with too few planned rounds, according to the calibration stored with the run; the worst first.
/// Empty without a calibration.
///
/// The forecast comes from another workload on the same host. The study's own transactions may have more or less noise,
/// which only its rounds show.
#[must_use]
pub fn forecasts(info: &RunInfo) -> Vec<Forecast> {
    info.host.as_ref().map_or_else(Vec::new, |stored| forecasts_of(&info.plan, &stored.calibration))
}

/// Computes [`forecasts`] before there is a run.
#[must_use]
pub fn forecasts_of(plan: &Plan, calibration: &HostCalibration) -> Vec<Forecast> {
    let scenarios = plan.scenarios.iter().enumerate();
    let mut found: Vec<Forecast> =
        scenarios.filter_map(|(index, scenario)| of_scenario(plan, index, scenario, calibration)).collect();
    found.sort_by_key(|forecast| std::cmp::Reverse(forecast.needed.unwrap_or(u32::MAX)));
    found
}

fn of_scenario(plan: &Plan, index: usize, scenario: &ScenarioPlan, calibration: &HostCalibration) -> Option<Forecast> {
    let is_twin = |variant: &&Variant| variant.dimensions.contains_key(litelab_model::resolve::AA);
    let variants: Vec<&Variant> = plan
        .variants
        .iter()
        .filter(|variant| variant.scenario == index && variant.skipped.is_none() && !is_twin(variant))
        .collect();
    let others = variants.len().checked_sub(1).filter(|n| *n > 0)?;
    let judged = judged(&scenario.metrics);
    let planner = planner(shared_confidence(others, &judged));
    let tolerance = Tolerance::new(plan.tolerance).ok()?;
    // The variant that waits for the disk has more noise, and it takes part in its comparison. The duration of other
    // transactions is not known before they run, so the noisier kind is assumed.
    let is_like = |work: Work| match variants.iter().any(|variant| syncs_each_commit(variant)) {
        true => work == Work::Commits,
        false => work != Work::Commits,
    };
    let at_tolerance = |spread: &Spread| spread.at(tolerance.log());
    let spread = |metric: &Metric| {
        let like = calibration.noise.iter().filter(|n| is_like(n.work) && n.metric.measure == metric.measure);
        like.map(|n| n.spread).max_by(|a, b| at_tolerance(a).total_cmp(&at_tolerance(b)))
    };
    let (metric, spread) = judged
        .into_iter()
        .filter_map(|metric| spread(&metric).map(|spread| (metric, spread)))
        .min_by(|(_, a), (_, b)| at_tolerance(a).total_cmp(&at_tolerance(b)))?;
    let needed = planner.total_for_tolerance(spread, tolerance);
    needed.is_none_or(|needed| needed > scenario.rounds).then(|| Forecast {
        scenario: scenario.name.clone(),
        metric,
        rounds: scenario.rounds,
        effect: planner.smallest_effect(spread, scenario.rounds),
        tolerance: plan.tolerance,
        needed,
    })
}

/// Whether a variant's transactions write and its settings sync at every commit. SQLite's defaults do (a rollback
/// journal, FULL); a write-ahead log syncs at commit from FULL on
/// (<https://sqlite.org/pragma.html#pragma_synchronous>).
fn syncs_each_commit(variant: &Variant) -> bool {
    let set = |name: &str| variant.settings.iter().find(|s| s.name == name).map(|setting| setting.value.as_str());
    let level = match set("synchronous") {
        Some("off") => 0,
        Some("normal") => 1,
        _ => 2,
    };
    let enough = if set("journal_mode") == Some("wal") { 2 } else { 1 };
    variant.location == Location::File && variant.trial.transactions.iter().any(|t| t.writes) && level >= enough
}

impl std::fmt::Display for Forecast {
    /// Formats as `this host shows 7 % in 10 rounds (p50); the study asks for 5 %: about 24 rounds`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rounds = crate::number::counted(self.rounds, "round");
        match self.effect {
            Some(effect) => {
                write!(f, "this host shows {} in {rounds} ({})", crate::number::rough(effect), self.metric)?;
            }
            None => write!(f, "this host shows no difference in {rounds}")?,
        }
        write!(f, "; the study asks for {}: ", crate::number::percent(self.tolerance))?;
        match self.needed {
            Some(needed) if needed <= Planner::MOST => write!(f, "about {needed} rounds"),
            _ => write!(f, "no number of rounds worth running would do"),
        }
    }
}
