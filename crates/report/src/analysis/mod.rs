//! From trials to estimates, comparisons, verdicts, claims and findings.
//!
//! **What is compared.** Within a scenario every arm with the baseline, block by block ([`litelab_stats::PairedRatio`]).
//! **Families.** The comparisons of one scenario in all metrics by which arms are judged are one family: each interval is at
//! 1 − α/m, so that all m hold together at 95 % (Bonferroni; Holm's p-values are given as well), and with them the verdict
//! of a row, which is that of the first metric that is conclusive. Each claim is a family of its own: it was chosen before
//! the run and by somebody else. Medians of single arms have plain 95 % intervals; they describe and decide nothing.
//! **Rare events** (failed, errors, served, lost) are counts over all trials ([`litelab_stats::Events`]), and **quantiles**
//! of too few observations are shown as the longest and judged by nobody ([`Values::max_of`]).

mod alert;
mod arm;
mod claim;
mod collect;
mod content;
mod crossover;
mod durability;
mod effect;
mod finding;
mod flag;
mod harness;
pub mod noise;
mod pair;
mod scalability;
mod scenario;
mod serial;
pub mod timeline;

use litelab_model::Metric;
use litelab_record::{RunFile, RunInfo};
use serde::Serialize;

pub use alert::{AlertResult, Fired};
pub use arm::{ArmAnalysis, FailureCount, Values, alike};
pub use claim::{ClaimResult, Measured};
pub use collect::Collector;
pub use content::ContentCheck;
pub use crossover::{CrossoverResult, MetricCrossover};
pub use durability::Footing;
pub use effect::{Effect, Effects};
pub use harness::HarnessCost;
pub use litelab_model::judging::{judged, shared_confidence};
pub use noise::{AaCheck, Noise};
pub use pair::{MetricComparison, better, pair};
pub(crate) use pair::{pair_values, pairs, planner};
pub use scalability::Scalability;
pub use scenario::{ArmComparison, ScenarioAnalysis, compare};
pub use timeline::Timeline;

use crate::error::ReportError;

/// What a run says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// In the order of the plan.
    pub scenarios: Vec<ScenarioAnalysis>,
    /// In the order of the plan; an arm's place is its index there.
    pub arms: Vec<ArmAnalysis>,
    /// In the order of the plan.
    pub claims: Vec<ClaimResult>,
    /// Names of claims whose arms `--quick` left out.
    pub left_out: Vec<String>,
    /// The plan's sentences with their values.
    pub findings: Vec<String>,
    /// In the order of the plan, one for each scenario and each that may overtake.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crossovers: Vec<CrossoverResult>,
    /// Relative difference below which two arms count as equivalent.
    pub tolerance: f64,
}

impl Analysis {
    /// Whether arms with the same work left other rows than each other: then some numbers are of other work.
    #[must_use]
    pub fn self_check_failed(&self) -> bool {
        self.scenarios.iter().flat_map(|scenario| &scenario.content).any(|check| !check.odd.is_empty())
    }

    /// The durability of an arm beside that of the arm it is compared with.
    #[must_use]
    pub fn footing(&self, arm: usize, against: usize) -> Footing {
        let rung = |index: usize| self.arms.get(index).and_then(|arm| arm.durability);
        Footing { against: rung(against), arm: rung(arm) }
    }

    /// Keeps these scenarios, and claims about their arms.
    pub fn keep(&mut self, scenarios: &[String]) {
        let arms = &self.arms;
        let kept = |arm: usize| {
            let scenario = arms.get(arm).and_then(|arm| self.scenarios.get(arm.scenario));
            scenario.is_some_and(|scenario| scenarios.contains(&scenario.name))
        };
        self.claims.retain(|claim| kept(claim.plan.arm));
        self.crossovers.retain(|crossover| scenarios.contains(&crossover.scenario));
        self.scenarios.retain(|scenario| scenarios.contains(&scenario.name));
    }
}

/// Analyses a run file; its trials are read one at a time.
///
/// # Errors
/// When the file is damaged.
pub fn analyse(file: &RunFile, info: &RunInfo) -> Result<Analysis, ReportError> {
    analyse_with(file, info, &[])
}

/// As [`analyse`], with further metrics of single transactions (`p99:claim`) computed for every arm.
///
/// # Errors
/// When the file is damaged.
pub fn analyse_with(file: &RunFile, info: &RunInfo, extra: &[Metric]) -> Result<Analysis, ReportError> {
    let mut collector = Collector::new(&info.plan, extra);
    let mut damaged = None;
    file.trials(&mut |trial| {
        if let Err(error) = collector.add(&info.plan, &trial.record) {
            damaged.get_or_insert(error);
        } else if collector.wants_series(&info.plan, &trial.record) {
            collector.add_series(&info.plan, &trial.record, &file.series(trial.id)?);
        }
        Ok(())
    })?;
    match damaged {
        Some(error) => Err(error),
        None => Ok(collector.finish(info)),
    }
}
