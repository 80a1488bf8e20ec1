//! Bad input gives one clear line and exit code 2, and loses no data.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

fn litelab(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("litelab").unwrap();
    command.current_dir(folder).env("NO_COLOR", "1");
    command
}

/// Runs a command that must end with code 2; returns its only line of standard error.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = litelab(folder).args(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 1, "one line: {stderr}");
    assert!(lines[0].starts_with("error: "), "{stderr}");
    lines[0].to_owned()
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const SCENARIO: &str = r#"
[[scenario]]
name = "s"
workload = "insert"
role.writer = { run = "insert", count = 1 }
"#;

fn study(extra: &str) -> String {
    format!("name = \"x\"\ntitle = \"x\"\n{extra}\n")
}

#[test]
fn a_misspelt_key_is_told_the_nearest_known_one() {
    let text =
        study("[[scenario]]\nname = \"s\"\nworkload = \"insert\"\nrole.writer = { run = \"insert\", cuont = 1 }");
    let folder = folder(&[("x.toml", &text)]);
    let line = refused(folder.path(), &["run", "x.toml"]);
    assert!(line.contains("x.toml:6") && line.contains("`cuont`") && line.contains("did you mean `count`?"), "{line}");
}

#[test]
fn a_misspelt_name_is_told_the_nearest_known_one() {
    let folder = folder(&[("x.toml", &study(&SCENARIO.replace("run = \"insert\"", "run = \"inzert\"")))]);
    assert!(refused(folder.path(), &["run", "x.toml"]).contains("did you mean `insert`?"));
    assert!(refused(folder.path(), &["run", "frist-look"]).contains("did you mean `first-look`?"));
    assert!(refused(folder.path(), &["run", "smoke", "--only", "sharng"]).contains("did you mean `sharing`?"));
    assert!(refused(folder.path(), &["run", "smoke", "--set", "prelaod=1"]).contains("did you mean `preload`?"));
}

#[test]
fn an_impossible_pragma_value_is_told_what_sqlite_would_have_done() {
    for (pragma, parts) in [
        ("synchronous = \"WAL\"", ["NORMAL", "x.toml:3"]),
        ("cache_size = \"64MB\"", ["64 pages", "x.toml:3"]),
        ("busy_timeout = \"5 seconds\"", ["5000", "x.toml:3"]),
        ("jornal_mode = \"WAL\"", ["journal_mode", "x.toml:3"]),
    ] {
        let folder = folder(&[("x.toml", &format!("name = \"x\"\n[pragma]\n{pragma}\n"))]);
        let line = refused(folder.path(), &["profiles", "show", "x.toml"]);
        for part in parts {
            assert!(line.contains(part), "{pragma}: `{part}` not in: {line}");
        }
    }
    let late = "name = \"x\"\n[pragma]\njournal_mode = \"WAL\"\npage_size = 8192\n";
    let line = refused(folder(&[("x.toml", late)]).path(), &["profiles", "show", "x.toml"]);
    assert!(line.contains("page_size"), "{line}");
}

#[test]
fn sql_that_does_not_compile_is_shown_in_place() {
    let workload = "name = \"w\"\n[schema]\nsql = \"CREATE TABLE t(a)\"\n[transaction.insert]\nsql = \"INSERT INTO t(a) VALEUS (1)\"\n";
    let text = study(&SCENARIO.replace("workload = \"insert\"", "workload = \"w.toml\""));
    let files = folder(&[("x.toml", &text), ("w.toml", workload)]);
    let line = refused(files.path(), &["run", "x.toml"]);
    assert!(
        line.contains("transaction `insert`") && line.contains("VALEUS") && line.contains("character 18"),
        "{line}"
    );
    assert!(
        !files.path().join("litelab-runs").read_dir().is_ok_and(|mut d| d.any(|e| e.is_ok())),
        "no run file is left"
    );
}

#[test]
fn missing_files_and_files_that_are_no_database() {
    let folder = folder(&[(
        "x.db",
        "this is no database, though it is long enough to be looked at as one .............................",
    )]);
    for (arguments, part) in [
        (&["run", "no.toml"][..], "no.toml"),
        (&["show", "no.db"], "no such file"),
        (&["show", "x.db"], "no database"),
        (&["compare", "x.db", "x.db"], "no database"),
        (&["export", "x.db"], "no database"),
        (&["pragma", "no.db"], "no such file"),
        (&["pragma", "x.db"], "no database"),
        (&["verify", "no.db"], "does not exist"),
        (&["verify", "x.db"], "not an SQLite database"),
        (&["generate", "sqlite3perf", "x.db", "--rows", "9"], "--force"),
        (&["generate", "sqlite3perf", "x.db", "--rows", "9", "--force"], "not replaced"),
        (&["generate", "sqlite3perf", "y.db"], "add --rows"),
        (&["generate", "queue", "y.db"], "no [data]"),
        (&["generate", "sqlite3prf", "y.db"], "did you mean `sqlite3perf`"),
        (&["generate", "sqlite3perf", "y.db", "--rows", "9", "--schema", "integr"], "did you mean `integer`"),
        (&["generate", "sqlite3perf", "y.db", "--rows", "9", "--set", "bach=3"], "did you mean `batch`"),
        (&["generate", "sqlite3perf", "y.db", "--rows", "9", "--profile", "postgres-durable"], "choose one of SQLite"),
        (&["show"], "no runs here"),
        (&["run", "smoke", "-o", "x.db"], "this file exists"),
    ] {
        let line = refused(folder.path(), arguments);
        assert!(line.contains(part), "{arguments:?}: `{part}` not in: {line}");
    }
    let text = std::fs::read_to_string(folder.path().join("x.db")).unwrap();
    assert!(text.starts_with("this is no database"), "a file that is not ours is never touched");
}

#[test]
fn another_sqlite_database_is_no_run() {
    let folder = folder(&[]);
    let path = folder.path().join("app.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE t(a)").unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(refused(folder.path(), &["show", "app.db"]).contains("no litelab run"));
    assert!(refused(folder.path(), &["run", "--resume", "app.db"]).contains("no litelab run"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let folder = folder(&[("file", "")]);
    for dir in ["/proc/litelab", "file/below"] {
        let line = refused(folder.path(), &["run", "smoke", "--dir", dir]);
        assert!(line.contains(dir), "{line}");
    }
}

/// Needs root and tmpfs; elsewhere it prints a line and passes.
#[test]
fn a_full_disk_is_named() {
    let folder = folder(&[]);
    let disk = folder.path().join("full");
    std::fs::create_dir(&disk).unwrap();
    let mount = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=8k", "tmpfs"]).arg(&disk).output();
    if !mount.is_ok_and(|o| o.status.success()) {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    }
    std::fs::write(disk.join("filler"), vec![0; 8192]).unwrap();
    let line = refused(folder.path(), &["run", "smoke", "--dir", "full"]);
    let unmounted = std::process::Command::new("umount").arg(&disk).status();
    assert!(unmounted.is_ok_and(|s| s.success()));
    assert!(line.contains("full") && line.contains("free some space"), "{line}");
}

#[test]
fn usage_is_checked_by_the_parser() {
    let folder = folder(&[]);
    for arguments in [&["rn"][..], &["generate", "sqlite3perf", "x.db", "--rows", "many"], &["run", "--rounds"]] {
        let output = litelab(folder.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
