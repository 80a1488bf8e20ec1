//! Detection of scenarios to give up: a failure of every trial of the first round is caused by the study, and further
//! rounds would repeat it.

use std::collections::{BTreeMap, BTreeSet};

use litelab_model::Plan;
use litelab_record::RunFile;
use litelab_record::outcome::{FailureKind, Outcome, TrialRecord};

use crate::error::EngineError;

/// Reason for which a scenario is given up, given the trials of its first round: the first failure, if every trial
/// violated an invariant, failed too many transactions or changed its settings. `None` if the scenario kills a node or
/// process, because those trials differ by chance.
pub(crate) fn reason<'t>(plan: &Plan, first_round: impl IntoIterator<Item = &'t TrialRecord>) -> Option<&'t str> {
    let mut first = None;
    for record in first_round {
        let Outcome::Failed(failure) = &record.outcome else { return None };
        let of_study =
            matches!(failure.kind, FailureKind::Invariant | FailureKind::Transactions | FailureKind::Settings);
        let killed = plan.variants.get(record.variant).is_none_or(|variant| variant.kill.is_some());
        if !of_study || killed {
            return None;
        }
        first.get_or_insert(failure.reason.as_str());
    }
    first
}

/// Scenarios in a run file that were given up, and the number of failed trials in it.
///
/// # Errors
/// If the file is damaged.
pub(crate) fn in_file(file: &RunFile, plan: &Plan) -> Result<(BTreeSet<usize>, u32), EngineError> {
    let mut failed = 0;
    let mut first_rounds: BTreeMap<usize, Vec<TrialRecord>> = BTreeMap::new();
    file.trials(&mut |trial| {
        failed += u32::from(matches!(trial.record.outcome, Outcome::Failed(_)));
        let scenario = plan.variants.get(trial.record.variant).map(|variant| variant.scenario);
        if let (Some(scenario), 0) = (scenario, trial.record.round) {
            first_rounds.entry(scenario).or_default().push(trial.record);
        }
        Ok(())
    })?;
    let hopeless = first_rounds.into_iter().filter(|(_, trials)| reason(plan, trials).is_some());
    Ok((hopeless.map(|(scenario, _)| scenario).collect(), failed))
}
