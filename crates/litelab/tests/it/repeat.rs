//! Repetition of a run from its file alone, with the mock runner: the scripted timings determine every verdict, and
//! none depends on the machine. Built by `litelab runners build mock`; without it these tests fail with a message.

use std::path::Path;
use std::process::Output;

use crate::common;

/// Two variants that run different transactions.
const STUDY: &str = r#"
name = "pair"
title = "Is b slower than a?"
rounds = 6
[[scenario]]
name = "pair"
workload = "w.toml"
driver = "mock:scripted"
vars.what = "a"
role.w = { run = "$what", count = 20 }
vary.what = ["a", "b"]
metrics = ["p50", "p99"]
[[claim]]
name = "twice"
text = "b takes twice as long."
scenario = "pair"
metric = "p50"
variant = { what = "b" }
against = { what = "a" }
at_least = 1.5
"#;

const WORKLOAD: &str = r#"
name = "w"
schema.sql = "CREATE TABLE t(id INTEGER PRIMARY KEY)"
[transaction.a]
sql = "INSERT INTO t VALUES (:id)"
param.id = { sequence = {} }
[transaction.b]
sql = "INSERT INTO t VALUES (:id)"
param.id = { sequence = {} }
"#;

/// Duration of the transactions in nanoseconds.
fn script(a: u64, b: u64) -> String {
    format!(r#"{{ "service_ns": {{ "a": [{a}], "b": [{b}] }} }}"#)
}

fn litelab(folder: &Path, arguments: &[&str]) -> Output {
    common::litelab(folder, arguments).env("LITELAB_MOCK_SCRIPT", folder.join("script.json")).output().unwrap()
}

fn ended(output: &Output, code: i32) -> String {
    let text = common::both(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

/// A run in which b takes twice as long as a; the files of the study are deleted afterwards.
fn ran() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for (name, text) in [("s.toml", STUDY), ("w.toml", WORKLOAD), ("script.json", &script(1_000_000, 2_000_000))] {
        std::fs::write(dir.join(name), text).unwrap();
    }
    let table = ended(&litelab(dir, &["run", "s.toml", "-o", "one.db"]), 0);
    assert!(table.contains("✔ HOLDS"), "{table}");
    std::fs::remove_file(dir.join("s.toml")).unwrap();
    std::fs::remove_file(dir.join("w.toml")).unwrap();
    folder
}

fn repeated(dir: &Path, a: u64, b: u64, more: &[&str], code: i32) -> String {
    std::fs::write(dir.join("script.json"), script(a, b)).unwrap();
    ended(&litelab(dir, &[&["repeat", "one.db"], more].concat()), code)
}

#[test]
fn the_same_again_changes_nothing_and_needs_no_study_file() {
    let folder = ran();
    let dir = folder.path();
    let text = repeated(dir, 1_000_000, 2_000_000, &["-o", "two.db", "--rounds", "8", "--seed", "9", "--strict"], 0);
    assert!(text.contains("of 2 verdicts: 0 REVERSED, 2 unchanged"), "{text}");
    assert!(text.contains("two.db") && text.contains("8 rounds") && text.contains("the seed was 1 and is 9"), "{text}");
    // A complete repetition is judged again without being run again.
    let again = ended(&litelab(dir, &["repeat", "one.db", "--resume", "two.db"]), 0);
    assert!(again.contains("of 2 verdicts: 0 REVERSED, 2 unchanged") && !again.contains("round 1/8"), "{again}");
    // The new run file is a normal run file.
    let shown = ended(&litelab(dir, &["show", "two.db", "--columns", "what"]), 0);
    assert!(shown.contains("── p50 in ms ─ pair by what") && shown.contains("2.00× [2.00, 2.00] ▼"), "{shown}");
    let json: serde_json::Value = serde_json::from_slice(&litelab(dir, &["export", "two.db"]).stdout).unwrap();
    assert!(json.is_object());
}

#[test]
fn a_reversed_verdict_is_called_so_and_ends_with_code_3() {
    let folder = ran();
    let text = repeated(folder.path(), 2_000_000, 1_000_000, &["-o", "two.db"], 3);
    assert!(text.contains("of 2 verdicts: 2 REVERSED"), "{text}");
    assert!(
        text.contains("✘ REVERSED")
            && text.contains("2.00× [2.00, 2.00] ✔")
            && text.contains("0.500× [0.500, 0.500] ✘"),
        "{text}"
    );
}

#[test]
fn a_repetition_that_was_stopped_goes_on_where_it_was() {
    let folder = ran();
    let dir = folder.path();
    repeated(dir, 1_000_000, 2_000_000, &["-o", "two.db"], 0);
    // The state after a kill during the fourth round.
    let file = rusqlite::Connection::open(dir.join("two.db")).unwrap();
    file.execute_batch(
        "DELETE FROM series WHERE trial IN (SELECT id FROM trial WHERE round >= 3); DELETE FROM trial WHERE round >= 3; \
         DELETE FROM round WHERE number >= 3; DELETE FROM run WHERE key = 'finished'",
    )
    .unwrap();
    drop(file);
    let text = ended(&litelab(dir, &["repeat", "one.db", "--resume", "two.db"]), 0);
    assert!(!text.contains("round 3/6 stored") && text.contains("round 4/6 stored"), "{text}");
    assert!(text.contains("of 2 verdicts: 0 REVERSED, 2 unchanged"), "{text}");
}

#[test]
fn other_machines_and_other_runs_are_refused_before_anything_is_run() {
    let folder = ran();
    let dir = folder.path();
    let file = rusqlite::Connection::open(dir.join("one.db")).unwrap();
    let changed = file
        .execute("UPDATE run SET value = json_set(value, '$.kernel.release', '0.0.1') WHERE key = 'environment'", []);
    assert_eq!(changed.unwrap(), 1);
    drop(file);
    let line = ended(&litelab(dir, &["repeat", "one.db", "-o", "two.db"]), 2);
    assert!(line.contains("the kernel is 0.0.1 in one and") && line.contains("--allow-unlike"), "{line}");
    assert!(!dir.join("two.db").exists());
    let text = ended(&litelab(dir, &["repeat", "one.db", "-o", "two.db", "--allow-unlike"]), 0);
    assert!(text.contains("unlike: the kernel is 0.0.1 in one and"), "{text}");
    for (arguments, words) in [
        (&["--rounds", "5"][..], "5 are fewer than the 6 of the run"),
        (&["--resume", "one.db"], "this is the run itself"),
        (&["--seed", "99999999999999999"], "allowed is 0 to "),
        (&["-o", "two.db", "--allow-unlike"], "two.db"),
    ] {
        let line = ended(&litelab(dir, &[&["repeat", "one.db"], arguments].concat()), 2);
        assert!(line.contains(words), "{line}");
    }
}
