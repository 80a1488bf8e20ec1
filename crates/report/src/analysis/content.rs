//! Whether arms that had the same rows to leave did leave the same.
//!
//! The parameter generator makes contents a function of the seed, so whatever differs between drivers, profiles or
//! accesses is a row lost, doubled or changed on its way. It is a function of the seed only where nothing else decides
//! what is written: in arms that write nothing, and in those of one worker whose roles all end by count. Of several
//! workers, and of roles that end by time, the number and order of transactions is the machine's doing.

use std::collections::BTreeMap;

use litelab_model::Plan;
use litelab_model::plan::Arm;
use litelab_protocol::{Begin, Transaction, Until};
use serde::Serialize;

use super::arm::ArmAnalysis;

/// A table that arms with the same work were to leave alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContentCheck {
    /// The table; `table#1` for one of several databases.
    pub table: String,
    /// Arms that were looked at, at least two.
    pub arms: Vec<usize>,
    /// Hex SHA-256 of the content that most of them left, of the baseline's where it is a tie.
    #[serde(rename = "sha256")]
    pub hash: String,
    /// Those of which a trial left another.
    pub odd: Vec<usize>,
}

/// The checks of a scenario: one for each table and set of arms with the same work. Trials in which a transaction failed
/// are not looked at: they lack rows rightly.
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

/// All that decides what an arm leaves, as text; none where the machine has a part in it. Of `several` dialects it is not
/// the SQL, which each has its own way to say, but the values, and which schema the scenario names.
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

/// Takes from a transaction what has no part in what it writes: how it begins, waits and is timed.
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
