//! Checks that arms with the same work left the same table contents.
//!
//! The parameter generator derives all values from the seed, so a difference between drivers, profiles or accesses
//! means that a row was lost, duplicated or changed. This holds only if nothing else decides the content: for arms that
//! write nothing, and for arms of one worker whose roles all end by count. With several workers, or with roles that end
//! by time, the number and order of transactions depends on the machine.

use std::collections::BTreeMap;

use litelab_model::Plan;
use litelab_model::plan::Arm;
use litelab_protocol::{Begin, Transaction, Until};
use serde::Serialize;

use super::arm::ArmAnalysis;

/// Content check of one table over arms with the same work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContentCheck {
    /// Name of the table; `table#1` for one of several databases.
    pub table: String,
    /// Checked arms, at least two.
    pub arms: Vec<usize>,
    /// Hex SHA-256 of the most frequent content; in a tie that of the baseline.
    #[serde(rename = "sha256")]
    pub hash: String,
    /// Arms with at least one trial that left a different content.
    pub odd: Vec<usize>,
}

/// Checks a scenario: one check for each table and set of arms with the same work. Trials with a failed transaction are
/// not checked, because their missing rows are correct.
pub(super) fn check(arms: &[&ArmAnalysis], baseline: usize, plan: &Plan) -> Vec<ContentCheck> {
    let mut groups: BTreeMap<(String, &str), Vec<&ArmAnalysis>> = BTreeMap::new();
    let mut dialects = arms.iter().filter_map(|arm| plan.arms.get(arm.index)).map(|arm| arm.dialect);
    let first = dialects.next();
    let several = dialects.any(|dialect| Some(dialect) != first);
    for arm in arms {
        let Some(work) = plan.arms.get(arm.index).and_then(|arm| work(arm, several)) else { continue };
        for table in arm.content.keys() {
            groups.entry((work.clone(), table)).or_default().push(arm);
        }
    }
    let groups = groups.into_iter().filter(|(_, arms)| arms.len() > 1);
    let mut checks: Vec<ContentCheck> =
        groups.filter_map(|((_, table), arms)| compare(table, &arms, baseline)).collect();
    checks.sort_by(|a, b| (&a.arms, &a.table).cmp(&(&b.arms, &b.table)));
    checks
}

fn compare(table: &str, arms: &[&ArmAnalysis], baseline: usize) -> Option<ContentCheck> {
    let mut votes: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for arm in arms {
        for hash in arm.content.get(table).into_iter().flatten() {
            let (count, of_baseline) = votes.entry(hash).or_default();
            *count += 1;
            *of_baseline |= arm.index == baseline;
        }
    }
    let hash = votes.into_iter().max_by_key(|(_, votes)| *votes)?.0.to_owned();
    let left_it = |arm: &&&ArmAnalysis| arm.content.get(table).is_some_and(|all| all.iter().all(|h| *h == hash));
    Some(ContentCheck {
        table: table.to_owned(),
        arms: arms.iter().map(|a| a.index).collect(),
        odd: arms.iter().filter(|a| !left_it(a)).map(|a| a.index).collect(),
        hash,
    })
}

/// Everything that determines the content an arm leaves, as text; `None` if the machine has an influence on it. With
/// `several` dialects the text has the values and the schema that the scenario names, but no SQL, which differs between
/// dialects.
fn work(arm: &Arm, several: bool) -> Option<String> {
    if arm.search.is_some() || arm.kill.is_some() {
        return None;
    }
    let trial = &arm.trial;
    let writes = trial.transactions.iter().any(|t| t.writes);
    let by_count = trial.roles.iter().all(|role| matches!(role.until, Until::Count { .. }));
    if writes && !(by_count && arm.workers() == 1) {
        return None;
    }
    let mut data = arm.data.clone();
    data.iter_mut().filter_map(|d| d.transaction.as_mut()).for_each(|t| bare(t, several));
    let named = arm.dimensions.get("schema").map(ToString::to_string);
    let schema = if several { named.unwrap_or_default() } else { arm.schema.clone() };
    let before = (schema, data, arm.databases, trial.seed);
    if !writes {
        return serde_json::to_string(&before).ok();
    }
    let mut transactions = trial.transactions.clone();
    transactions.iter_mut().for_each(|t| bare(t, several));
    serde_json::to_string(&(before, transactions, &trial.roles)).ok()
}

/// Removes from a transaction the fields without influence on its writes: how it begins, waits and is timed.
fn bare(transaction: &mut Transaction, of_sql: bool) {
    (transaction.begin, transaction.writes) = (Begin::None, false);
    (transaction.hold_us, transaction.timed_rows) = (0, false);
    for statement in &mut transaction.statements {
        statement.hold_us = 0;
        if of_sql {
            statement.sql.clear();
        }
    }
}
