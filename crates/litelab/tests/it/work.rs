//! Work that fails, does nothing, or differs from the declared work.

use std::path::Path;

use crate::common::{self, ends, run, said, words};

/// A workload with a table of two rows and the given transaction.
fn workload(transaction: &str, more: &str) -> String {
    format!(
        "{more}\n[schema]\nsql = \"CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 0), (2, 0)\"\n\
         [transaction.one]\n{transaction}\n[transaction.other]\nsql = \"SELECT v FROM t WHERE id = 1\"\n"
    )
}

/// Runs ten transactions in each of six rounds, under two profiles. Returns standard output and the lines of standard
/// error.
fn study(folder: &Path, workload: &str, more: &str, code: i32) -> (String, Vec<String>) {
    let role = "role.w = { run = \"one\", count = 10 }\nvary.profile = [\"wal-normal\", \"memory-off\"]";
    common::study(folder, &format!("rounds = 6\n{more}\n{role}"), workload);
    let output = run(folder, &["run", "s.toml", "-o", "s.db", "--no-calibration", "--rounds", "6", "--all"]);
    (words(&ends(&output, code)), said(&output).lines().map(str::to_owned).collect())
}

#[test]
fn transactions_that_all_fail_end_their_scenario_with_sqlites_message() {
    let folder = tempfile::tempdir().unwrap();
    let failing = workload("sql = \"INSERT INTO t VALUES (1, 0)\"", "");
    let (shown, lines) = study(folder.path(), &failing, "", 1);
    let message = "10 of 10 transactions failed, and failed_at_most = 0.01: SQLITE_CONSTRAINT_PRIMARYKEY, \"UNIQUE constraint \
                failed: t.id\"; a key was inserted twice";
    let failed: Vec<_> = lines.iter().filter(|line| line.contains(message)).collect();
    // Printed once when it happens, and once as the reason for the end of the scenario.
    assert_eq!(failed.len(), 2, "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("failed: 1 further trial like round 1")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("s ended: all trials of its first round failed, so 5 rounds")));
    assert!(!lines.iter().any(|line| line.contains("round 2/6")), "{lines:#?}");
    assert_eq!(shown.matches("UNIQUE constraint").count(), 1, "{shown}");
    assert!(shown.contains("and 1 other variant: 2 of 2 trials failed (transactions): w/one"), "{shown}");
    // A resumed run does not continue the scenario that was given up.
    let resumed = run(folder.path(), &["run", "--resume", "s.db"]);
    assert!(!said(&resumed).contains("round 2/6"), "{resumed:?}");
    // The same study in which the failure is permitted.
    std::fs::remove_file(folder.path().join("s.db")).unwrap();
    let (shown, _) = study(folder.path(), &failing, "failed_at_most = 1", 0);
    assert!(shown.contains("failed") && shown.contains("100 %"), "{shown}");
    assert!(shown.contains("UNIQUE constraint failed: t.id"), "its message is beside the numbers: {shown}");
}

#[test]
fn work_that_did_nothing_is_the_first_thing_said() {
    for (transaction, what) in [
        ("sql = \"UPDATE t SET v = 1 WHERE id = 7\"", "committed without reading or changing a row"),
        ("sql = \"SELECT v FROM t WHERE id = 7\"", "committed without reading or changing a row"),
        ("sql = \"SELECT v FROM t WHERE id = 7\"\nyields = [\"v\"]", "all ended empty"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (shown, _) = study(folder.path(), &workload(transaction, ""), "", 0);
        let (top, table) = shown.split_once("── s").unwrap();
        assert!(top.contains("and 1 other variant: w/one did nothing in 6 of 6 trials: 60 transactions"), "{shown}");
        assert!(top.contains(what), "{shown}");
        assert_eq!(table.contains(" empty "), what.contains("empty"), "{shown}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (shown, _) = study(folder.path(), &workload("sql = \"PRAGMA optimize\"", ""), "", 0);
    assert!(!shown.contains("did nothing"), "maintenance has no rows: {shown}");
}

#[test]
fn an_invariant_that_every_trial_breaks_is_one_line_and_one_round() {
    let folder = tempfile::tempdir().unwrap();
    let invariant =
        "[[invariant]]\nabout = \"rows\"\nsql = \"SELECT sum(v) + abs(random() % 1000) + 1000 FROM t\"\nequals = 0\n";
    let text = workload("sql = \"UPDATE t SET v = v + 1\"", "") + invariant;
    let (shown, lines) = study(folder.path(), &text, "", 1);
    assert_eq!(lines.iter().filter(|line| line.starts_with("failed: round")).count(), 1, "{lines:#?}");
    assert_eq!(shown.matches("invariant `rows`").count(), 1, "{shown}");
    assert!(shown.contains("2 of 2 trials failed (invariant)"), "{shown}");
    assert!(!lines.iter().any(|line| line.contains("round 2/6")), "{lines:#?}");
}

#[test]
fn a_failed_self_check_is_a_failed_run() {
    let folder = tempfile::tempdir().unwrap();
    let text = workload("sql = \"UPDATE t SET v = random()\"", "content = [\"t\"]");
    let (shown, _) = study(folder.path(), &text, "", 1);
    assert!(shown.contains("is not the same in all of them, nor in any other variant with the same work"), "{shown}");
    assert!(!shown.contains("0 variants"), "{shown}");
}

#[test]
fn a_transaction_that_cannot_be_run_is_refused_with_its_name() {
    for (transaction, remedy) in [
        ("sql = \"BEGIN IMMEDIATE\"", "`begin = \"immediate\"`"),
        ("sql = \"UPDATE t SET v = 1 WHERE id = :id\"\nparam.id = { yielded = \"idd\" }", "unknown yielded name `idd`"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (_, lines) = study(folder.path(), &workload(transaction, ""), "", 2);
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(lines[0].contains("transaction `one`") && lines[0].contains(remedy), "{lines:#?}");
    }
}
