//! Text of a study, a run file or a file name must not control a terminal or act as a formula in a CSV file.

use std::path::Path;
use std::process::Output;

use crate::common;

/// TOML escapes of: OSC 52 (clipboard), a colour litelab does not use, C1 CSI, NUL, DEL, right-to-left override,
/// isolate.
const HOSTILE: &str = r"q\u001b]52;c;aGk=\u0007\u001b[95m\u009b95m\u0000\u007f\u202e\u2066z";

/// [`HOSTILE`] as a file name, without NUL.
const NAME: &str = "f\u{1b}]52;c;aGk=\u{7}\u{1b}[95m\u{9b}95m\u{7f}\u{202e}\u{2066}z";

fn study() -> String {
    let text = r#"
name = "HOSTILE"
title = "HOSTILE"
about = "HOSTILE"
source = "HOSTILE"
rounds = 1
[[scenario]]
name = "s HOSTILE"
question = "HOSTILE"
workload = "w.toml"
role."HOSTILE" = { run = "put", count = 2 }
vary.word = ["HOSTILE", "b"]
[[scenario.invariant]]
about = "HOSTILE"
sql = "SELECT count(*) FROM t"
equals = 7
[[scenario]]
name = "held"
workload = "w.toml"
role."HOSTILE" = { run = "put", count = 2 }
vary.word = ["HOSTILE", "b"]
[[claim]]
name = "HOSTILE"
text = "HOSTILE"
origin = "source"
quote = "HOSTILE"
place = "HOSTILE"
note = "HOSTILE"
scenario = "held"
metric = "throughput"
variant = { word = "b" }
at_least = 1
[[finding]]
text = "HOSTILE {v}"
values.v = { scenario = "held", metric = "throughput", variant = { word = "b" } }
"#;
    text.replace("HOSTILE", HOSTILE)
}

const WORKLOAD: &str = r#"
name = "w"
vars.word = "a"
[schema]
sql = "CREATE TABLE t(v)"
[transaction.put]
sql = "INSERT INTO t VALUES (:v)"
param.v = { value = "$word" }
"#;

fn litelab(folder: &Path, arguments: &[&str]) -> Output {
    // Forces terminal output, because `anstream` removes escape sequences from the output to a pipe.
    common::litelab(folder, arguments).env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").output().unwrap()
}

/// Standard output and error; asserts that they contain no control characters except litelab's own colours.
fn shown(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let output = litelab(folder, arguments);
    let text = common::both(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text:?}");
    inert(&text, arguments);
    text
}

fn inert(text: &str, what: &[&str]) {
    assert!(!text.contains("\u{1b}[95m") && !text.contains("\u{1b}]"), "{what:?}: {text:?}");
    let raw = |c: &char| c.is_control() && !"\n\t\r\u{1b}".contains(*c) || "\u{202e}\u{2066}".contains(*c);
    assert_eq!(text.chars().find(raw), None, "{what:?}: {text:?}");
}

#[test]
fn nothing_that_others_wrote_steers_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let (study_file, run_file) = (format!("{NAME}.toml"), format!("{NAME}.db"));
    std::fs::write(dir.join(&study_file), study()).unwrap();
    std::fs::write(dir.join("w.toml"), WORKLOAD).unwrap();

    assert!(shown(dir, 0, &["run", &study_file, "--dry-run"]).contains("q ]52;c;aGk=  [95m 95m"));
    let ran = shown(dir, 1, &["run", &study_file, "-o", &run_file, "--no-calibration"]);
    assert!(ran.contains("failed: round 1") && ran.contains("run file: f ]52;c;aGk="), "{ran}");
    shown(dir, 0, &["studies", &study_file]);
    for arguments in [
        &["show", &run_file][..],
        &["show", &run_file, "--columns", "word"],
        &["export", &run_file, "--format", "json"],
        &["export", &run_file, "--format", "csv"],
        &["export", &run_file, "--format", "series"],
        &["export", &run_file, "--format", "markdown"],
        &["report", &run_file, "-o", "page.html"],
    ] {
        assert!(!shown(dir, 0, arguments).is_empty());
    }
    inert(&std::fs::read_to_string(dir.join("page.html")).unwrap(), &["page.html"]);
    // The run file and the JSON keep the values unchanged.
    let json = String::from_utf8(litelab(dir, &["export", &run_file]).stdout).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(value["run"]["title"].as_str().unwrap().contains("\u{9b}95m\0\u{7f}\u{202e}\u{2066}z"), "{value:?}");

    for arguments in [
        &["run", "missing\u{1b}]52;c;aGk=\u{7}\u{9b}95m\u{202e}.toml"][..],
        &["show", NAME],
        &["run", NAME],
        &["run", &study_file, "--only", NAME],
        &["run", &study_file, "--set", NAME],
        &["run", "--\u{1b}[95m\u{9b}95m\u{202e}"],
        &["pragma", NAME],
    ] {
        shown(dir, 2, arguments);
    }
}

#[test]
fn names_of_a_megabyte_are_told_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(1 << 20);
    let text = study().replace(HOSTILE, "a");
    std::fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
    for (from, to) in [
        ("metric = \"throughput\"", format!("metric = \"{long}\"")),
        ("scenario = \"held\"", format!("scenario = \"{long}\"")),
        ("rounds = 1", format!("{long} = 1")),
        ("run = \"put\"", format!("run = \"{long}\"")),
    ] {
        std::fs::write(folder.path().join("x.toml"), text.replace(from, &to)).unwrap();
        let line = shown(folder.path(), 2, &["run", "x.toml", "--dry-run"]);
        assert!(line.contains("xxx…") && line.chars().count() < 2_500, "{} characters", line.chars().count());
    }
}
