//! A run: blocks of trials in random order, each block stored as it ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use litelab_model::plan::Arm;
use litelab_model::{Plan, Scalar};
use litelab_protocol::{Description, Until};
use litelab_stats::Schedule;

use crate::environment::{Environment, LoadProbe};
use crate::error::EngineError;
use crate::event::Event;
use crate::outcome::{Outcome, Series, TrialRecord};
use crate::prepare::Prepared;
use crate::ready::{self, Ready, make_directory};
use crate::record::{Recorder, RunFile};
use crate::runner::{Runners, check_support};
use crate::search;
use crate::trial::{self, Bench, Patience};

/// How long a no-op trial runs, in milliseconds, and how many transactions at most.
const CALIBRATION_MS: u64 = 200;
const CALIBRATION_COUNT: u64 = 20_000;

/// Where and how a run takes place.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The run file to make or to go on with.
    pub file: PathBuf,
    /// Directory whose disk is under test; a folder of the run's own is made in it and removed at the end.
    pub directory: PathBuf,
    /// Deadlines.
    pub patience: Patience,
    /// Whether the harness's own cost is measured first.
    pub calibrate: bool,
}

/// A run about to happen or going on.
pub struct Run<'a> {
    plan: Plan,
    recorder: Recorder,
    environment: Environment,
    done: u32,
    options: RunOptions,
    runners: &'a Runners,
    descriptions: BTreeMap<String, Description>,
    stop: &'a AtomicBool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Blocks in the file.
    pub blocks: u32,
    /// Trials that failed, this time.
    pub failed: u32,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
}

impl<'a> Run<'a> {
    /// Checks everything and makes the run file: SQL compiled, runners asked, the machine looked at.
    ///
    /// # Errors
    /// The first thing that would keep the run from working.
    pub fn new(
        plan: Plan,
        study_toml: &str,
        options: RunOptions,
        runners: &'a Runners,
        stop: &'a AtomicBool,
    ) -> Result<Self, EngineError> {
        let ready = Ready::check(plan, &options.directory, runners)?;
        Self::begin(ready, study_toml, options, runners, stop)
    }

    /// Makes the run file of a plan that was checked, in the same directory and with the same runners.
    ///
    /// # Errors
    /// When the run file cannot be made.
    pub fn begin(
        ready: Ready,
        study_toml: &str,
        options: RunOptions,
        runners: &'a Runners,
        stop: &'a AtomicBool,
    ) -> Result<Self, EngineError> {
        let Ready { plan, descriptions, environment } = ready;
        let recorder = Recorder::create(&options.file, &plan, study_toml, &environment)?;
        for description in descriptions.values() {
            recorder.runner(description)?;
        }
        Ok(Self { plan, recorder, environment, done: 0, options, runners, descriptions, stop })
    }

    /// Goes on with a run file.
    ///
    /// # Errors
    /// When the file is no run, is complete, or its runners are not the ones it began with.
    pub fn resume(options: RunOptions, runners: &'a Runners, stop: &'a AtomicBool) -> Result<Self, EngineError> {
        let info = RunFile::open(&options.file)?.info()?;
        let blocks = blocks(&info.plan);
        // Killed between its last block and the mark of its end, a run has only that left to do.
        if info.blocks >= blocks && info.finished.is_some() {
            return Err(EngineError::BadInput(format!(
                "{}: all {blocks} blocks are there; nothing is left to do",
                options.file.display()
            )));
        }
        let mut plan = info.plan;
        // A runner that has come since would have an arm of fewer blocks than the others.
        let descriptions = ready::describe_again(&mut plan, runners)?;
        for before in &info.runners {
            if descriptions.get(&before.runner) != Some(before) {
                return Err(EngineError::BadInput(format!(
                    "{}: runner `{}` has changed since this run began, so its blocks would not be comparable: begin a new run",
                    options.file.display(),
                    before.runner
                )));
            }
        }
        make_directory(&options.directory)?;
        let recorder = Recorder::open(&options.file)?;
        Ok(Self {
            plan,
            recorder,
            environment: info.environment,
            done: info.blocks,
            options,
            runners,
            descriptions,
            stop,
        })
    }

