//! Checks that variants with the same work left the same table contents.
//!
//! The parameter generator derives all values from the seed, so a difference between drivers, profiles or kinds of
//! sharing means that a row was lost, duplicated or changed. This holds only if nothing else decides the content: for
//! variants that write nothing, and for variants of one worker whose roles all end by count. With several workers, or
//! with roles that end by time, the number and order of transactions depends on the machine.

use std::collections::BTreeMap;

use litelab_model::Plan;
use litelab_model::plan::Variant;
use litelab_protocol::{Begin, Transaction, Until};
use serde::Serialize;

use super::variant::VariantAnalysis;

/// Content check of one table over variants with the same work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContentCheck {
    /// Name of the table; `table#1` for one of several databases.
    pub table: String,
    /// Checked variants, at least two.
    pub variants: Vec<usize>,
    /// Hex SHA-256 of the most frequent content; in a tie that of the baseline.
    #[serde(rename = "sha256")]
    pub hash: String,
    /// Variants with at least one trial that left a different content.
    pub odd: Vec<usize>,
}

/// Checks a scenario: one check for each table and set of variants with the same work. Trials with a failed transaction
/// are not checked, because their missing rows are correct.
pub(super) fn check(variants: &[&VariantAnalysis], baseline: usize, plan: &Plan) -> Vec<ContentCheck> {
    let mut groups: BTreeMap<(String, &str), Vec<&VariantAnalysis>> = BTreeMap::new();
    let mut dialects =
        variants.iter().filter_map(|variant| plan.variants.get(variant.index)).map(|variant| variant.dialect);
    let first = dialects.next();
    let several = dialects.any(|dialect| Some(dialect) != first);
    for variant in variants {
        let Some(work) = plan.variants.get(variant.index).and_then(|variant| work(variant, several)) else { continue };
        for table in variant.content.keys() {
            groups.entry((work.clone(), table)).or_default().push(variant);
        }
    }
    let groups = groups.into_iter().filter(|(_, variants)| variants.len() > 1);
    let mut checks: Vec<ContentCheck> =
        groups.filter_map(|((_, table), variants)| compare(table, &variants, baseline)).collect();
    checks.sort_by(|a, b| (&a.variants, &a.table).cmp(&(&b.variants, &b.table)));
    checks
}

fn compare(table: &str, variants: &[&VariantAnalysis], baseline: usize) -> Option<ContentCheck> {
    let mut votes: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for variant in variants {
        for hash in variant.content.get(table).into_iter().flatten() {
            let (count, of_baseline) = votes.entry(hash).or_default();
            *count += 1;
            *of_baseline |= variant.index == baseline;
        }
    }
    let hash = votes.into_iter().max_by_key(|(_, votes)| *votes)?.0.to_owned();
    let left_it =
        |variant: &&&VariantAnalysis| variant.content.get(table).is_some_and(|all| all.iter().all(|h| *h == hash));
    Some(ContentCheck {
        table: table.to_owned(),
        variants: variants.iter().map(|a| a.index).collect(),
        odd: variants.iter().filter(|a| !left_it(a)).map(|a| a.index).collect(),
        hash,
    })
}

/// Everything that determines the content a variant leaves, as text; `None` if the machine has an influence on it. With
/// `several` dialects the text has the values and the schema that the scenario names, but no SQL, which differs between
/// dialects.
fn work(variant: &Variant, several: bool) -> Option<String> {
    if variant.search.is_some() || variant.kill.is_some() {
        return None;
    }
    let trial = &variant.trial;
    let writes = trial.transactions.iter().any(|t| t.writes);
    let by_count = trial.roles.iter().all(|role| matches!(role.until, Until::Count { .. }));
    if writes && !(by_count && variant.workers() == 1) {
        return None;
    }
    let mut data = variant.data.clone();
    data.iter_mut().filter_map(|d| d.transaction.as_mut()).for_each(|t| bare(t, several));
    let named = variant.dimensions.get("schema").map(ToString::to_string);
    let schema = if several { named.unwrap_or_default() } else { variant.schema.clone() };
    let before = (schema, data, variant.databases, trial.seed);
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
