//! Files that move from duroxide's own provider to `duroxide-onewriter` and back, while their orchestrations are running.
//!
//! The two providers need different SQLite builds, so the other one, and the conversion, are programs of the workspace,
//! which cargo builds here if they are not up to date.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock};

use duroxide::providers::sqlite::SqliteProvider;
use serde_json::Value;
use sqlx::{Connection, Row, SqliteConnection};

/// Variable with the file of the child process.
const FILE: &str = "STORY_FILE";
/// Variable with the verb of the child process.
const VERB: &str = "STORY_VERB";

/// Folder of the programs of the workspace.
static PROGRAMS: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join("target");
    let mut cargo = Command::new(env!("CARGO"));
    // As `litelab runners build` does it, so that dependencies are compiled once.
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    cargo.args(["build", "--locked", "--package", "litelab-runner-duroxide-onewriter", "--example", "story"]);
    cargo.args(["--package", "duroxide-onewriter", "--example", "transfer", "--target-dir"]).arg(&target);
    cargo.args(if profile == "release" { &["--release"][..] } else { &[] });
    for name in ["RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS", "CARGO_BUILD_BUILD_DIR", "CARGO_TARGET_DIR"] {
        cargo.env_remove(name);
    }
    let built = cargo.current_dir(&root).stdin(Stdio::null()).output().expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join(profile).join("examples")
});

/// A provider and its file.
#[derive(Clone, Copy)]
enum Provider {
    BuiltIn,
    OneWriter,
}

impl Provider {
    /// Runs a stage of the orchestrations, or reads the state of the file.
    fn story(self, path: &Path, verb: &str) -> String {
        let mut child = match self {
            Self::BuiltIn => {
                let mut child = Command::new(std::env::current_exe().expect("this program"));
                child.args(["--exact", "child_process", "--ignored", "--nocapture"]);
                child.env(FILE, path).env(VERB, verb);
                child
            }
            Self::OneWriter => {
                let mut child = Command::new(PROGRAMS.join("story"));
                child.arg(path).arg(verb);
                child
            }
        };
        let output = child.stdin(Stdio::null()).output().expect("the child runs");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{verb}: {}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// The state of the file, as the provider reads it.
    fn state(self, path: &Path) -> Value {
        let printed = self.story(path, "dump");
        let line = printed.lines().find(|line| line.starts_with('{')).expect("a line of JSON");
        serde_json::from_str(line).expect("JSON")
    }
}

/// Runs the example `transfer`. Returns its only line, which goes to standard error if it fails.
fn transfer(direction: &str, source: &Path, target: &Path) -> Result<String, String> {
    let output = Command::new(PROGRAMS.join("transfer")).arg(direction).arg(source).arg(target).output();
    let output = output.expect("the program runs");
    let line = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(line(&output.stdout)) } else { Err(line(&output.stderr)) }
}

/// The leaves of a state, one in each line.
fn lines(state: &Value) -> Vec<String> {
    match state {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| lines(value).into_iter().map(move |l| format!("{name}/{l}")))
            .collect(),
        Value::Array(values) => values
            .iter()
            .enumerate()
            .flat_map(|(at, value)| lines(value).into_iter().map(move |l| format!("{at}/{l}")))
            .collect(),
        leaf => vec![leaf.to_string()],
    }
}

/// Leaves that one of two states has and the other has not, except those with an ignored name.
fn differences(one: &Value, other: &Value, ignored: &[&str]) -> Vec<String> {
    let [one, other] = [one, other].map(|state| {
        let is_ignored = |line: &String| ignored.iter().any(|name| line.contains(&format!("/{name}/")));
        lines(state).into_iter().filter(|line| !is_ignored(line)).collect::<Vec<_>>()
    });
    assert!(one.len() > 200, "{one:?}");
    let missing = |from: &[String], among: &[String]| -> Vec<String> {
        from.iter().filter(|line| !among.contains(line)).cloned().collect()
    };
    [missing(&one, &other), missing(&other, &one)].concat()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("runtime")
}

/// The first column of every row of a query, as text.
fn column(path: &Path, sql: &str) -> Vec<String> {
    runtime().block_on(async {
        let mut connection = SqliteConnection::connect(path.to_str().expect("UTF-8")).await.expect("open");
        let rows = sqlx::query(sql).fetch_all(&mut connection).await.expect("rows");
        let column = rows.iter().map(|row| row.get(0)).collect();
        connection.close().await.expect("close");
        column
    })
}

#[test]
#[ignore = "the child process of other tests"]
fn child_process() {
    let (path, verb) = (std::env::var(FILE).expect("a file"), std::env::var(VERB).expect("a verb"));
    runtime().block_on(async {
        let provider = SqliteProvider::new(&format!("sqlite:{path}?mode=rwc"), None).await.expect("open");
        litelab_orchestration::testing::run(Arc::new(provider), &verb).await;
    });
}

