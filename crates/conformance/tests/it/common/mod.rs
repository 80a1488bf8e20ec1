//! Runners that are built once, and studies small enough for a test.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::AtomicBool;

use litelab_engine::{Run, RunOptions, Runners};
use litelab_model::{Options, Plan, library, resolve};
use litelab_record::RunFile;
use litelab_record::outcome::Outcome;

/// A workload of one transaction, which inserts a row.
pub const INSERTS: &str = r#"
schema.sql = "CREATE TABLE t(id INTEGER PRIMARY KEY)"
[transaction.insert]
sql = "INSERT INTO t VALUES (:id)"
param.id = { sequence = {} }
"#;

static BUILT: Once = Once::new();

/// Set where `cargo programs` has already run.
pub const PROGRAMS_BUILT: &str = "LITELAB_PROGRAMS_BUILT";

/// The folder that contains `runners/`.
pub fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/conformance has a home").to_path_buf()
}

/// All runners, after a build of rusqlite and mock. Other test programs wait for Cargo's own lock.
pub fn runners() -> Runners {
    let mut runners = Runners::find(&home()).expect("manifests");
    let rusqlite = home().join("target/release/litelab-runner-rusqlite");
    runners.add(litelab_runner::MANIFEST, home().join("crates/runner"), Some(rusqlite)).expect("manifest");
    BUILT.call_once(|| {
        // Cargo waits while another process builds in the same folder, possibly for minutes.
        if std::env::var_os(PROGRAMS_BUILT).is_some() {
            return;
        }
        let mut build = std::process::Command::new("cargo");
        build.arg("programs").current_dir(home());
        let built = build.output().expect("cargo");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    });
    runners
}

/// A PostgreSQL server for the mock's lies about servers. `None`, with a message, if PostgreSQL is not installed or the
/// honest runner `go` is not built.
#[cfg(feature = "servers")]
pub fn server() -> Option<litelab_servers::Instance> {
    use litelab_servers::{Instance, Kind, ServersError};

    if !home().join("runners/go/litelab-runner-go").exists() {
        println!("skipped: run `litelab runners build go`");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("litelab-conformance-{}", std::process::id()));
    match Instance::start(Kind::Postgres, &folder) {
        Ok(instance) => Some(instance),
        Err(e @ ServersError::Missing { .. }) => {
            println!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Options of a run whose file and databases are in this folder.
pub fn options(folder: &Path) -> RunOptions {
    RunOptions::new(folder.join("run.db"), folder.join("work"))
}

/// A new temporary folder.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("temporary directory")
}

/// Writes the folder of a runner whose program is the mock, started with these words before the verb.
pub fn disguise(home: &Path, name: &str, words: &[&str], drivers: &[&str]) -> Runners {
    disguise_with(home, name, words, drivers, "")
}

/// As [`disguise`], with additional lines in the manifest.
pub fn disguise_with(home: &Path, name: &str, words: &[&str], drivers: &[&str], more: &str) -> Runners {
    let runners = runners();
    let mock = runners.get("mock").expect("found");
    let program = mock.directory.join(&mock.manifest.command[0]);
    let folder = home.join("runners").join(name);
    std::fs::create_dir_all(&folder).expect("folder");
    let command: Vec<String> = std::iter::once(program.display().to_string())
        .chain(words.iter().map(|w| (*w).to_owned()))
        .map(|w| format!("{w:?}"))
        .collect();
    let manifest = format!(
        "name = {name:?}\nlanguage = \"rust\"\ncommand = [{}]\ndrivers = {drivers:?}\n{more}\n{}",
        command.join(", "),
        dialects(drivers)
    );
    std::fs::write(folder.join("runner.toml"), manifest).expect("manifest");
    Runners::find(home).expect("manifest")
}

/// The mock's table of dialects, for these drivers.
pub fn dialects(drivers: &[&str]) -> String {
    let runners = runners();
    let dialects = &runners.get("mock").expect("found").manifest.dialects;
    let of_these = dialects.iter().filter(|(driver, _)| drivers.contains(&driver.as_str()));
    let lines: String = of_these.map(|(driver, dialect)| format!("{driver} = \"{dialect}\"\n")).collect();
    format!("[dialect]\n{lines}")
}

/// Resolves a study whose workload is the given text.
pub fn plan(folder: &Path, workload: &str, study: &str) -> Plan {
    plan_with(folder, workload, study, &Options::default())
}

/// As [`plan`], with options. The number of rounds is not raised to the minimum.
pub fn plan_with(folder: &Path, workload: &str, study: &str, options: &Options) -> Plan {
    std::fs::write(folder.join("w.toml"), format!("name = \"w\"\n{workload}")).expect("workload");
    let toml = format!("name = \"s\"\ntitle = \"A test?\"\n{study}");
    let text = library::Text { file: "s.toml".into(), directory: Some(folder.to_path_buf()), toml };
    let study: litelab_model::study::Study = library::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let options = Options { rounds: options.rounds.or(Some(study.rounds)), ..options.clone() };
    resolve::resolve(&study, &text, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs the only trial of a plan and returns its outcome.
pub fn only_trial(plan: Plan, folder: &Path, runners: &Runners) -> Outcome {
    let scratch = tempfile::tempdir_in(folder).expect("folder");
    let options = options(scratch.path());
    let stop = AtomicBool::new(false);
    let run = Run::new(plan, "", options.clone(), runners, &stop).expect("checked");
    run.execute(&mut |_| {}).expect("executes");
    let mut outcome = None;
    RunFile::open(&options.file)
        .and_then(|file| {
            file.trials(&mut |stored| {
                outcome = Some(stored.record.outcome);
                Ok(())
            })
        })
        .expect("readable");
    outcome.expect("a trial")
}
