//! From a study file to a table, with the built-in runner.

use std::path::Path;
use std::process::{Output, Stdio};

use crate::common::{ends, litelab, names, refused, rounds, run, said};

fn ok(output: &Output) -> String {
    ends(output, 0)
}

#[test]
fn smoke_runs_and_is_shown_exported_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let told = run(
        dir,
        &["run", "smoke", "--rounds", "6", "-o", "one.db", "--only", "sharing,processes,open,memory", "--all"],
    );
    let table = ok(&told);
    for part in ["── sharing", "writer-readers(2)", "── memory", "in memory", "[", "run file  one.db"] {
        assert!(table.contains(part), "`{part}` is not in:\n{table}");
    }
    let plan = said(&told);
    assert!(
        plan.contains("9 variants × 6 rounds") && plan.contains("seed 1") && plan.contains("round 6/6 stored"),
        "{plan}"
    );

    // `show` prints the same table, and without `--all` its answer.
    assert_eq!(ok(&run(dir, &["show", "one.db", "--all"])), table);
    let answer = ok(&run(dir, &["show", "one.db"]));
    assert!(answer.contains("1 writer + 2 readers") && answer.contains("── Answer"), "{answer}");
    assert!(answer.lines().count() < table.lines().count(), "{answer}");
    let json: serde_json::Value = serde_json::from_str(&ok(&run(dir, &["export", "one.db"]))).unwrap();
    assert!(json.is_object());
    let csv = ok(&run(dir, &["export", "one.db", "--format", "csv"]));
    let series = ok(&run(dir, &["export", "one.db", "--format", "series"]));
    assert!(series.lines().count() > 54 && series.contains(",wal_bytes,"), "some samples of each trial:\n{series}");
    // A reader that closes the pipe after one line causes no error.
    let mut child = litelab(dir, &["export", "one.db", "--format", "series"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let closed = child.wait_with_output().unwrap();
    assert_eq!((closed.status.code(), closed.stderr.len()), (Some(0), 0), "{closed:?}");
    assert!(csv.lines().count() > 54, "a row for each trial, role and transaction:\n{csv}");
    assert!(ok(&run(dir, &["export", "one.db", "--format", "markdown"])).contains("| sharing"));

    // A run compared with itself shows no difference, and every ratio has an interval.
    let same = ok(&run(dir, &["compare", "one.db", "one.db", "--fail"]));
    for line in same.lines().filter(|l| l.contains("× ")) {
        assert!(line.contains("× ["), "{line}");
    }
    let variants = ok(&run(
        dir,
        &["compare", "one.db", "--base", "sharing/sharing=one-connection", "--head", "sharing/sharing=own-connection"],
    ));
    assert!(variants.contains("sharing=own-connection"), "{variants}");
    tables(dir);
    assert!(!dir.join("litelab-runs").read_dir().unwrap().any(|_| true), "scratch is removed");
}

/// Tables by dimension, and the errors for unknown names.
fn tables(dir: &Path) {
    let columns = [
        "show",
        "one.db",
        "--columns",
        "sharing",
        "--filter",
        "sharing=one-connection,own-connection",
        "--metric",
        "p99",
    ];
    let table = ok(&run(dir, &columns));
    for part in [
        "── p99 in ",
        " sharing by sharing",
        "ratio to sharing=one-connection in the same round",
        "own-connection",
        "± the farther",
    ] {
        assert!(table.contains(part), "`{part}` is not in:\n{table}");
    }
    assert!(!table.contains("writer-readers(2)"), "{table}");
    let markdown = ["export", "one.db", "--format", "markdown", "--columns", "sharing", "-o", "table.md"];
    ok(&run(dir, &markdown));
    assert!(std::fs::read_to_string(dir.join("table.md")).unwrap().contains("| one-connection | ratio |"));
    for (arguments, words) in [
        (&["show", "one.db", "--filter", "sharing=one-conection"][..], "did you mean `one-connection`? (known: "),
        (&["export", "one.db", "--columns", "sharing"], "--format markdown"),
        (&["export", "one.db", "--format", "markdown", "--columns", "x", "-o", "table.md"], "unknown dimension `x`"),
    ] {
        let line = refused(dir, arguments);
        assert!(line.contains(words), "{line}");
    }
    assert!(dir.join("table.md").metadata().unwrap().len() > 0, "what was there stays");
}

#[test]
fn a_run_that_is_killed_is_valid_and_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let arguments = ["run", "smoke", "--rounds", "8", "-o", "k.db", "--only", "sharing", "--no-calibration"];
    let mut child = litelab(dir, &arguments).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    rounds(&dir.join("k.db"), 2);
    // SIGKILL: litelab gets no chance to clean up.
    child.kill().unwrap();
    child.wait().unwrap();
    let shown = ok(&run(dir, &["show", "k.db", "--all"]));
    assert!(shown.contains(" of 8"), "{shown}");
    let resumed = ok(&run(dir, &["run", "--resume", "k.db", "--all"]));
    assert!(resumed.contains("8 of 8"), "{resumed}");
    assert!(refused(dir, &["run", "--resume", "k.db"]).contains("nothing is left to do"));
}

