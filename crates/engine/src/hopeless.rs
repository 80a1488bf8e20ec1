//! Scenarios that are not gone on with: what failed in every trial of their first block is the study's own, and further blocks
//! would only say it again.

use std::collections::{BTreeMap, BTreeSet};

use litelab_model::Plan;
use litelab_record::RunFile;
use litelab_record::outcome::{FailureKind, Outcome, TrialRecord};

use crate::error::EngineError;

/// Why a scenario is not gone on with, by the trials of its first block: the first reason, where each of them broke an
/// invariant, failed too many of its transactions or changed its settings. None where a node or process is killed, whose trials
/// differ by chance.
pub(crate) fn reason<'t>(plan: &Plan, first_block: impl IntoIterator<Item = &'t TrialRecord>) -> Option<&'t str> {
    let mut first = None;
    for record in first_block {
        let Outcome::Failed(failure) = &record.outcome else { return None };
        let of_study =
            matches!(failure.kind, FailureKind::Invariant | FailureKind::Transactions | FailureKind::Settings);
        let killed = plan.arms.get(record.arm).is_none_or(|arm| arm.kill.is_some());
        if !of_study || killed {
            return None;
        }
        first.get_or_insert(failure.reason.as_str());
    }
    first
}

/// Those among the scenarios of a run file that are begun.
///
/// # Errors
/// When the file is damaged.
pub(crate) fn in_file(file: &RunFile, plan: &Plan) -> Result<BTreeSet<usize>, EngineError> {
    let mut first_blocks: BTreeMap<usize, Vec<TrialRecord>> = BTreeMap::new();
    file.trials(&mut |trial| {
        let scenario = plan.arms.get(trial.record.arm).map(|arm| arm.scenario);
        if let (Some(scenario), 0) = (scenario, trial.record.block) {
            first_blocks.entry(scenario).or_default().push(trial.record);
        }
        Ok(())
    })?;
    let hopeless = first_blocks.into_iter().filter(|(_, trials)| reason(plan, trials).is_some());
    Ok(hopeless.map(|(scenario, _)| scenario).collect())
}
