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
fn a_transaction_without_a_journal_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = Connection::open(folder.path().join("app.db")).unwrap();
    theirs.execute_batch("CREATE TABLE t(a INTEGER PRIMARY KEY, b); CREATE INDEX by_b ON t(b)").unwrap();
    // With a full cache, a part of it is in the file.
    let half = "PRAGMA journal_mode = MEMORY; PRAGMA cache_size = 1; BEGIN;
                INSERT INTO t(b) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                SELECT hex(randomblob(200)) FROM n";
    theirs.execute_batch(half).unwrap();
    let check = || json(folder.path(), &["app.db", "--check", "--fail-on", "never"], 0)["facts"].clone();
    let during = check();
    assert_eq!((&during["file"]["damage"], &during["file"]["checked"]), (&serde_json::json!([]), &Value::Bool(false)));
    assert!(during["schema"]["unread"].as_str().unwrap().contains("in use by a transaction"), "{during:#}");
    theirs.execute_batch("COMMIT").unwrap();
    assert_eq!(check()["file"]["checked"], true);
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
    assert_eq!(common::names(folder.path()), ["app.db", "q.sql"], "nothing is left beside it");
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
}

/// Rules of the error findings of a file.
fn errors(folder: &Path, name: &str) -> Vec<String> {
    let report = json(folder, &[name, "--fail-on", "never"], 0);
    let findings = report["findings"].as_array().unwrap().iter();
    findings.filter(|f| f["severity"] == "error").map(|f| f["rule"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_damaged_file_has_its_finding() {
    let folder = app();
    let whole = std::fs::read(folder.path().join("app.db")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("encrypted.db", &(0..9000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>());
    write("short.db", &whole[..50]);
    write("page.db", &[&whole[..16], &[3, 3], &whole[18..]].concat());
    write("cut.db", &whole[..whole.len() - 4096]);
    write("sparse.db", &whole);
    // A terabyte, of which no page is stored. A file system that has no such files says so.
    let sparse = std::fs::File::options().write(true).open(folder.path().join("sparse.db")).unwrap();
    if let Err(error) = sparse.set_len(1 << 40) {
        println!("skipped: a file of 1 TB: {error}");
    }
    for (name, found) in [
        ("encrypted.db", &["LL102"][..]),
        ("short.db", &["LL103"]),
        ("page.db", &["LL104"]),
        ("cut.db", &["LL105"]),
        ("sparse.db", &[]),
    ] {
        assert_eq!(errors(folder.path(), name), found, "{name}");
        let text = ends(folder.path(), &["doctor", name, "--fail-on", "never"], 0);
        assert_eq!(text.matches("error   LL").count(), found.len(), "{name}: {text}");
    }
}

#[test]
#[cfg(unix)]
fn an_unreadable_file_is_a_finding() {
    use std::os::unix::fs::PermissionsExt;
    let folder = app();
    let mode = |name: &str, mode| {
        std::fs::set_permissions(folder.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    mode("app.db", 0o000);
    let own = ["doctor", "app.db", "--fail-on", "never", "--only", "LL106"];
    // Root may read everything, so that another user examines it.
    let output = if std::fs::File::open(folder.path().join("app.db")).is_ok() {
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--clear-groups", env!("CARGO_BIN_EXE_litelab")]).args(own);
        other.current_dir(folder.path()).env("NO_COLOR", "1").output()
    } else {
        Ok(common::run(folder.path(), &own))
    };
    match output {
        Ok(output) if output.status.code() != Some(126) => {
            let text = common::ends(&output, 0);
            assert!(text.contains("error   LL106  app.db cannot be read by this user"), "{text}");
        }
        other => println!("skipped: this user reads every file, and no other one can run the command: {other:?}"),
    }
}

#[test]
fn a_file_may_vanish_during_the_look() {
    let folder = app();
    let path = folder.path().join("app.db");
    let whole = std::fs::read(&path).unwrap();
    let ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                std::fs::write(&path, &whole).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(3));
                std::fs::remove_file(&path).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        });
        for _ in 0..20 {
            let output = common::run(folder.path(), &["doctor", "app.db", "--fail-on", "never"]);
            let error = common::said(&output);
            match output.status.code() {
                Some(0) => assert_eq!(error, ""),
                Some(2) => assert!(error.lines().count() == 1 && error.contains("no such file"), "{error}"),
                other => panic!("{other:?}: {error}"),
            }
        }
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
    });
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
        ("[doctor]\nchecks = [['app.db', '--fail-on', 'never']]", "--fail-on holds for all checks: give it to"),
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
        let versions = ["--ignore", "LL050", "--ignore", "LL051", "--ignore", "LL057", "--fail-on", "never"];
        let report = json(folder.path(), &[&["--driver", driver, "--dsn", dsn][..], &wal, more, &versions].concat(), 0);
        let alarms: Vec<&Value> =
            report["findings"].as_array().unwrap().iter().filter(|finding| finding["severity"] != "note").collect();
        assert!(alarms.is_empty(), "{driver}: {alarms:#?}");
    }
}

/// Whether a driver's runner is built; prints the reason of a skip.
fn is_built(folder: &Path, driver: &str) -> bool {
    let built = common::run(folder, &["defaults", driver, "--markdown"]).status.success();
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

/// Configurations as programs publish them: where, the driver, the DSN, more arguments, and the rules that find its slips,
/// each separated by blanks.
const PUBLISHED: &[[&str; 5]] = &[
    // PrismQ's profiles are what they say; two of them can lose the last commits.
    [
        "PrismQ, conservative",
        "python:sqlite3",
        "queue.db",
        "--pragma journal_mode=WAL --pragma synchronous=FULL --pragma busy_timeout=10000 --pragma wal_autocheckpoint=500 \
         --pragma cache_size=-2000",
        "",
    ],
    [
        "PrismQ, balanced",
        "python:sqlite3",
        "queue.db",
        "--pragma journal_mode=WAL --pragma synchronous=NORMAL --pragma busy_timeout=5000 --pragma wal_autocheckpoint=1000 \
         --pragma cache_size=-20000 --pragma temp_store=MEMORY",
        "LL022",
    ],
    [
        "PrismQ, aggressive",
        "python:sqlite3",
        "queue.db",
        "--pragma journal_mode=WAL --pragma synchronous=NORMAL --pragma busy_timeout=2000 --pragma wal_autocheckpoint=5000 \
         --pragma cache_size=-20000 --pragma mmap_size=134217728",
        "LL022",
    ],
    // duroxide: `WAL` is no value of synchronous and means NORMAL, and each transaction reads before it writes.
    [
        "duroxide, file",
        "sqlx",
        "sqlite:app.db?mode=rwc",
        "--connections 5 --pragma journal_mode=WAL --pragma synchronous=WAL --pragma wal_autocheckpoint=10000 \
         --pragma cache_size=-64000 --pragma busy_timeout=60000 --pragma foreign_keys=ON",
        "LL003 LL009 LL022 LL078",
    ],
    [
        "duroxide, file, on rusqlite",
        "rusqlite",
        "app.db",
        "--connections 5 --pragma journal_mode=WAL --pragma synchronous=WAL --pragma busy_timeout=60000",
        "LL003 LL009 LL022 LL078",
    ],
    [
        "duroxide, memory",
        "rusqlite",
        "file::memory:?cache=shared",
        "--connections 5 --pragma journal_mode=MEMORY --pragma synchronous=OFF",
        "LL005 LL087",
    ],
    // sqlite3perf: without `file:` its database in memory is a file, `sync` is no key, and `_sync=0` is its default.
    ["sqlite3perf, default", "mattn", "db_24_10_10.db?_journal=wal&_sync=0", "--connections 1", "LL019 LL066"],
    ["sqlite3perf, 100 writers", "mattn", "db.db?_journal=wal&_sync=0", "--connections 64", "LL012 LL014 LL019"],
    ["sqlite3perf, memory", "mattn", "a.db?_sync=0&mode=memory&cache=shared", "", "LL019 LL065 LL086"],
    ["sqlite3perf, bench.sh", "mattn", "a.db?_journal=wal&mode=memory&sync=0", "", "LL071 LL086"],
    ["sqlite3perf --driver sqlite", "modernc", "a.db?_journal=wal&_sync=0", "", "LL006 LL012 LL019"],
    // node-sqlite3's single connection; later versions open a file as immutable.
    ["node-sqlite3", "node:sqlite3", ":memory:", "--connections 1", "LL005 LL051 LL061"],
    ["node-sqlite3, a file", "c", "file:app.db?immutable=1", "--connections 1", "LL088"],
    // The tokio example: one connection behind a mutex, in memory or on a file as it comes.
    ["tokio, in memory", "rusqlite", ":memory:", "--connections 1", "LL005"],
    ["tokio, a file", "rusqlite", "storage.db", "--connections 1", "LL066"],
    ["tokio, a file for each reader", "rusqlite", "storage.db", "--connections 4", "LL003 LL065"],
    // Others.
    [
        "apalis-sqlite, setup",
        "rusqlite",
        "app.db",
        "--connections 10 --pragma journal_mode=WAL --pragma synchronous=OFF --pragma temp_store=2 --pragma cache_size=64000",
        "LL019",
    ],
    [
        "Pelican, keys of two drivers",
        "ncruces",
        "file:app.db?_busy_timeout=5000&_pragma=journal_mode(WAL)",
        "",
        "LL006 LL072",
    ],
    [
        "syncthing, a PRAGMA that SQLite does not have",
        "modernc",
        "file:app.db?_pragma=journal_mode(WAL)&_pragma=default_temp_store(MEMORY)",
        "",
        "LL074",
    ],
    ["pusk, keys of mattn", "modernc", "a.db?_jounal_mode=WAL&_timeout=5000", "", "LL071"],
    ["mattn as it comes", "mattn", "file:app.db?_pragma=busy_timeout(10000)", "", "LL065 LL072"],
    ["better-sqlite3's option for node:sqlite", "node:sqlite", "app.db", "--option fileMustExist=true", "LL006 LL072"],
    ["seconds for milliseconds", "python:sqlite3", "app.db", "--option timeout=5000", "LL010"],
];

/// A driver whose runner is not built is skipped.
#[test]
fn slips_in_published_configurations_are_found() {
    let folder = tempfile::tempdir().unwrap();
    for [by, driver, dsn, more, slips] in PUBLISHED {
        if !is_built(folder.path(), driver) {
            continue;
        }
        let mut command = vec!["--driver", driver, "--dsn", dsn, "--fail-on", "never"];
        command.extend(more.split_whitespace());
        let report = json(folder.path(), &command, 0);
        let found = rules(&report);
        for slip in slips.split_whitespace() {
            assert!(found.contains(&slip), "{by}: {slip} is not among {found:?}");
        }
        // The SQLite of the machine's Python may have defects.
        let versions = ["LL048", "LL050", "LL057", "LL058"];
        if slips.is_empty() {
            assert!(found.iter().all(|rule| versions.contains(rule)), "{by}: {found:?}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a driver opens the stand-in only");
}

/// sqlite3perf's table, and a claim of PrismQ: slips in a schema and in statements.
#[test]
fn slips_in_published_schemas_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "CREATE TABLE bench(ID int PRIMARY KEY, rand varchar(100), hash varchar(100));
               WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
               INSERT INTO bench SELECT i, i, i FROM n";
    Connection::open(folder.path().join("perf.db")).unwrap().execute_batch(sql).unwrap();
    let statements = "SELECT * FROM bench LIMIT 10 OFFSET 850001;\nPRAGMA synchronous = WAL;\nPRAGMA wal_checkpoint(TRUNCAT);\n\
                      SELECT ID FROM bench WHERE hash = 'x';\nPRAGMA auto_vacuum = INCREMENTAL;\nPRAGMA jurnal_mode";
    std::fs::write(folder.path().join("perf.sql"), statements).unwrap();
    let report = json(folder.path(), &["perf.db", "--sql", "perf.sql", "--fail-on", "never"], 0);
    let found = rules(&report);
    for slip in ["LL207", "LL401", "LL408", "LL415", "LL416", "LL419", "LL428"] {
        assert!(found.contains(&slip), "{slip} is not among {found:?}");
    }
}
