//! From trials to estimates, comparisons, verdicts, claims and findings.
//!
//! **Comparisons.** Within a scenario every variant is compared with the baseline, round by round
//! ([`litelab_stats::PairedRatio`]).
//!
//! **Families.** The comparisons of one scenario in all judged metrics are one family: each interval has the level
//! 1 − α/m, so that all m hold together at 95 % (Bonferroni; Holm's p-values are given as well). The verdict of a row,
//! which is that of the first conclusive metric, holds with them. Each claim is a family of its own: its author chose
//! it before the run. Medians of single variants have plain 95 % intervals; they describe and decide nothing.
//!
//! **Rare events** (failed, empty, errors, served) are counts over all trials ([`litelab_stats::Events`]).
//! **Quantiles** of too few observations are shown as the longest one and are not judged ([`Values::max_of`]).

mod alert;
mod answer;
mod claim;
mod collect;
mod content;
mod crossover;
mod durability;
mod effect;
mod finding;
mod flag;
mod harness;
mod locks;
pub mod noise;
mod pair;
pub mod recording;
mod scalability;
mod scenario;
mod serial;
pub mod timeline;
mod variant;
pub mod words;

use litelab_model::Metric;
use litelab_record::{RunFile, RunInfo, StoredTrial};
use serde::Serialize;

pub use alert::{AlertResult, Fired};
pub use answer::{Answer, Calmer, LevelAnswer, Problem, Starvation, Undecided};
pub(crate) use claim::failures;
pub use claim::{ClaimResult, Measured, Tally};
pub use collect::Collector;
pub use content::ContentCheck;
pub use crossover::{CrossoverResult, MetricCrossover};
pub use durability::DurabilityPair;
pub use effect::{Effect, Effects};
pub use flag::ProblemKind;
pub use harness::HarnessCost;
pub use litelab_model::judging::{judged, shared_confidence};
pub use locks::LockUse;
pub use noise::{AaCheck, Noise};
pub use pair::{MetricComparison, better, pair};
pub(crate) use pair::{pair_between, pairs, planner, unsound};
pub use scalability::Scalability;
pub use scenario::{ScenarioAnalysis, VariantComparison, compare};
pub use timeline::Timeline;
pub use variant::{FailureCount, Values, VariantAnalysis, alike};

use crate::error::ReportError;

/// Analysis of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// Scenarios in the order of the plan.
    pub scenarios: Vec<ScenarioAnalysis>,
    /// Variants in the order of the plan: the position of a variant is its index there.
    pub variants: Vec<VariantAnalysis>,
    /// Claims in the order of the plan.
    pub claims: Vec<ClaimResult>,
    /// Names of claims that `--quick` left out: their variants are not run, or they have `quick = false`.
    pub left_out: Vec<String>,
    /// Sentences of the plan with their values.
    pub findings: Vec<String>,
    /// Crossovers in the order of the plan, one for each scenario and each variant that may overtake the base.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crossovers: Vec<CrossoverResult>,
    /// Relative difference below which two variants count as equivalent.
    pub tolerance: f64,
}

impl Analysis {
    /// Whether variants with the same work left different rows. Some of their numbers are then those of different work.
    #[must_use]
    pub fn self_check_failed(&self) -> bool {
        self.scenarios.iter().flat_map(|scenario| &scenario.content).any(|check| !check.odd.is_empty())
    }

    /// Durability levels of a variant and of the variant that it is compared with.
    #[must_use]
    pub fn durability_pair(&self, variant: usize, against: usize) -> DurabilityPair {
        let level = |index: usize| self.variants.get(index).and_then(|variant| variant.durability);
        DurabilityPair { against: level(against), variant: level(variant) }
    }

    /// Keeps these scenarios with their claims and crossovers, and drops all others.
    pub fn keep(&mut self, scenarios: &[String]) {
        let variants = &self.variants;
        let kept = |variant: usize| {
            let scenario = variants.get(variant).and_then(|variant| self.scenarios.get(variant.scenario));
            scenario.is_some_and(|scenario| scenarios.contains(&scenario.name))
        };
        self.claims.retain(|claim| kept(claim.plan.variant));
        self.crossovers.retain(|crossover| scenarios.contains(&crossover.scenario));
        self.scenarios.retain(|scenario| scenarios.contains(&scenario.name));
    }
}

/// Analyses a run file. Trials are read one at a time.
///
/// # Errors
/// If the file cannot be read or is damaged.
pub fn analyse(file: &RunFile, info: &RunInfo) -> Result<Analysis, ReportError> {
    analyse_with(file, info, &[])
}

/// Analyses a run file as [`analyse`] does, with further metrics of single transactions (`p99:claim`) for every
/// variant.
///
/// # Errors
/// If the file cannot be read or is damaged.
pub fn analyse_with(file: &RunFile, info: &RunInfo, extra: &[Metric]) -> Result<Analysis, ReportError> {
    analyse_and(file, info, extra, &mut |_| ())
}

/// Analyses a run file as [`analyse_with`] does, and passes each trial to `also`.
pub(crate) fn analyse_and(
    file: &RunFile,
    info: &RunInfo,
    extra: &[Metric],
    also: &mut dyn FnMut(&StoredTrial),
) -> Result<Analysis, ReportError> {
    let mut collector = Collector::new(&info.plan, extra);
    let mut damaged = None;
    file.trials(&mut |trial| {
        if let Err(error) = collector.add(&info.plan, &trial.record) {
            damaged.get_or_insert(error);
            return Ok(());
        }
        collector.add_series(&info.plan, &trial.record, || file.series(trial.id))?;
        also(&trial);
        Ok(())
    })?;
    match damaged {
        Some(error) => Err(error),
        None => Ok(collector.finish(info)),
    }
}
