//! Check that the work of a trial was done: failed transactions, and transactions without effect.

use litelab_model::Variant;
use litelab_protocol::{Begin, Dialect, ErrorCount, Invocation, Transaction, TransactionResult, TrialResult, codes};
use litelab_record::outcome::Flag;

use crate::runner::NOOP;

/// Checks that no transaction of a role fails more often than the scenario permits: throughput and latency cover
/// committed transactions only, and do not represent the work if many failed.
///
/// # Errors
/// The first transaction that fails too often, with the database's message of the most frequent error, and a remedy if
/// one is known.
pub fn failures(variant: &Variant, result: &TrialResult) -> Result<(), String> {
    for o in &result.operations {
        let all = o.committed + o.empty + o.failed;
        if all == 0 || o.failed as f64 / all as f64 <= variant.failed_at_most {
            continue;
        }
        let uncured = |count: &ErrorCount| count.seen.saturating_sub(count.cured);
        let met = o.errors.iter().max_by_key(|(_, count)| uncured(count)).map_or_else(String::new, |(code, count)| {
            let message = count.message.as_ref().map_or_else(String::new, |message| format!(", \"{message}\""));
            let remedy = hint(variant, o, code).map_or_else(String::new, |hint| format!("; {hint}"));
            format!(": {code}{message}{remedy}")
        });
        return Err(format!(
            "{}/{}: {} of {all} transactions failed, and failed_at_most = {}{met}",
            o.role, o.transaction, o.failed, variant.failed_at_most
        ));
    }
    Ok(())
}

/// Remedy for an error that SQLite returned to a transaction; `None` if none is known.
fn hint(variant: &Variant, operation: &TransactionResult, code: &str) -> Option<&'static str> {
    let transaction = of(variant, operation)?;
    let is = |listed: &str| variant.dialect == Dialect::Sqlite && codes::stands_for(listed, code);
    if is("SQLITE_BUSY") && transaction.begin == Begin::Deferred && transaction.writes {
        return Some(
            "a deferred transaction that has read cannot wait for its turn to write once another has written: \
             write `begin = \"immediate\"`",
        );
    }
    if is("SQLITE_BUSY") {
        return Some("wait longer (`busy_timeout` in a profile's [pragma]) or try again (a profile's [retry])");
    }
    if is("SQLITE_CONSTRAINT_PRIMARYKEY") || is("SQLITE_CONSTRAINT_UNIQUE") || is("SQLITE_CONSTRAINT_ROWID") {
        return Some(
            "a key was inserted twice: rows of a transaction count from 0 again after those of [data] \
             (`sequence = { start = \"$data_rows\" }` goes on after them)",
        );
    }
    None
}

/// Flags transactions without effect in the whole trial: all ended for lack of a row, or none that committed read or
/// changed a row although it consists only of reads and changes of rows. For a transaction of several statements, one
/// row of any of them suffices.
pub(super) fn idle(variant: &Variant, result: &TrialResult) -> Vec<Flag> {
    if variant.trial.driver == NOOP {
        return Vec::new();
    }
    let flag = |o: &TransactionResult, count: u64, empty: bool| Flag::Idle {
        role: o.role.clone(),
        transaction: o.transaction.clone(),
        count,
        empty,
    };
    let mut flags = Vec::new();
    for o in &result.operations {
        if o.committed + o.failed == 0 && o.empty > 0 {
            flags.push(flag(o, o.empty, true));
        } else if o.measured > 0 && o.rows == 0 && of(variant, o).is_some_and(is_of_rows) {
            flags.push(flag(o, o.measured, false));
        }
    }
    flags
}

fn of<'a>(variant: &'a Variant, operation: &TransactionResult) -> Option<&'a Transaction> {
    variant.trial.transactions.iter().find(|t| t.name == operation.transaction)
}

