//! Mistakes of users, and the error line for each.

use std::process::Command;

use crate::common::{both, ends, folder, installed, refused, run, said};
use crate::format_2;

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
    ("role.w", "metrics = ['p98']\nrole.w", "x.toml: scenario `s`: unknown metric `p98`: did you mean `p95`?"),
    (
        "role.w",
        "driver = 'node'\nrole.w",
        "s/only: `node` is a runner: name one of its drivers (better-sqlite3, sqlite3, node:sqlite, plainjob)",
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
        "role.w = {",
        "databases = 1000\nrole.w = { workers = 100,",
        "x.toml: scenario `s`: 100000 workers in all (1000 databases, each with all roles): allowed are 4096",
    ),
    ("count = 10", "count = \"10kk\"", "x.toml: scenario `s`: role `w`: count: `10kk` is not a number"),
    ("title = \"x\"", "title = t", "x.toml:3:9: text stands in quotes: title = \"t\""),
    ("title = \"x\"", "title = hello world", "x.toml:3:9: text stands in quotes: title = \"hello world\""),
    ("title = \"x\"", "title = ['x']", "x.toml:3:9: `title` takes a name or other text, and not a list"),
    (
        "run = \"put\"",
        "run = \"putt\"",
        "x.toml: scenario `s`: role `w`: unknown transaction `putt`: did you mean `put`?",
    ),
    (
        "count = 10",
        "cuont = 10",
        "x.toml:7:25: unknown key `cuont`: did you mean `count`? (known: workers, run, mix, count, for, until, think, rate, arrivals)",
    ),
    // In a workload.
    (
        "VALUES (:v)",
        "VALEUS (:v)",
        "s/only: transaction `put`: near \"VALEUS\": syntax error at character 18 (…INSERT INTO t(v) ⟨here⟩VALEUS (?1)…)",
    ),
    (
        "VALUES (:v)",
        "VALUES (?)",
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
        "sql = \"INSERT INTO t(v) VALUES (:v)\"",
        "sql = [{ sql = 'INSERT INTO t(v) VALUES (:v) RETURNING id', required = true }]",
        "x.toml: scenario `s`: workload `w`: transaction `put`: `required` needs a row to be fetched: add `fetch = \"first\"` (and RETURNING, where it writes)",
    ),
    (
        "[schema]",
        "[data]\ntransaction = 'put'\nrows = '10 k'\n[schema]",
        "x.toml: scenario `s`: workload `w`: data.rows: `10 k`: unexpected `k`",
    ),
];

