//! Content checks: one false hash is found, and contents that may differ are not compared.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

use crate::common::plan::{empty, scenario, text, transaction, variant};
use crate::common::{Numbers, analysed, exported};
use litelab_model::plan::{DataPlan, Plan, Variant};
use litelab_protocol::{Begin, Dialect, Transaction, Until};
use litelab_report::analysis::ContentCheck;
use litelab_report::{Style, show_all};

const HONEST: &str = "a11ce0a11ce0a11ce0";
const LIE: &str = "0b0b0b0b0b0b0b0b0b";

/// A variant of one driver with one worker, which ends by count.
fn loading(driver: &str) -> Variant {
    let mut variant = variant(0, &[("driver", text(driver))]);
    variant.driver = driver.into();
    variant.content = vec!["item".into()];
    variant.trial.transactions = vec![transaction("insert")];
    let role = &mut variant.trial.roles[0];
    (role.workers, role.workers_in_role) = (1, 1);
    role.until = Until::Count { transactions: 10 };
    variant
}

fn plan(variants: Vec<Variant>) -> Plan {
    Plan { scenarios: vec![scenario("load", 3, &["driver"], 0, &["p50"])], variants, ..empty() }
}

/// Runs a plan whose trials leave the content with the hash that `hash` returns for round and variant; returns the
/// checks and the text.
fn run(plan: &Plan, hash: impl Fn(u32, usize) -> &'static str, failed: u64) -> (Vec<ContentCheck>, String) {
    let (info, analysis) = analysed(plan, |round, variant| {
        Some(Numbers { content: vec![("item", hash(round, variant))], failed, ..Numbers::default() }.into())
    });
    let shown = show_all(&analysis, &info, Style { color: false, width: 200 });
    let checks = analysis.scenarios[0].content.clone();
    let exported = exported(&analysis, &info);
    for (check, exported) in checks.iter().zip(exported["scenarios"][0]["content"].as_array().unwrap()) {
        assert_eq!(exported["odd"], serde_json::json!(check.odd));
        assert_eq!(exported["sha256"], check.hash.as_str());
    }
    (checks, shown)
}

fn drivers(names: &[&str]) -> Plan {
    plan(names.iter().map(|name| loading(name)).collect())
}

#[test]
fn that_all_left_the_same_is_a_plain_line() {
    let (checks, shown) = run(&drivers(&["c", "mattn", "apsw"]), |_, _| HONEST, 0);
    assert_eq!(checks.len(), 1);
    assert_eq!((checks[0].variants.as_slice(), checks[0].odd.as_slice()), (&[0, 1, 2][..], &[][..]));
    assert!(
        shown.contains("= content: all 3 drivers left the same bytes in `item` (SHA-256 a11ce0a11ce0…)"),
        "{shown}"
    );
    assert!(!shown.contains("self-check failed"), "{shown}");
}

#[test]
fn a_lie_in_a_single_trial_is_a_failed_self_check() {
    let lie = |round, variant| if (round, variant) == (1, 2) { LIE } else { HONEST };
    let (checks, shown) = run(&drivers(&["c", "mattn", "apsw"]), lie, 0);
    assert_eq!((checks[0].hash.as_str(), checks[0].odd.as_slice()), (HONEST, &[2][..]));
    assert!(shown.contains("apsw ¹"), "{shown}");
    assert!(
        shown.contains("¹ self-check failed: what it left in `item` is not what 2 variants with the same work left")
    );
    assert!(shown.contains("✘ content: 1 of 3 drivers left other bytes in `item` than the rest"), "{shown}");
    assert!(!shown.contains("left the same bytes"), "{shown}");
}

#[test]
fn of_two_it_is_the_baseline_that_is_believed() {
    let (checks, _) = run(&drivers(&["c", "mattn"]), |_, variant| [HONEST, LIE][variant], 0);
    assert_eq!((checks[0].hash.as_str(), checks[0].odd.as_slice()), (HONEST, &[1][..]));
    let (checks, _) = run(&drivers(&["c", "mattn"]), |_, variant| [LIE, HONEST][variant], 0);
    assert_eq!((checks[0].hash.as_str(), checks[0].odd.as_slice()), (LIE, &[1][..]));
}