#[test]
fn a_dry_run_says_what_would_be_run_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let plan = ok(&run(folder.path(), &["run", "sqlite3perf", "--quick", "--dry-run"]));
    assert!(plan.contains("variants ×") && plan.contains("paging"), "{plan}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_study_is_put_on_other_drivers() {
    let folder = tempfile::tempdir().unwrap();
    let drivers = ["--driver", "async-sqlite", "--driver", "rusqlite:rusqlite"];
    let told = run(
        folder.path(),
        &[&["run", "smoke", "--rounds", "1", "--no-calibration", "--only", "sharing,processes", "--all"][..], &drivers]
            .concat(),
    );
    let table = ok(&told);
    let (_, sharing) = table.split_once("── sharing").unwrap();
    let (sharing, processes) = sharing.split_once("── processes").unwrap();
    // A variant has a row in each part of a table that is too wide for one.
    for driver in ["async-sqlite", "rusqlite:rusqlite"] {
        for value in ["own-connection", "one-connection", "pool(2)", "app-lock", "writer-readers(2)"] {
            let mut rows = sharing.lines().map(|line| line.split_whitespace());
            assert!(rows.any(|mut row| row.next() == Some(driver) && row.next() == Some(value)), "{table}");
        }
    }
    assert!(processes.contains("rusqlite:rusqlite"), "{table}");
    // The study requires processes; async-sqlite has only threads.
    let told = said(&told);
    assert!(told.contains("driver `async-sqlite` does not have executor `processes`"), "{told}");
}

#[test]
fn the_look_and_the_self_check_say_what_they_found() {
    let folder = tempfile::tempdir().unwrap();
    let look = ok(&run(folder.path(), &[]));
    assert_eq!(look.matches("commits/s").count(), 3, "{look}");
    assert!(look.contains("litelab run "), "{look}");
    let check = ok(&run(folder.path(), &["self-check"]));
    assert_eq!(check.lines().filter(|line| line.starts_with("ok ")).count(), 4, "{check}");
    assert_eq!(names(folder.path()), ["litelab-runs"], "a folder of the self-check is left behind");
}

#[test]
fn large_databases_are_made_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let schema = ["--batch", "700", "--schema", "integer"];
    ok(&run(dir, &[&["generate", "sqlite3perf", "b.db", "--rows", "5000"], &schema[..]].concat()));
    assert!(ok(&run(dir, &["verify", "b.db", "--threads", "2"])).contains("5000 rows"));
    rusqlite::Connection::open(dir.join("b.db"))
        .unwrap()
        .execute_batch("UPDATE bench SET hash = 'x' WHERE ID = 77")
        .unwrap();
    let wrong = run(dir, &["verify", "b.db"]);
    ends(&wrong, 3);
    assert!(said(&wrong).contains("77"));
    assert!(ok(&run(dir, &["pragma", "b.db", "journal_mode"])).contains("= wal"));
    // SQLite's own defaults, not those of the driver that reads them.
    let shown = ok(&run(dir, &["pragma", "b.db"]));
    let value = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}: {shown}"));
        line.split_whitespace().nth(2).unwrap_or_default().to_owned()
    };
    assert_eq!([value("busy_timeout"), value("foreign_keys"), value("synchronous")], ["0", "off", "full"], "{shown}");
    let of = |name: &str, of: &str| shown.lines().any(|line| line.starts_with(name) && line.contains(of));
    assert!(of("journal_mode", " file ") && of("busy_timeout", " connection "), "{shown}");
    assert!(
        shown.ends_with("a driver may set others: rusqlite sets busy_timeout = 5000, foreign_keys = on\n"),
        "{shown}"
    );
    assert!(!ok(&run(dir, &["pragma", "b.db", "page_size"])).contains("rusqlite"));
}
