//! Runners that are built once, and studies small enough for a test.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use litelab_engine::prepare::Prepared;
use litelab_engine::run::Ended;
use litelab_engine::trial::{Patience, TrialContext};
use litelab_engine::{Run, RunOptions, Runners};
use litelab_model::{Options, Plan, Variant, library, resolve};
use litelab_record::measure::Meter;
use litelab_record::outcome::{Failure, Measurement, Outcome, Series};
use litelab_record::{RunFile, RunInfo, StoredTrial};

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
    match Instance::start(Kind::Postgres, &folder, &litelab_servers::Options::default()) {
        Ok(instance) => Some(instance),
        Err(e @ ServersError::Missing { .. }) => {
            println!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Deadlines long enough for a busy machine, and short enough for a test that hangs.
pub fn patience() -> Patience {
    let second = Duration::from_secs(1);
    Patience { ready: 60 * second, silence: 30 * second, trial: 60 * second, ..Patience::default() }
}

/// Options of a run whose file and databases are in this folder.
pub fn options(folder: &Path) -> RunOptions {
    RunOptions { patience: patience(), ..RunOptions::new(folder.join("run.db"), folder.join("work")) }
}

/// A new temporary folder.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("temporary directory")
}

/// Writes the folder of a runner whose program is the mock, started with these words before the verb. `more` are
/// further lines of the manifest.
pub fn disguise(home: &Path, name: &str, words: &[&str], drivers: &[&str], more: &str) -> Runners {
    let program = program(&runners(), "mock").display().to_string();
    let command: Vec<&str> = std::iter::once(program.as_str()).chain(words.iter().copied()).collect();
    write_runner(home, name, &command, drivers, more)
}

/// A runner of this name that is a shell script of these lines, followed by the program of the runner itself.
pub fn wrapped(home: &Path, name: &str, lines: &str) -> Runners {
    let runners = runners();
    let drivers = &runners.get(name).expect("found").manifest.drivers;
    let drivers: Vec<&str> = drivers.iter().map(String::as_str).collect();
    let shell = format!("{lines}\nexec '{}' \"$@\"\n", program(&runners, name).display());
    std::fs::create_dir_all(home.join("runners").join(name)).expect("folder");
    std::fs::write(home.join("runners").join(name).join("runner.sh"), shell).expect("script");
    write_runner(home, name, &["sh", "runner.sh"], &drivers, "")
}

/// Writes the manifest of a runner, with the dialects of the mock's drivers, and finds it.
pub fn write_runner(home: &Path, name: &str, command: &[&str], drivers: &[&str], more: &str) -> Runners {
    let runners = runners();
    let dialects = &runners.get("mock").expect("found").manifest.dialects;
    let of_these = dialects.iter().filter(|(driver, _)| drivers.contains(&driver.as_str()));
    let dialects: String = of_these.map(|(driver, dialect)| format!("{driver} = \"{dialect}\"\n")).collect();
    let manifest = format!(
        "name = {name:?}\nlanguage = \"rust\"\ncommand = {command:?}\ndrivers = {drivers:?}\n{more}\n[dialect]\n{dialects}"
    );
    let folder = home.join("runners").join(name);
    std::fs::create_dir_all(&folder).expect("folder");
    std::fs::write(folder.join("runner.toml"), manifest).expect("manifest");
    Runners::find(home).expect("manifest")
}

/// Path of a runner's program.
pub fn program(runners: &Runners, name: &str) -> PathBuf {
    runners.get(name).expect("found").command("").get_program().into()
}

/// Resolves a study whose workload is the given text. The number of rounds is not raised to the minimum.
pub fn plan(folder: &Path, workload: &str, study: &str) -> Plan {
    std::fs::write(folder.join("w.toml"), format!("name = \"w\"\n{workload}")).expect("workload");
    let toml = format!("name = \"s\"\ntitle = \"A test?\"\n{study}");
    let text = library::Text { file: "s.toml".into(), directory: Some(folder.to_path_buf()), toml };
    let study: litelab_model::study::Study = library::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let options = Options { rounds: Some(study.rounds), ..Options::default() };
    resolve::resolve(&study, &text, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// Gives the mock's driver `scripted` this script in each of the variants.
pub fn script<'a>(variants: impl IntoIterator<Item = &'a mut Variant>, script: &serde_json::Value) {
    for variant in variants {
        variant.trial.connection.options.insert("script".into(), script.clone());
    }
}

/// Runs a plan to its end.
pub fn execute(plan: Plan, options: &RunOptions, runners: &Runners) -> Ended {
    let stop = AtomicBool::new(false);
    let run = Run::new(plan, "", options.clone(), runners, &stop).expect("checked");
    run.execute(&mut |_| {}).expect("executes")
}

/// Resumes a run and executes it to its end.
pub fn resume(options: &RunOptions, runners: &Runners) -> Ended {
    let stop = AtomicBool::new(false);
    Run::resume(options.clone(), runners, &stop).and_then(|run| run.execute(&mut |_| {})).expect("goes on")
}

/// Data of a run without its trials.
pub fn info(file: &Path) -> RunInfo {
    RunFile::open(file).and_then(|f| f.info()).expect("readable")
}

/// All trials of a run file.
pub fn trials(file: &Path) -> Vec<StoredTrial> {
    let mut all = Vec::new();
    let mut keep = |trial| {
        all.push(trial);
        Ok(())
    };
    RunFile::open(file).and_then(|f| f.trials(&mut keep)).expect("readable");
    all
}

/// Everything in a run file that must not depend on when the run was stopped.
pub fn timeless(file: &Path) -> Vec<(u32, usize, u32, String)> {
    let text = |t: &StoredTrial| {
        let Measurement { result, settings, search, .. } = measured_in(t);
        serde_json::to_string(&(result, settings, search)).expect("JSON")
    };
    trials(file).iter().map(|t| (t.record.round, t.record.variant, t.record.position, text(t))).collect()
}

/// Runs a plan of one trial and returns its outcome.
pub fn only_trial(plan: Plan, folder: &Path, runners: &Runners) -> Outcome {
    let scratch = tempfile::tempdir_in(folder).expect("folder");
    let options = options(scratch.path());
    execute(plan, &options, runners);
    trials(&options.file).remove(0).record.outcome
}

/// Makes the only trial of a plan, without a run.
pub fn lone_trial(
    folder: &Path,
    mut plan: Plan,
    runners: &Runners,
    patience: Patience,
    keep_going: &mut dyn FnMut() -> bool,
) -> (Outcome, Series) {
    litelab_engine::compile::compile(&mut plan).expect("compiles");
    let found = runners.driver(&plan.variants[0].driver).expect("driver");
    // A run sets the driver's name when it has found the runner.
    plan.variants[0].trial.driver.clone_from(&found.name);
    let variant = &plan.variants[0];
    let prepared = Prepared::new(folder).file(variant, &mut |_, _| {}).expect("prepared");
    let directory = folder.join("trial");
    std::fs::create_dir(&directory).expect("folder");
    let (runner, directory, prepared) = (found.runner, directory.as_path(), &prepared);
    let mut context = TrialContext { runner, prepared, servers: None, directory, patience, keep_going };
    let out = litelab_engine::trial::run(variant, "test", &mut context);
    assert_eq!(std::fs::read_dir(directory).expect("there").count(), 0, "{} left files", found.name);
    out
}

/// The measurement of a trial that must not have failed.
pub fn measured(outcome: Outcome) -> Measurement {
    match outcome {
        Outcome::Measured(measurement) => *measurement,
        Outcome::Failed(failure) => panic!("it failed: {failure:?}"),
    }
}

/// As [`measured`], of a stored trial.
pub fn measured_in(trial: &StoredTrial) -> &Measurement {
    match &trial.record.outcome {
        Outcome::Measured(measurement) => measurement,
        Outcome::Failed(failure) => panic!("it failed: {failure:?}"),
    }
}

/// Value of a metric of a trial.
pub fn value(measurement: &Measurement, metric: &str) -> Option<f64> {
    Meter::new(measurement).value(&metric.parse().expect("a metric"))
}

/// The failure of a trial that must have failed.
pub fn failed(outcome: Outcome) -> Failure {
    match outcome {
        Outcome::Failed(failure) => *failure,
        Outcome::Measured(m) => panic!("it passed: {:?}", m.result),
    }
}