    /// The plan, its statements compiled.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs what is left.
    ///
    /// # Errors
    /// When a database cannot be prepared or the run file cannot be written. Failed trials are no errors.
    pub fn execute(mut self, report: &mut dyn FnMut(Event<'_>)) -> Result<Ended, EngineError> {
        let blocks = blocks(&self.plan);
        let file = self.options.file.clone();
        report(Event::Started {
            plan: &self.plan,
            environment: &self.environment,
            file: &file,
            done: self.done,
            blocks,
        });
        let scratch = Scratch::make(&self.options.directory)?;
        let prepared = Prepared::new(&scratch.prepared);
        let mut ended = Ended { blocks: self.done, failed: 0, interrupted: false };
        let mut prepared_files = Vec::new();
        for (index, arm) in self.plan.arms.iter().enumerate() {
            if self.stopped() {
                ended.interrupted = true;
                return Ok(ended);
            }
            if arm.skipped.is_some() {
                // Keeps the place: files are found by the arm's index.
                prepared_files.push(PathBuf::new());
                continue;
            }
            prepared_files.push(prepared.file(arm, &mut |rows, of| report(Event::Preparing { arm: index, rows, of }))?);
        }
        if self.options.calibrate && self.done == 0 {
            self.calibrate(&scratch, &prepared_files, report)?;
        }
        for block in self.done..blocks {
            let started = crate::record::now();
            let load = LoadProbe::start();
            let mut trials = Vec::new();
            let order = Schedule::new(self.plan.seed, self.plan.arms.len()).order(block);
            let due = order.into_iter().filter(|&arm| block < self.plan.blocks_of(&self.plan.arms[arm]));
            for (position, arm) in due.enumerate() {
                report(Event::TrialStarted { block, arm });
                let (record, series) =
                    self.trial((block, arm, position as u32), &prepared_files[arm], &scratch, report)?;
                if self.stopped() {
                    ended.interrupted = true;
                    return Ok(ended);
                }
                ended.failed += u32::from(matches!(record.outcome, Outcome::Failed(_)));
                report(Event::TrialEnded { record: &record, series: &series });
                trials.push((record, series));
            }
            self.recorder.block(block, &started, &load.finish(), &trials)?;
            ended.blocks = block + 1;
            report(Event::BlockStored { block });
        }
        self.recorder.finished()?;
        Ok(ended)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn trial(
        &self,
        (block, arm, position): (u32, usize, u32),
        prepared: &Path,
        scratch: &Scratch,
        report: &mut dyn FnMut(Event<'_>),
    ) -> Result<(TrialRecord, Series), EngineError> {
        let started = crate::record::now();
        let begun = Instant::now();
        let plan = &self.plan.arms[arm];
        let driver = self.runners.driver(&plan.driver)?;
        let mut bench = Bench {
            runner: driver.runner,
            prepared,
            directory: &scratch.trial,
            patience: self.options.patience,
            keep_going: &mut || !self.stopped(),
        };
        let id = format!("{block}/{arm}");
        let (outcome, series) = match &plan.search {
            None => trial::run(plan, &id, &mut bench),
            Some(search) => {
                search::run(plan, search, &id, &mut bench, &mut |probe| report(Event::Probed { arm, probe }))
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        Ok((TrialRecord { block, arm, position, started, seconds, outcome }, series))
    }

    /// One short trial of the no-op driver for each scenario and runner: what the harness itself costs per transaction.
    fn calibrate(
        &self,
        scratch: &Scratch,
        prepared: &[PathBuf],
        report: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), EngineError> {
        let mut done = Vec::new();
        for (index, arm) in self.plan.arms.iter().enumerate().filter(|(_, arm)| arm.skipped.is_none()) {
            let driver = self.runners.driver(&arm.driver)?;
            let name = driver.runner.manifest.name.clone();
            let noop = self.descriptions.get(&name).and_then(|d| d.drivers.iter().find(|d| d.name == "noop"));
            if self.stopped() || done.contains(&(arm.scenario, name.clone())) {
                continue;
            }
            let arm = no_op(arm, &name);
            if noop.is_none_or(|noop| check_support(noop, &arm).is_err()) {
                continue;
            }
            report(Event::Calibrating { scenario: arm.scenario });
            let mut bench = Bench {
                runner: driver.runner,
                prepared: &prepared[index],
                directory: &scratch.trial,
                patience: Patience { trial: Duration::from_secs(60), ..self.options.patience },
                keep_going: &mut || !self.stopped(),
            };
            // A calibration that fails costs its line in the report, no more.
            if let (Outcome::Measured(measurement), _) = trial::run(&arm, "noop", &mut bench) {
                self.recorder.calibration(arm.scenario, &name, &measurement.result)?;
            }
            done.push((arm.scenario, name));
        }
        Ok(())
    }
}

/// The same work without a database and without its pauses: closed loop, a fifth of a second at most.
fn no_op(arm: &Arm, runner: &str) -> Arm {
    let mut arm = arm.clone();
    arm.driver = format!("{runner}:noop");
    arm.trial.driver = "noop".into();
    // They are the other driver's, and refused by one that does not know them.
    arm.trial.connection.options.clear();
    arm.invariants.clear();
    arm.content.clear();
    (arm.search, arm.kill) = (None, None);
    arm.trial.warmup_ms = 0;
    for role in &mut arm.trial.roles {
        role.load = litelab_protocol::Load::Closed { think_us: 0 };
        match &mut role.until {
            Until::Count { transactions } => *transactions = (*transactions).min(CALIBRATION_COUNT),
            Until::Time { ms } => *ms = (*ms).min(CALIBRATION_MS),
            Until::Role { .. } => {}
        }
    }
    for transaction in &mut arm.trial.transactions {
        transaction.hold_us = 0;
        transaction.statements.iter_mut().for_each(|s| s.hold_us = 0);
    }
    arm
}

/// Blocks of the scenario that has most.
fn blocks(plan: &Plan) -> u32 {
    plan.scenarios.iter().map(|s| s.blocks).max().unwrap_or_default()
}

/// The run's own folder: removed when the run ends, however it ends short of a kill.
struct Scratch {
    _folder: tempfile::TempDir,
    prepared: PathBuf,
    trial: PathBuf,
}

impl Scratch {
    fn make(directory: &Path) -> Result<Self, EngineError> {
        let failed = |e: std::io::Error| EngineError::io("make a scratch folder in it", directory, &e);
        remove_stale(directory);
        let prefix = format!(".scratch-{}-", std::process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(directory).map_err(failed)?;
        // Runners work in another directory, so every path they are given is absolute.
        let root = std::path::absolute(folder.path()).map_err(failed)?;
        let (prepared, trial) = (root.join("prepared"), root.join("trial"));
        for path in [&prepared, &trial] {
            std::fs::create_dir(path).map_err(failed)?;
        }
        Ok(Self { _folder: folder, prepared, trial })
    }
}

/// Removes scratch folders whose process is gone: a killed run cannot clean up after itself.
fn remove_stale(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|n| n.strip_prefix(".scratch-")) else { continue };
        let pid = rest.split('-').next().unwrap_or_default();
        let is_number = !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit());
        // Where /proc is absent nothing can be known, and nothing is removed.
        if is_number && Path::new("/proc/self").exists() && !Path::new("/proc").join(pid).exists() {
            let _left = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A variable from the command line: `rows=1000`, `mode=x`.
///
/// # Errors
/// When there is no `=`.
pub fn variable(text: &str) -> Result<(String, Scalar), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}`: write NAME=VALUE"))?;
    let value = value.trim();
    let scalar = value
        .parse()
        .map(Scalar::Integer)
        .or_else(|_| value.parse().map(Scalar::Real))
        .or_else(|_| value.parse().map(Scalar::Bool))
        .unwrap_or_else(|_| Scalar::Text(value.to_owned()));
    Ok((name.trim().to_owned(), scalar))
}
