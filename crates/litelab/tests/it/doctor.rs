//! `litelab doctor` and `litelab defaults`.

use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{self, refused};

/// A folder with a database `app.db` in WAL mode.
fn app() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let connection = Connection::open(folder.path().join("app.db")).unwrap();
    let sql = "PRAGMA journal_mode = WAL; CREATE TABLE t(a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)";
    connection.execute_batch(sql).unwrap();
    folder
}

/// Standard output of a command that must end with `code`.
fn ends(folder: &Path, arguments: &[&str], code: i32) -> String {
    common::ends(&common::run(folder, arguments), code)
}

fn json(folder: &Path, arguments: &[&str], code: i32) -> Value {
    let output = ends(folder, &[&["doctor"], arguments, &["--format", "json"]].concat(), code);
    serde_json::from_str(&output).unwrap()
}

fn rules(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

#[test]
fn a_setting_that_is_not_in_effect_is_an_error_and_changes_the_exit_code() {
    let folder = app();
    let own = ["app.db", "--driver", "c", "--dsn", "app.db"];
    let report = json(folder.path(), &own, 3);
    assert!(rules(&report).contains(&"LL006"), "a timeout of 0 ms: {report:#}");
    assert_eq!(report["facts"]["app"]["settings"]["journal_mode"], "wal");
    // SQLite takes a query without `file:` as a part of the name.
    let query = json(folder.path(), &["app.db", "--driver", "rusqlite", "--dsn", "app.db?mode=ro"], 3);
    assert_eq!(query["facts"]["app"]["created"], serde_json::json!(["app.db?mode=ro"]), "{query:#}");
    assert_eq!(
        json(folder.path(), &[&own[..], &["--ignore", "LL006"]].concat(), 0)["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["severity"] == "error")
            .count(),
        0
    );
    assert_eq!(rules(&json(folder.path(), &[&own[..], &["--only", "LL006"]].concat(), 3)), ["LL006"]);
    json(folder.path(), &[&own[..], &["--fail-on", "never"]].concat(), 0);
}

#[test]
fn a_look_changes_no_file_and_leaves_none() {
    let folder = app();
    std::fs::write(folder.path().join("q.sql"), "SELECT a FROM t WHERE a = 1;\nPRAGMA synchronous = WAL;").unwrap();
    let theirs = Connection::open(folder.path().join("app.db")).unwrap();
    theirs.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)").unwrap();
    // Hashed by another process: closing a descriptor of the database here would drop the locks of this one.
    let files = || {
        let output = Command::new("sh").args(["-c", "sha256sum *"]).current_dir(folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let before = files();
    let report = json(folder.path(), &["app.db", "--check", "--sql", "q.sql", "--fail-on", "never"], 0);
    assert_eq!(files(), before);
    assert_eq!(before.lines().count(), 4, "database, log, wal-index and statements");
    assert_eq!(report["facts"]["statements"][1]["pragma"], serde_json::json!(["synchronous", "WAL"]));
    let locks = |report: &Value| report["facts"]["processes"][0]["locks"].to_string();
    if cfg!(target_os = "linux") {
        assert!(locks(&report).contains("write"), "{report:#}");
        assert_eq!(report["facts"]["processes"][0]["pid"], std::process::id());
    }
    theirs.execute_batch("COMMIT").unwrap();
}

#[test]
fn an_index_is_tried_on_a_copy() {
    let folder = app();
    let path = folder.path().join("app.db");
    let sql = "CREATE TABLE note(id INTEGER PRIMARY KEY, user_id INT, text TEXT);
               WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
               INSERT INTO note(user_id, text) SELECT i % 500, hex(i) FROM n";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    std::fs::write(folder.path().join("q.sql"), "DELETE FROM note WHERE user_id = ?").unwrap();
    let before = std::fs::read(&path).unwrap();
    let report = json(folder.path(), &["app.db", "--sql", "q.sql", "--advise", "--only", "LL433"], 0);
    let fix = report["findings"][0]["fix"].as_str().unwrap();
    assert!(fix.starts_with("`CREATE INDEX note_by_user_id ON note(user_id)`"), "{report:#}");
    assert!(std::fs::read(&path).unwrap() == before, "the database is as it was");
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["app.db", "q.sql"], "nothing is left beside it");
}

#[test]
fn formats() {
    let folder = app();
    let arguments = ["doctor", "app.db", "--driver", "c", "--dsn", "app.db"];
    let text = ends(folder.path(), &arguments, 3);
    assert!(text.starts_with("app.db: ") && text.contains("error   LL006  ") && text.contains("fix: "), "{text}");
    let sarif: Value =
        serde_json::from_str(&ends(folder.path(), &[&arguments[..], &["--format", "sarif"]].concat(), 3)).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let result = &sarif["runs"][0]["results"][0];
    let rule = &sarif["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
    assert_eq!((&rule["id"], &result["level"]), (&result["ruleId"], &"error".into()), "{sarif:#}");
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "app.db");
    let github = ends(folder.path(), &[&arguments[..], &["--format", "github"]].concat(), 3);
    assert!(github.starts_with("::error file=app.db,title=LL006::"), "{github}");
    let explained = ends(folder.path(), &["doctor", "--explain", "ll006"], 0);
    assert!(explained.starts_with("LL006 error"), "{explained}");
}

#[test]
fn what_cannot_be_examined_is_one_line() {
    let folder = app();
    for (arguments, words) in [
        (&["doctor", "none.db"][..], "none.db: no such file"),
        (&["doctor", "."], "a folder"),
        (&["doctor", "/dev/null"], "no regular file"),
        (&["doctor"], "name a database, or a driver"),
        (&["doctor", "app.db", "--driver", "rusqlit"], "rusqlite"),
        (&["doctor", "app.db", "--only", "LL999"], "unknown rule"),
        (&["doctor", "app.db", "--driver", "c", "--option", "timeout"], "write NAME=VALUE"),
        (&["doctor", "app.db", "--sql", "none.sql"], "none.sql"),
    ] {
        let line = refused(folder.path(), arguments);
        assert!(line.contains(words), "{arguments:?}: {line}");
    }
    // A file that is no database is a finding, in one line too.
    std::fs::write(folder.path().join("x.db"), [7; 5000]).unwrap();
    let report = json(folder.path(), &["x.db"], 3);
    assert_eq!(report["facts"]["file"]["state"], "foreign");
}

#[test]
fn a_project_lists_its_checks() {
    let folder = app();
    let list = |text: &str| std::fs::write(folder.path().join("litelab.toml"), text).unwrap();
    list("[doctor]\nchecks = [['app.db'], ['--driver', 'c', '--dsn', 'app.db']]");
    let text = ends(folder.path(), &["doctor"], 3);
    assert!(text.starts_with("litelab doctor app.db\napp.db: ") && text.contains("LL006"), "{text}");
    ends(folder.path(), &["doctor", "--ignore", "LL006"], 0);
    for (wrong, words) in [
        ("[doctor]\nchecks = []", "litelab.toml: it lists no check"),
        ("[doctor]\nchecks = [['--driver']]", "litelab.toml: [--driver]: "),
        ("[doctor]\nchecks = [['--check']]", "litelab.toml: [--check]: "),
        ("doctor = 1", "litelab.toml: "),
    ] {
        list(wrong);
        let line = refused(folder.path(), &["doctor"]);
        assert!(line.contains(words), "{wrong}: {line}");
    }
}

/// Well-configured applications have notes at most. Versions of SQLite are those of the machine.
#[test]
fn no_false_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let go = "_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)";
    let modernc = format!("file:app.db?{go}&_pragma=foreign_keys(1)");
    let ncruces = format!("file:app.db?{go}&_pragma=synchronous(FULL)");
    let wal = ["--pragma", "journal_mode=WAL"];
    let wait = ["--pragma", "busy_timeout=5000", "--pragma", "foreign_keys=1"];
    for (driver, dsn, more) in [
        ("mattn", "file:app.db?_txlock=immediate&_journal=WAL&_timeout=5000&_fk=1&_sync=FULL", &[][..]),
        ("modernc", &modernc, &[]),
        ("ncruces", &ncruces, &[]),
        ("python:sqlite3", "app.db", &["--option", "timeout=5", "--option", "isolation_level=IMMEDIATE"]),
        ("apsw", "app.db", &wait),
        ("better-sqlite3", "app.db", &[]),
        ("node:sqlite", "app.db", &["--option", "timeout=5000"]),
        ("rusqlite", "app.db", &[]),
        ("sqlx", "sqlite://app.db?mode=rwc", &[]),
        ("tokio-rusqlite", "app.db", &[]),
    ] {
        if !is_built(folder.path(), driver) {
            continue;
        }
        let versions = ["--ignore", "LL050", "--ignore", "LL051", "--fail-on", "never"];
        let report = json(folder.path(), &[&["--driver", driver, "--dsn", dsn][..], &wal, more, &versions].concat(), 0);
        let alarms: Vec<&Value> =
            report["findings"].as_array().unwrap().iter().filter(|finding| finding["severity"] != "note").collect();
        assert!(alarms.is_empty(), "{driver}: {alarms:#?}");
    }
}

/// Whether a driver's runner is built; prints the reason of a skip.
fn is_built(folder: &Path, driver: &str) -> bool {
    let built = ends(folder, &["defaults", driver, "--markdown"], 0).lines().count() > 2;
    if !built {
        println!("skipped: the runner of {driver} is not built");
    }
    built
}

#[test]
fn defaults_of_the_built_in_drivers() {
    let folder = tempfile::tempdir().unwrap();
    let text = ends(folder.path(), &["defaults", "rusqlite", "c", "--markdown"], 0);
    let row = |name: &str| text.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap().to_owned();
    assert!(
        row("rusqlite").contains("| 5000 | full | full | on | fails at once | part of the file's name |"),
        "{text}"
    );
    assert!(row("c").contains("| 0 | full | full |"), "{text}");
}

/// Configurations as programs publish them, and the slips in each. A driver whose runner is not built is skipped.
#[test]
fn slips_in_published_configurations_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let published: &[(&str, &[&str], &[&str])] = &[
        // A task queue in Python; its settings are those it asks for.
        (
            "python:sqlite3",
            &[
                "--pragma",
                "journal_mode=WAL",
                "--pragma",
                "synchronous=NORMAL",
                "--pragma",
                "busy_timeout=5000",
                "--pragma",
                "wal_autocheckpoint=1000",
                "--pragma",
                "cache_size=-20000",
                "--pragma",
                "foreign_keys=ON",
            ],
            &["LL022"],
        ),
        // Durable orchestration on sqlx: `WAL` is no value of `synchronous`.
        ("sqlx", &["--dsn", "sqlite:app.db?mode=rwc", "--pragma", "synchronous=WAL"], &["LL078"]),
        // A benchmark in Go: without `file:` a database in memory is one on disk, and `sync` is no key of the driver.
        ("mattn", &["--dsn", "a.db?_sync=0&mode=memory&cache=shared"], &["LL019", "LL086"]),
        ("mattn", &["--dsn", "a.db?_journal=wal&mode=memory&sync=0"], &["LL071", "LL086"]),
        // The same names for another driver, and those of another driver for this one.
        ("modernc", &["--dsn", "a.db?_journal=wal&_timeout=5000"], &["LL012"]),
        ("mattn", &["--dsn", "a.db?_pragma=busy_timeout(10000)"], &["LL072"]),
        // Options of one module of Node handed to another.
        ("node:sqlite", &["--dsn", "app.db", "--option", "fileMustExist=true"], &["LL006", "LL072"]),
    ];
    for (driver, arguments, expected) in published {
        if !is_built(folder.path(), driver) {
            continue;
        }
        let mut command = vec!["--driver", driver, "--fail-on", "never"];
        command.extend(*arguments);
        if !arguments.contains(&"--dsn") {
            command.extend(["--dsn", "app.db"]);
        }
        let report = json(folder.path(), &command, 0);
        let found = rules(&report);
        for rule in *expected {
            assert!(found.contains(rule), "{driver} {arguments:?}: {found:?}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a driver opens the stand-in only");
}