/// Whether a transaction consists only of reads and changes of rows, so that an execution without rows has no effect.
fn is_of_rows(transaction: &Transaction) -> bool {
    const WORDS: [&str; 7] = ["select", "with", "values", "insert", "replace", "update", "delete"];
    let reads_or_changes = |sql: &str| {
        let first = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        WORDS.iter().any(|word| first.eq_ignore_ascii_case(word))
    };
    let statements = &transaction.statements;
    statements.iter().all(|s| !matches!(Invocation::parse(&s.sql), Ok(Some(_))) && reads_or_changes(&s.sql))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(more: &str) -> Variant {
        let toml = format!(
            "name = 's'\ntitle = '?'\nworkload = 'insert'\n[[scenario]]\nname = 'one'\n{more}\n\
             role.w = {{ run = 'insert', count = 100 }}\n"
        );
        crate::testkit::plan(None, &toml).variants.remove(0)
    }

    fn result(committed: u64, empty: u64, failed: u64, rows: u64) -> TrialResult {
        let count = ErrorCount { seen: failed, cured: 0, message: Some("UNIQUE constraint failed: t.id".into()) };
        let other = ErrorCount { seen: failed + 5, cured: failed + 5, message: Some("database is locked".into()) };
        let operation = TransactionResult {
            role: "w".into(),
            transaction: "insert".into(),
            committed,
            empty,
            failed,
            measured: committed,
            rows,
            errors: [("SQLITE_CONSTRAINT_PRIMARYKEY".into(), count), ("SQLITE_BUSY".into(), other)].into(),
            ..TransactionResult::default()
        };
        TrialResult { operations: vec![operation], ..TrialResult::default() }
    }

    #[test]
    fn a_trial_fails_above_the_bound_with_the_message_and_the_remedy() {
        let usual = variant("");
        assert_eq!(failures(&usual, &result(99, 0, 1, 99)), Ok(()));
        let above = failures(&usual, &result(98, 0, 2, 98)).expect_err("2 %");
        for part in [
            "w/insert: 2 of 100 transactions failed, and failed_at_most = 0.01: SQLITE_CONSTRAINT_PRIMARYKEY, \
             \"UNIQUE constraint failed: t.id\"; ",
            "start = \"$data_rows\"",
        ] {
            assert!(above.contains(part), "{above}");
        }
        assert_eq!(failures(&variant("failed_at_most = 1"), &result(0, 0, 100, 0)), Ok(()));
        // 0.29 × 100 is less than 29.
        assert_eq!(failures(&variant("failed_at_most = 0.29"), &result(71, 0, 29, 71)), Ok(()));
        assert_eq!(failures(&usual, &result(0, 0, 0, 0)), Ok(()));
        assert!(failures(&variant("failed_at_most = 0"), &result(999, 0, 1, 0)).is_err());
        assert_eq!(failures(&usual, &result(0, 0, 0, 0)), Ok(()), "nothing was run");
    }

    #[test]
    fn a_deferred_transaction_that_was_upgraded_too_late_is_to_begin_immediate() {
        let mut deferred = variant("");
        let transaction = &mut deferred.trial.transactions[0];
        (transaction.begin, transaction.writes) = (Begin::Deferred, true);
        let of = |variant: &Variant, code: &str| hint(variant, &result(0, 0, 1, 0).operations[0], code);
        assert!(of(&deferred, "SQLITE_BUSY_SNAPSHOT").is_some_and(|h| h.contains("begin = \"immediate\"")));
        assert!(of(&variant(""), "SQLITE_BUSY").is_some_and(|h| h.contains("busy_timeout")));
        assert_eq!(of(&variant(""), "SQLITE_ERROR"), None);
    }

    #[test]
    fn what_did_nothing_is_flagged() {
        let variant = variant("");
        let one = |empty, count| Flag::Idle { role: "w".into(), transaction: "insert".into(), count, empty };
        assert_eq!(idle(&variant, &result(0, 7, 0, 0)), [one(true, 7)]);
        assert_eq!(idle(&variant, &result(5, 7, 0, 0)), [one(false, 5)]);
        assert_eq!(idle(&variant, &result(5, 7, 0, 1)), []);
        assert_eq!(idle(&variant, &result(0, 7, 1, 0)), []);
        let mut maintenance = variant.clone();
        maintenance.trial.transactions[0].statements[0].sql = "PRAGMA optimize".into();
        assert_eq!(idle(&maintenance, &result(5, 0, 0, 0)), []);
        let mut noop = variant;
        noop.trial.driver = "noop".into();
        assert_eq!(idle(&noop, &result(5, 0, 0, 0)), []);
    }
}