#[test]
fn orchestrations_continue_on_the_other_provider_and_back() {
    let folder = tempfile::tempdir().expect("folder");
    let [first, second, third] = ["first", "second", "third"].map(|name| folder.path().join(name));
    Provider::BuiltIn.story(&first, "1");
    let bytes = std::fs::read(&first).expect("file");
    let log = std::fs::read(folder.path().join("first-wal")).expect("a log, because the process was not shut down");
    assert!(!log.is_empty());
    let line = transfer("from-built-in", &first, &second).expect("converted");
    assert!(line.contains("instances") && !line.contains('\n'), "{line}");
    assert_eq!(std::fs::read(&first).expect("file"), bytes, "the source is not written");
    assert_eq!(std::fs::read(folder.path().join("first-wal")).expect("log"), log);
    let before = Provider::BuiltIn.state(&first);
    // A missing row would be found.
    for table in ["history", "execution", "pending_value"] {
        let spoilt = folder.path().join(table);
        std::fs::copy(&second, &spoilt).expect("copied");
        column(
            &spoilt,
            &format!("DELETE FROM {table} WHERE instance = (SELECT id FROM instance WHERE name = 'counter')"),
        );
        let found = differences(&Provider::OneWriter.state(&spoilt), &before, &[]);
        assert!(!found.is_empty(), "{table}");
    }
    assert_eq!(differences(&Provider::OneWriter.state(&second), &before, &[]), Vec::<String>::new());
    assert_eq!(before["counter"]["current"], 2);

    Provider::OneWriter.story(&second, "2");
    transfer("to-built-in", &second, &third).expect("converted");
    let before = Provider::OneWriter.state(&second);
    assert_eq!(differences(&Provider::BuiltIn.state(&third), &before, &[]), Vec::<String>::new());
    assert_eq!(before["counter"]["current"], 3);

    Provider::BuiltIn.story(&third, "3");
    // The same without a conversion.
    let control = folder.path().join("control");
    for stage in ["1", "2", "3"] {
        Provider::BuiltIn.story(&control, stage);
    }
    let [moved, stayed] = [&third, &control].map(|path| Provider::BuiltIn.state(path));
    let times = ["timestamp_ms", "fire_at_ms", "last_updated_at_ms"];
    assert_eq!(differences(&moved, &stayed, &times), Vec::<String>::new());
    assert_eq!(moved.as_object().map(|instances| instances.len()), Some(9));
}

#[test]
fn the_tables_are_those_of_the_provider() {
    let folder = tempfile::tempdir().expect("folder");
    let [theirs, ours, converted] = ["theirs", "ours", "converted"].map(|name| folder.path().join(name));
    Provider::BuiltIn.story(&theirs, "dump");
    Provider::OneWriter.story(&ours, "dump");
    transfer("to-built-in", &ours, &converted).expect("converted");
    for sql in [
        "SELECT version || ' ' || description || ' ' || success || ' ' || hex(checksum) FROM _sqlx_migrations",
        "SELECT s.name || ' ' || c.cid || ' ' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' '
             || coalesce(c.dflt_value, 'NULL') || ' ' || c.pk
         FROM sqlite_schema s JOIN pragma_table_xinfo(s.name) c WHERE s.type = 'table' ORDER BY 1",
        "SELECT s.tbl_name || ' ' || s.name || ' ' || i.seqno || ' ' || coalesce(i.name, '')
         FROM sqlite_schema s JOIN pragma_index_xinfo(s.name) i WHERE s.type = 'index' ORDER BY 1",
        "SELECT name || ' ' || (sql LIKE '%AUTOINCREMENT%') || (sql LIKE '%CHECK%') || (sql LIKE '%REFERENCES%')
         FROM sqlite_schema WHERE type = 'table' ORDER BY 1",
    ] {
        let expected = column(&theirs, sql);
        assert!(expected.len() > 5, "{expected:?}");
        assert_eq!(column(&converted, sql), expected);
    }
}

#[test]
fn a_file_in_use_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let [source, target] = ["source", "target"].map(|name| folder.path().join(name));
    runtime().block_on(async {
        let url = format!("sqlite:{}?mode=rwc", source.display());
        let provider = SqliteProvider::new(&url, None).await.expect("open");
        let refused = transfer("from-built-in", &source, &target).expect_err("it is in use");
        assert!(refused.contains("a process has this database open") && !refused.contains('\n'), "{refused}");
        assert!(!target.exists());
        provider.get_pool().close().await;
    });
    transfer("from-built-in", &source, &target).expect("nobody uses it");
}