#[test]
fn what_may_differ_rightly_is_not_compared() {
    type Change = fn(&mut Variant);
    let changes: [(&str, Change); 4] = [
        ("ends by time", |variant| variant.trial.roles[0].until = Until::Time { ms: 5 }),
        ("two workers", |variant| variant.trial.roles[0].workers = 2),
        ("other work", |variant| variant.trial.seed += variant.driver.len() as u64),
        ("other data", |variant| {
            let rows = variant.driver.len() as u64;
            variant.data = Some(DataPlan { from: None, transaction: None, rows, then: None });
        }),
    ];
    for (what, change) in changes {
        let mut plan = drivers(&["c", "mattn"]);
        plan.variants.iter_mut().for_each(change);
        let (checks, shown) = run(&plan, |_, variant| [HONEST, LIE][variant], 0);
        assert!(checks.is_empty() && !shown.contains("content:"), "{what}: {shown}");
    }
    // The rows of a transaction that was given up are missing.
    assert!(run(&drivers(&["c", "mattn"]), |_, variant| [HONEST, LIE][variant], 1).0.is_empty());
}

#[test]
fn how_a_transaction_begins_is_no_other_work() {
    let mut plan = drivers(&["c", "mattn"]);
    let inserts = plan.variants[0].trial.transactions[0].clone();
    for (variant, writes) in plan.variants.iter_mut().zip([true, false]) {
        // The compiler marks only the first of several plans of the same data.
        let transaction = Some(Transaction { writes, ..inserts.clone() });
        variant.data = Some(DataPlan { from: None, transaction, rows: 3, then: None });
        variant.trial.transactions[0].begin = if writes { Begin::Immediate } else { Begin::Deferred };
    }
    assert_eq!(run(&plan, |_, variant| [HONEST, LIE][variant], 0).0[0].odd, [1]);
}

#[test]
fn variants_that_only_read_are_compared_however_they_end() {
    let mut plan = drivers(&["c", "mattn"]);
    for variant in &mut plan.variants {
        variant.trial.transactions[0].writes = false;
        variant.trial.roles[0].workers = 4;
        variant.trial.roles[0].until = Until::Time { ms: 5 + variant.driver.len() as u64 };
    }
    assert_eq!(run(&plan, |_, variant| [HONEST, LIE][variant], 0).0[0].odd, [1]);
    assert!(run(&plan, |_, _| HONEST, 0).0[0].odd.is_empty());
}

/// Variants of SQLite and of servers, which write the same values with different SQL.
fn on_servers(dialects: &[Dialect]) -> Plan {
    let mut plan = drivers(&["lite", "post", "maria"]);
    for (variant, dialect) in plan.variants.iter_mut().zip(dialects) {
        variant.dialect = *dialect;
        variant.schema = format!("CREATE TABLE item(id {dialect})");
    }
    plan
}

#[test]
fn databases_that_understand_other_sql_are_compared_by_their_rows() {
    let plan = on_servers(&[Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql]);
    let (checks, shown) = run(&plan, |_, _| HONEST, 0);
    assert_eq!((checks.len(), checks[0].variants.len(), checks[0].odd.len()), (1, 3, 0), "{shown}");
    let lie = |_, variant| if variant == 1 { LIE } else { HONEST };
    assert_eq!(run(&plan, lie, 0).0[0].odd, [1]);
    // One dialect with two schemas has two kinds of rows.
    assert!(run(&on_servers(&[Dialect::Sqlite; 3]), lie, 0).0[0].variants.len() == 3);
    let mut other = on_servers(&[Dialect::Sqlite; 3]);
    other.variants[1].schema = "CREATE TABLE item(id TEXT)".into();
    assert_eq!(run(&other, lie, 0).0[0].variants, [0, 2]);
}