/// Arguments, exit code, and what the answer has to contain, or not to contain after a `!`. The folder has `old.db` (a
/// run file), `app.db` (a database), `x.db` (another file), `x.toml` and `w.toml`.
const TYPED: &[(&str, i32, &[&str])] = &[
    // Names.
    ("run frist-look", 2, &["frist-look: no built-in study has this name: did you mean `first-look`?", "!?;"]),
    ("run xyz", 2, &["xyz: no built-in study has this name: there are ", "named by its path, ending in .toml"]),
    ("run python", 2, &["this is a runner", "`litelab run first-look --driver python:sqlite3`", "!no built-in"]),
    ("run modernc", 2, &["this is a driver", "`litelab run first-look --driver modernc`"]),
    ("run old.db", 2, &["this is a run file", "`litelab show old.db`", "`litelab repeat old.db`"]),
    ("run app.db", 2, &["this is no study", "[data] from = \"app.db\""]),
    ("run no.toml", 2, &["no.toml: cannot read the study"]),
    ("run smoke --only sharng", 2, &["did you mean `sharing`?"]),
    ("run smoke --set prelaod=1", 2, &["did you mean `preload`?"]),
    ("run smoke --set rows=10", 2, &["unknown variable `rows` (known: "]),
    ("run smoke --driver node --dry-run", 2, &["`node` is a runner: name one of its drivers (better-sqlite3, "]),
    ("run smoke --driver better-sqlite --dry-run", 2, &["driver `better-sqlite`: did you mean `better-sqlite3`?"]),
    ("run smoke --driver sqlite3 --dry-run", 2, &["write node:sqlite3 or python:sqlite3"]),
    ("run smoke --driver node:sqlite --dry-run", 0, &["smoke: "]),
    ("studies frist-look", 2, &["did you mean `first-look`?"]),
    ("profiles wal-ful", 2, &["did you mean `wal-full`?"]),
    ("runners build pyton", 2, &["unknown runner `pyton`: did you mean `python`?"]),
    ("runners check pyton", 2, &["unknown runner `pyton`: did you mean `python`?"]),
    ("generate sqlite3prf y.db", 2, &["did you mean `sqlite3perf`"]),
    ("generate sqlite3perf y.db --rows 9 --schema integr", 2, &["did you mean `integer`"]),
    ("generate sqlite3perf y.db --rows 9 --set bach=3", 2, &["did you mean `batch`"]),
    ("generate sqlite3perf y.db --rows 9 --profile postgres-durable", 2, &["choose one of SQLite"]),
    ("pragma app.db jornal_mode", 2, &["unknown PRAGMA `jornal_mode`: did you mean `journal_mode`?"]),
    // Commands and options.
    ("rn", 2, &["unknown command `rn`: did you mean `run`?"]),
    ("first-look", 2, &["unknown command `first-look`: a study is run by `litelab run first-look`"]),
    ("my-study.toml", 2, &["`litelab run my-study.toml`"]),
    ("old.db", 2, &["`litelab show old.db`"]),
    ("runners chek", 2, &["unknown command `chek`: did you mean `check`?"]),
    ("run --quiet", 2, &["unexpected argument `--quiet`", "2>/dev/null", "!--quick"]),
    ("run --ronds 3", 2, &["unexpected argument `--ronds`: did you mean `--rounds`?"]),
    ("repeat --driver c old.db", 2, &["unexpected argument `--driver`: see `litelab repeat --help`"]),
    ("--rounds 3", 2, &["unexpected argument `--rounds`: `run --rounds` has it"]),
    ("-q", 2, &["unexpected argument `-q`: see `litelab --help`"]),
    ("compare old.db", 2, &["required", "HEAD", "; see `litelab compare --help`"]),
    ("export old.db --format jsn", 2, &["possible values: json", "a similar value exists: 'json'"]),
    // Numbers.
    ("run --rounds", 2, &["'--rounds <N>'"]),
    ("run --rounds -3", 2, &["'-3'", "allowed is 1 to 10000"]),
    ("run --rounds 0", 2, &["allowed is 1 to 10000"]),
    ("run --rounds 1k --dry-run", 0, &["1000 rounds"]),
    ("run --seed -1", 2, &["allowed is 0 to "]),
    ("verify app.db --threads -1", 2, &["allowed is 1 to 4096"]),
    ("generate sqlite3perf y.db --rows many", 2, &["write a number, such as 10000, 10_000 or 10k"]),
    ("generate sqlite3perf k.db --rows 1k", 0, &["1000 rows in "]),
    // Files.
    ("run smoke -o old.db", 2, &["old.db: this file exists", "--resume"]),
    ("run smoke -o x.db", 2, &["x.db: this file exists"]),
    ("run smoke --dir /proc/litelab", 2, &["/proc/litelab"]),
    ("run smoke --dir x.db/below", 2, &["x.db/below"]),
    ("run --resume app.db", 2, &["app.db: this database is no litelab run"]),
    ("show", 2, &["litelab-runs: no runs here", "litelab run"]),
    ("show no.db", 2, &["no.db: no such file"]),
    ("show x.db", 2, &["x.db: this file is no database"]),
    ("show app.db", 2, &["app.db: this database is no litelab run"]),
    ("compare x.db x.db", 2, &["x.db: this file is no database"]),
    ("export x.db", 2, &["x.db: this file is no database"]),
    ("report old.db -o nowhere/x.html", 2, &["nowhere/x.html: it cannot be written: there is no folder nowhere"]),
    ("pragma no.db", 2, &["no such file"]),
    ("pragma x.db", 2, &["no database"]),
    ("verify no.db", 2, &["does not exist"]),
    ("verify x.db", 2, &["this file is no database"]),
    ("generate sqlite3perf x.db --rows 9", 2, &["--force"]),
    ("generate sqlite3perf x.db --rows 9 --force", 2, &["not replaced"]),
    ("generate sqlite3perf y.db", 2, &["add --rows"]),
    ("generate queue y.db", 2, &["no [data]"]),
    // Tables and variants of a run.
    ("show old.db --metric p98", 2, &["unknown metric `p98`: did you mean `p95`?", "!(known"]),
    ("show old.db --metric tps", 2, &["it is `throughput` here", "!cpu"]),
    ("show old.db --columns driver", 2, &["no table: ", "does not vary driver", "what varies: location, sharing"]),
    ("show old.db --columns sharng", 2, &["did you mean `sharing`? (known: scenario, transaction, driver, profile,"]),
    ("show old.db --filter sharing", 2, &["`sharing`: write NAME=VALUE"]),
    ("show old.db --filter app-lock --metric p50", 0, &["app-lock", "!own-connection"]),
    ("compare old.db --base own-connection --head app-lock", 0, &["app-lock"]),
    ("compare old.db --base own-connectoin --head app-lock", 2, &["no variant is `own-connectoin`; there are "]),
];

