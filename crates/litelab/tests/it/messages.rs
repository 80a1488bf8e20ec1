//! Mistakes of users, and the error line for each.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::process::Command;

const STUDY: &str = r#"
name = "x"
title = "x"
[[scenario]]
name = "s"
workload = "w.toml"
role.w = { run = "put", count = 10 }
"#;

const WORKLOAD: &str = r#"
name = "w"
[schema]
sql = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)"
[transaction.put]
sql = "INSERT INTO t(v) VALUES (:v)"
param.v = { text = 5 }
"#;

/// Text of the study or workload, its replacement, and the resulting error line.
const MISTAKES: &[(&str, &str, &str)] = &[
    // In a study.
    (
        "role.w",
        "vary.pragma.synchronous = ['OFF', 'FULL']\nrole.w",
        "x.toml:7:6: `synchronous` is in a table here, where a value stands: a name with a dot is quoted, as in `vary.\"pragma.synchronous\"`",
    ),
    (
        "role.w",
        "vary.w.workers = [1, 2]\nrole.w",
        "x.toml:7:6: `workers` is in a table here, where a value stands: a name with a dot is quoted, as in `vary.\"ROLE.workers\"`",
    ),
    (
        "[[scenario]]",
        "[scenario]",
        "x.toml:4:1: there may be several of `scenario`: write [[scenario]] in place of [scenario]",
    ),
    (
        "role.w",
        "profile = { journal_mode = 'wal' }\nrole.w",
        "x.toml:7:11: `profile` takes a name or other text, and not a table; single settings are varied by `vary.\"pragma.NAME\"`, or make a profile file of them",
    ),
    (
        "role.w",
        "pragma.cache_size = 5\nrole.w",
        "x.toml:7:1: unknown key `pragma`: settings are those of a profile, or varied by `vary.\"pragma.NAME\"`",
    ),
    (
        "role.w",
        "prepare = 'each'\nrole.w",
        "x.toml:7:11: `prepare` takes true or false: true is once for all executions, false at each",
    ),
    ("role.w", "metrics = ['tps']\nrole.w", "x.toml: scenario `s`: unknown metric `tps`: it is `throughput` here"),
    ("role.w", "metrics = ['latency']\nrole.w", "x.toml: scenario `s`: unknown metric `latency`: it is `p50` here"),
    ("role.w", "metrics = ['p98']\nrole.w", "x.toml: scenario `s`: unknown metric `p98`: did you mean `p95`?"),
    (
        "role.w",
        "driver = 'node'\nrole.w",
        "s/only: `node` is a runner: name one of its drivers (better-sqlite3, sqlite3, node:sqlite, plainjob)",
    ),
    (
        "role.w",
        "driver = 'better-sqlite'\nrole.w",
        "s/only: unknown driver `better-sqlite`: did you mean `better-sqlite3`?",
    ),
    (
        "role.w",
        "driver = 'c'\nsharing = 'group-commit'\nrole.w",
        "s/only: driver `c` does not have sharing `group-commit` (it has own-connection, one-connection, pool, app-lock, writer-readers)",
    ),
    (
        "role.w",
        "sharing = 'pool(1000000000)'\nrole.w",
        "x.toml: scenario `s`: sharing `pool(1000000000)`: allowed is 1 to 1024 connections",
    ),
    (
        "role.w",
        "sharing = 'writer-readers(5000)'\nrole.w",
        "x.toml: scenario `s`: sharing `writer-readers(5000)`: allowed is 1 to 1024 connections",
    ),
    (
        "role.w = {",
        "databases = 1000\nrole.w = { workers = 100,",
        "x.toml: scenario `s`: 100000 workers in all (1000 databases, each with all roles): allowed are 4096",
    ),
    ("count = 10", "count = \"10kk\"", "x.toml: scenario `s`: role `w`: count: `10kk` is not a number"),
    ("title = \"x\"", "title = t", "x.toml:3:9: text stands in quotes: title = \"t\""),
    ("title = \"x\"", "title = hello world", "x.toml:3:9: text stands in quotes: title = \"hello world\""),
    ("title = \"x\"", "title = ['x']", "x.toml:3:9: `title` takes a name or other text, and not a list"),
    // In a workload.
    (
        "VALUES (:v)",
        "VALUES (?)",
        "x.toml: scenario `s`: workload `w`: transaction `put`: param `v` is used by no statement: SQL has it as `:v` (not `?`, `@v` or `$v`)",
    ),
    (
        "VALUES (:v)",
        "VALUES (@v)",
        "x.toml: scenario `s`: workload `w`: transaction `put`: param `v` is used by no statement: SQL has it as `:v` (not `?`, `@v` or `$v`)",
    ),
    (
        "(:v)\"\nparam.v = { text = 5 }",
        "(?)\"",
        "s/only: transaction `put`: SQLite counts 1 parameters and the workload gives 0; parameters are written :name",
    ),
    (
        "VALUES (:v)",
        "VALUES (:n)",
        "x.toml: scenario `s`: workload `w`: transaction `put`: `:n` has no value: add `param.n`, as in `param.n = { sequence = {} }`",
    ),
    (
        "VALUES (:v)",
        "VALUES (:vv)",
        "x.toml: scenario `s`: workload `w`: transaction `put`: `:vv` has no value: add `param.vv`, as in `param.vv = { sequence = {} }`",
    ),
    (
        "param.v",
        "param.':v'",
        "x.toml: scenario `s`: workload `w`: transaction `put`: param `:v`: its name is `v`, and only SQL has the colon, as in `:v`",
    ),
    (
        "param.v = { text = 5 }",
        "param.v = 5",
        "w.toml:7:11: `param.v` takes a word or a table; a constant is `param.v = { value = 5 }`",
    ),
    (
        "param.v = { text = 5 }",
        "param.v = 'nul'",
        "w.toml:7:11: unknown word `nul`: did you mean `null`? (known: value, null, choice, uniform, zipf, sequence, hex, text, sha256_of, now, worker, format, yielded)",
    ),
    (
        "{ text = 5 }",
        "{ choice = { a = 1, b = 2 } }",
        "w.toml:7:22: `choice` takes a list, as in `choice = [1, 2]`, and not a table",
    ),
    (
        "{ text = 5 }",
        "{ format = 'user{$data_rows + row}' }",
        "x.toml: scenario `s`: workload `w`: transaction `put`: param `v`: format: `{$data_rows + row}` is none of `{row}`, `{worker}`: it would be text",
    ),
    (
        "sql = \"INSERT INTO t(v) VALUES (:v)\"",
        "sql = [{ sql = 'INSERT INTO t(v) VALUES (:v) RETURNING id', required = true }]",
        "x.toml: scenario `s`: workload `w`: transaction `put`: `required` needs a row to be fetched: add `fetch = \"first\"` (and RETURNING, where it writes)",
    ),
    (
        "[schema]",
        "[data]\ntransaction = 'put'\nrows = '10 k'\n[schema]",
        "x.toml: scenario `s`: workload `w`: data.rows: `10 k`: unexpected `k`",
    ),
    (
        "[transaction.put]",
        "[transaction.put]\nrows = 100000",
        "x.toml: scenario `s`: workload `w`: transaction `put`: 100000 rows of 1 parameters are 100000: SQLite allows 32766 in one statement; at most 32766 rows fit, or use `repeat` in place of `rows`",
    ),
];