/// Texts of libraries that no answer contains, and names of test doubles.
const LEAKS: [&str; 6] = ["untagged", "entity not found", "invalid digit", "as a value", "noop", "scripted"];

#[test]
fn a_mistake_on_the_command_line_is_answered_with_its_remedy() {
    let other = "this is no database, though it is long enough to be taken for one .............................";
    let folder = folder(&[("x.db", other), ("x.toml", STUDY), ("w.toml", WORKLOAD)]);
    let dir = folder.path();
    format_2::old(dir);
    rusqlite::Connection::open(dir.join("app.db")).unwrap().execute_batch("CREATE TABLE t(a)").unwrap();
    let files = || ["x.db", "app.db", "old.db"].map(|name| std::fs::read(dir.join(name)).unwrap());
    let before = files();
    let mut wrong = Vec::new();
    for (line, code, parts) in TYPED {
        let output = run(dir, &line.split(' ').collect::<Vec<_>>());
        let text = both(&output);
        let holds = |part: &&&str| match part.strip_prefix('!') {
            Some(part) => !text.contains(part),
            None => text.contains(**part),
        };
        let broken: Vec<_> = parts.iter().filter(|part| !holds(part)).collect();
        let is_line = *code == 0 || text.starts_with("error: ") && text.lines().count() == 1;
        let leak = LEAKS.iter().find(|leak| text.contains(**leak));
        if output.status.code() != Some(*code) || !broken.is_empty() || !is_line || leak.is_some() {
            wrong.push(format!("{line}: {:?} {broken:?} {leak:?}: {text}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files() == before, "a file of the user was changed");
}

/// Exit code and both outputs of a dry run.
fn dry_run(study: &str, workload: &str) -> (Option<i32>, String) {
    let folder = folder(&[("x.toml", study), ("w.toml", workload)]);
    let output = run(folder.path(), &["run", "x.toml", "--dry-run"]);
    assert!(!folder.path().join("litelab-runs").exists(), "a dry run leaves nothing");
    (output.status.code(), both(&output))
}

#[test]
fn a_mistake_in_a_file_is_answered_with_its_remedy() {
    assert_eq!(dry_run(STUDY, WORKLOAD).0, Some(0), "without a mistake");
    for (from, to, wanted) in MISTAKES {
        let (study, workload) = (STUDY.replace(from, to), WORKLOAD.replace(from, to));
        assert!(study != STUDY || workload != WORKLOAD, "`{from}` is in neither");
        let (code, line) = dry_run(&study, &workload);
        assert_eq!((code, line.as_str()), (Some(2), format!("error: {wanted}\n").as_str()), "{to}");
    }
    for count in ["10k", "1.5M", "10_000"] {
        let study = STUDY.replace("count = 10", &format!("count = \"{count}\""));
        assert_eq!(dry_run(&study, WORKLOAD).0, Some(0), "{count}");
    }
}

#[test]
fn an_impossible_pragma_value_is_answered_with_what_sqlite_would_have_done() {
    for (pragma, parts) in [
        ("cache_size = \"64MB\"", ["64 pages", "x.toml:3"]),
        ("jornal_mode = \"WAL\"", ["journal_mode", "x.toml:3"]),
        ("journal_mode = \"WAL\"\npage_size = 8192", ["page_size", "x.toml"]),
    ] {
        let folder = folder(&[("x.toml", &format!("name = \"x\"\n[pragma]\n{pragma}\n"))]);
        let line = refused(folder.path(), &["profiles", "x.toml"]);
        for part in parts {
            assert!(line.contains(part), "{pragma}: `{part}` not in: {line}");
        }
    }
}

#[test]
fn lists_are_shown_without_a_verb_and_fit_the_width() {
    let folder = folder(&[]);
    let shown = |arguments: &[&str], columns: &str| {
        let mut command = crate::common::litelab(folder.path(), arguments);
        ends(&command.env("COLUMNS", columns).output().unwrap(), 0)
    };
    for kind in ["studies", "profiles", "workloads"] {
        let narrow = shown(&[kind], "60");
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&narrow), words(&shown(&[kind], "200")), "{kind}");
    }
    assert!(shown(&["profiles", "wal-full"], "80").contains("name = \"wal-full\""));
    let runners = shown(&["runners"], "80");
    assert!(runners.starts_with("language driver") && !runners.contains("noop"), "{runners}");
    assert!(runners.lines().any(|line| line.starts_with("rust     rusqlite  ")), "{runners}");
    assert!(!runners.contains("scripted") && runners.lines().all(|line| line.chars().count() <= 80), "{runners}");
    assert!(shown(&["runners", "list", "--all"], "80").contains("rusqlite:noop"));
}

/// The program copied into the `target` of a folder uses the runners of that folder.
#[test]
fn a_sqlite_with_a_known_defect_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    for place in ["runners/old", "crates/runner", "target"] {
        std::fs::create_dir_all(home.join(place)).unwrap();
    }
    std::fs::write(home.join("crates/runner/runner.toml"), "").unwrap();
    let manifest = "name = \"old\"\nlanguage = \"sh\"\ndrivers = [\"aged\", \"noop\"]\ncommand = [\"sh\", \"r.sh\"]\n";
    std::fs::write(home.join("runners/old/runner.toml"), manifest).unwrap();
    let driver = |name: &str, sqlite: Option<&str>| {
        let build =
            sqlite.map(|version| serde_json::json!({ "version": version, "source_id": "", "compile_options": [] }));
        serde_json::json!({ "name": name, "version": "1.0", "sqlite": build, "sharings": [], "executors": ["threads"] })
    };
    let description = serde_json::json!({
        "protocol": litelab_protocol::VERSION, "runner": "old", "language": "sh", "runtime": "1",
        "drivers": [driver("aged", Some("3.40.1")), driver("noop", None)],
    });
    std::fs::write(home.join("runners/old/r.sh"), format!("cat <<'E'\n{description}\nE\n")).unwrap();
    let program = installed(&home.join("target"));
    let output = Command::new(program).arg("runners").current_dir(home).env("COLUMNS", "200").output().unwrap();
    let text = ends(&output, 0);
    let row = text.lines().find(|line| line.contains("aged")).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(row, "sh       aged               1.0        3.40.1  ! 4 defects, use 3.51.3");
    assert!(text.contains("https://sqlite.org/wal.html#walresetbug\n") && !text.contains("noop"), "{text}");
}

/// Needs root and tmpfs; elsewhere it prints a line and passes.
#[test]
fn a_full_disk_is_named() {
    let folder = folder(&[]);
    let disk = folder.path().join("full");
    std::fs::create_dir(&disk).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8k", "tmpfs"]).arg(&disk).output();
    if !mount.is_ok_and(|o| o.status.success()) {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    }
    std::fs::write(disk.join("filler"), vec![0; 8192]).unwrap();
    let line = refused(folder.path(), &["run", "smoke", "--dir", "full"]);
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.is_ok_and(|s| s.success()));
    assert!(line.contains("full") && line.contains("free some space"), "{line}");
}

/// The drivers of a runner are unknown until it is built.
#[test]
fn a_dry_run_says_which_drivers_it_could_not_check() {
    let study = STUDY.replace("role.w", "driver = 'modernc'\nrole.w");
    let folder = folder(&[("x.toml", &study), ("w.toml", WORKLOAD)]);
    let program = installed(folder.path());
    // The copy is an installed program whose cache of runners is empty.
    let output = Command::new(program)
        .args(["run", "x.toml", "--dry-run"])
        .current_dir(folder.path())
        .env("XDG_CACHE_HOME", folder.path().join("cache"))
        .output()
        .unwrap();
    let text = said(&output);
    // Without a Go toolchain the variants are skipped instead.
    assert!(
        text == "note: runner `go` is not built yet: what its drivers have is not checked\n"
            || text.starts_with("skipped: ")
    );
}