/// Exit code and both outputs of a dry run.
fn dry_run(study: &str, workload: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.toml"), study).unwrap();
    std::fs::write(folder.path().join("w.toml"), workload).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_litelab"))
        .args(["run", "x.toml", "--dry-run"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

#[test]
fn a_mistake_is_answered_with_its_remedy() {
    assert_eq!(dry_run(STUDY, WORKLOAD).0, Some(0), "without a mistake");
    for (from, to, wanted) in MISTAKES {
        let (study, workload) = (STUDY.replace(from, to), WORKLOAD.replace(from, to));
        assert!(study != STUDY || workload != WORKLOAD, "`{from}` is in neither");
        let (code, line) = dry_run(&study, &workload);
        assert_eq!((code, line.as_str()), (Some(2), format!("error: {wanted}\n").as_str()), "{to}");
    }
}

#[test]
fn a_number_may_be_written_as_it_is_printed() {
    for count in ["10k", "1.5M", "10_000"] {
        let study = STUDY.replace("count = 10", &format!("count = \"{count}\""));
        assert_eq!(dry_run(&study, WORKLOAD).0, Some(0), "{count}");
    }
    let folder = tempfile::tempdir().unwrap();
    let generated = Command::new(env!("CARGO_BIN_EXE_litelab"))
        .args(["generate", "sqlite3perf", "x.db", "--rows", "1k"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(String::from_utf8(generated.stdout).unwrap().starts_with("1000 rows in "));
}

/// Last line of standard error of a command that ends with code 2.
fn refused(folder: &std::path::Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_litelab")).args(arguments).current_dir(folder).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    text.lines().last().unwrap().to_owned()
}

#[test]
fn a_row_that_cannot_be_inserted_is_named_with_its_values() {
    let folder = tempfile::tempdir().unwrap();
    let data = "[data]\ntransaction = \"put\"\nrows = 3\n[schema]";
    let workload = WORKLOAD.replace("[schema]", data).replace("t(v) VALUES (:v)", "t(id, v) VALUES (:id, :v)");
    let workload =
        workload.replace("param.v = { text = 5 }", "param.v = { format = 'v{row}' }\nparam.id = { value = 7 }");
    std::fs::write(folder.path().join("x.toml"), STUDY).unwrap();
    std::fs::write(folder.path().join("w.toml"), workload).unwrap();
    let line = refused(folder.path(), &["run", "x.toml", "--no-calibration"]);
    assert_eq!(
        line,
        "error: data: transaction `put` cannot insert row 1: UNIQUE constraint failed: t.id \
         (SQLITE_CONSTRAINT_PRIMARYKEY) (:id = 7, :v = v1)"
    );
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.toml"), STUDY).unwrap();
    std::fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
    let run = ["run", "x.toml", "--no-calibration", "--rounds", "1", "-o", "r.db"];
    assert!(
        Command::new(env!("CARGO_BIN_EXE_litelab"))
            .args(run)
            .current_dir(folder.path())
            .output()
            .unwrap()
            .status
            .success()
    );
    let line = refused(folder.path(), &["report", "r.db", "-o", "nowhere/x.html"]);
    assert_eq!(line, "error: nowhere/x.html: it cannot be written: there is no folder nowhere");
}

#[test]
fn arguments_that_are_not_alike_are_not_suggested() {
    let folder = tempfile::tempdir().unwrap();
    let said = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_litelab")).args(arguments).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let driver = said(&["repeat", "--driver", "c", "r.db"]);
    assert!(driver.contains("'--driver'") && !driver.contains("similar"), "{driver}");
    assert!(said(&["run", "--ronds", "3"]).contains("'--rounds'"));
    assert!(said(&["generate", "sqlite3perf", "x.db", "--rows", "many"]).contains("such as 10000, 10_000 or 10k"));
}

/// The drivers of a runner are unknown until it is built.
#[test]
fn a_dry_run_says_which_drivers_it_could_not_check() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("litelab");
    std::fs::copy(env!("CARGO_BIN_EXE_litelab"), &program).unwrap();
    std::fs::write(folder.path().join("x.toml"), STUDY.replace("role.w", "driver = 'modernc'\nrole.w")).unwrap();
    std::fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
    // The copy is an installed program whose cache of runners is empty.
    let output = Command::new(program)
        .args(["run", "x.toml", "--dry-run"])
        .current_dir(folder.path())
        .env("XDG_CACHE_HOME", folder.path().join("cache"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    // Without a Go toolchain the variants are skipped instead.
    assert!(
        text == "note: runner `go` is not built yet: what its drivers have is not checked\n"
            || text.starts_with("skipped: ")
    );
}
