//! Execution of a run: in turns of one round per scenario, each round one trial per variant in random order, stored as
//! it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use litelab_model::resolve::AA;
use litelab_model::{Plan, Scalar};
use litelab_observe::environment::{self, Environment, Filesystem, LoadProbe};
use litelab_protocol::Description;
use litelab_record::calibration::{self, Host, StoredCalibration};
use litelab_record::outcome::{Outcome, Series, TrialRecord};
use litelab_record::{RecordError, Recorder, RunFile};
use litelab_stats::Schedule;

use crate::error::EngineError;
use crate::event::RunEvent;
use crate::hopeless;
use crate::noop;
use crate::perf::Perf;
use crate::prepare::{self, Prepared};
use crate::ready::{self, Ready, With};
use crate::runner::{NOOP, Runner, Runners};
use crate::scratch::Scratch;
use crate::search;
use crate::servers::{Servers, Urls};
use crate::trial::{self, Patience, TrialContext};

/// Sampling tool, found in PATH.
const PERF: &str = "perf";

/// Time that a run waits for another program that holds its file.
const HELD: Duration = Duration::from_secs(3600);

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Run file to create or resume.
    pub file: PathBuf,
    /// Directory whose disk is under test. The run creates a folder in it and removes that at the end.
    pub directory: PathBuf,
    /// Servers of the user, used in place of servers started by the run.
    pub urls: Urls,
    /// Deadlines of each trial.
    pub patience: Patience,
    /// Whether the cost of the harness is measured first.
    pub calibrate: bool,
    /// Whether every variant runs once more at the end under `perf`, for its call stacks.
    pub flame: bool,
}

/// A run that is ready to execute.
pub struct Run<'a> {
    plan: Plan,
    recorder: Recorder,
    environment: Environment,
    /// Number of rounds of each scenario in the run file.
    done: Vec<u32>,
    /// Number of failed trials in the run file when it was resumed.
    failed_before: u32,
    /// Scenarios that are given up, because all trials of their first round failed.
    hopeless: BTreeSet<usize>,
    /// Variants whose call stacks are in the run file.
    sampled: BTreeSet<usize>,
    options: RunOptions,
    runners: &'a Runners,
    descriptions: BTreeMap<String, Description>,
    servers: Servers,
    scratch: Scratch,
    stop: &'a AtomicBool,
}

/// Result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Number of rounds in the run file, over all scenarios.
    pub rounds: u32,
    /// Number of failed trials in the run file, over all scenarios.
    pub failed: u32,
    /// Whether a signal interrupted the run.
    pub interrupted: bool,
}

impl RunOptions {
    /// Options of a run without a user's servers, calibration and call stacks, with the default deadlines.
    #[must_use]
    pub fn new(file: PathBuf, directory: PathBuf) -> Self {
        let (urls, patience) = (Urls::default(), Patience::default());
        Self { file, directory, urls, patience, calibrate: false, flame: false }
    }

    fn with<'a>(&'a self, runners: &'a Runners, stop: &'a AtomicBool) -> With<'a> {
        With { directory: &self.directory, urls: &self.urls, runners, stop: Some(stop) }
    }
}

impl<'a> Run<'a> {
    /// Runs all checks ([`Ready::check`]) and creates the run file.
    ///
    /// # Errors
    /// The first obstacle to the run.
    pub fn new(
        plan: Plan,
        study_toml: &str,
        options: RunOptions,
        runners: &'a Runners,
        stop: &'a AtomicBool,
    ) -> Result<Self, EngineError> {
        let ready = Ready::check(plan, options.with(runners, stop))?;
        Self::begin(ready, study_toml, options, runners, stop)
    }

    /// Creates the run file of a checked plan. Directory and runners must be those of the check.
    ///
    /// # Errors
    /// If the run file cannot be created.
    pub fn begin(
        ready: Ready,
        study_toml: &str,
        options: RunOptions,
        runners: &'a Runners,
        stop: &'a AtomicBool,
    ) -> Result<Self, EngineError> {
        let Ready { plan, descriptions, environment, servers, scratch } = ready;
        let directory = std::path::absolute(&options.directory)
            .map_err(|e| EngineError::io("find this directory", &options.directory, &e))?;
        let recorder = Recorder::create(&options.file, &plan, study_toml, &environment, |recorder| {
            for description in descriptions.values() {
                recorder.runner(description)?;
            }
            recorder.directory(&directory)?;
            recorder.builds(&builds(runners, descriptions.keys()))?;
            recorder.servers(&servers.records())?;
            recorder.sources(&prepare::sources(&plan))
        })?;
        Ok(Self {
            done: vec![0; plan.scenarios.len()],
            plan,
            recorder,
            environment,
            failed_before: 0,
            hopeless: BTreeSet::new(),
            sampled: BTreeSet::new(),
            options,
            runners,
            descriptions,
            servers,
            scratch,
            stop,
        })
    }

    /// Resumes a run file, in a directory on the file system on which the run began.
    ///
    /// # Errors
    /// If the file is not a run file, is complete or in use by another process, if the directory is on another file
    /// system, or if the runners, their programs, servers or the source of the data differ from those the run began with.
    pub fn resume(options: RunOptions, runners: &'a Runners, stop: &'a AtomicBool) -> Result<Self, EngineError> {
        let file = RunFile::open(&options.file)?;
        let recorder = Recorder::open(&options.file)?;
        // Read under the recorder's lock, so that no other process can append to it.
        let info = file.info()?;
        let complete = info.plan.scenarios.iter().zip(&info.done).all(|(scenario, done)| *done >= scenario.rounds);
        // A run killed between its last round and its end mark only lacks the mark.
        if complete && info.finished.is_some() && !options.flame {
            return Err(EngineError::BadInput(format!(
                "{}: all {} rounds are there; nothing is left to do but to take call stacks with --flame",
                options.file.display(),
                info.done.iter().sum::<u32>()
            )));
        }
        let mut plan = info.plan;
        // The plan is what the file says: its SQL is checked as that of a study is.
        crate::compile::compile(&mut plan)?;
        // A variant whose runner was installed since would have fewer rounds than the others.
        let descriptions = ready::describe(&mut plan, options.with(runners, stop))?;
        let now = builds(runners, info.builds.keys());
        for before in &info.runners {
            let name = &before.runner;
            let what = if descriptions.get(name) != Some(before) {
                "runner"
            } else if info.builds.get(name) != now.get(name) {
                "the program of runner"
            } else {
                continue;
            };
            return Err(EngineError::BadInput(format!(
                "{}: {what} `{name}` has changed since this run began, so its rounds would not be comparable: restore what it \
                 was built from and build it again, or begin a new run",
                options.file.display(),
            )));
        }
        same_file_system(&options, &info.environment)?;
        let sources = prepare::sources(&plan);
        if let Some((path, _)) = info.sources.iter().find(|(path, before)| sources.get(*path) != Some(before)) {
            return Err(EngineError::BadInput(format!(
                "{}: {path}, which the data come from, has changed since this run began, so its rounds would not be \
                 comparable: begin a new run",
                options.file.display()
            )));
        }
        for (server, before) in &info.servers {
            if before.own != options.urls.contains(*server) {
                let what = if before.own {
                    format!("was your own ({}): name it with --url", before.url)
                } else {
                    "was started by litelab: leave --url out".into()
                };
                return Err(EngineError::BadInput(format!("{}: server `{server}` {what}", options.file.display())));
            }
        }
        let scratch = Scratch::make(&options.directory)?;
        let skipped: Vec<bool> = plan.variants.iter().map(|variant| variant.skipped.is_some()).collect();
        let servers = ready::provide(&mut plan, options.with(runners, stop))?;
        let newly = plan.variants.iter().zip(skipped).find(|(variant, before)| variant.skipped.is_some() && !before);
        if let Some(reason) = newly.and_then(|(variant, _)| variant.skipped.clone()) {
            return Err(EngineError::Failed(reason));
        }
        for (server, now) in servers.records() {
            let Some(before) = info.servers.get(&server) else { continue };
            let path = options.file.display();
            if before.version != now.version {
                return Err(EngineError::BadInput(format!(
                    "{path}: server `{server}` was {} when this run began and is {}, so its rounds would not be comparable: begin a new run",
                    before.version, now.version
                )));
            }
            if now.own && before.url != now.url {
                return Err(EngineError::BadInput(format!(
                    "{path}: server `{server}` was {} when this run began, and not {}",
                    before.url, now.url
                )));
            }
        }
        let (hopeless, failed_before) = hopeless::in_file(&file, &plan)?;
        Ok(Self {
            plan,
            recorder,
            environment: info.environment,
            done: info.done,
            failed_before,
            hopeless,
            sampled: info.stacks.into_keys().collect(),
            options,
            runners,
            descriptions,
            servers,
            scratch,
            stop,
        })
    }

    /// Stores the newest calibration of this host and disk below `data` with the run, and returns it; `None` if there
    /// is none.
    ///
    /// # Errors
    /// If the run file cannot be written.
    pub fn calibrated(&self, data: &Path) -> Result<Option<StoredCalibration>, EngineError> {
        let kept = calibration::newest(data, &Host::of(&self.environment)).map(StoredCalibration::now);
        if let Some(kept) = &kept {
            self.recorder.host(kept)?;
        }
        Ok(kept)
    }

    /// The plan, with its statements compiled.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Executes the remaining rounds.
    ///
    /// # Errors
    /// If a database cannot be prepared or the run file cannot be written. A failed trial is not an error.
    pub fn execute(mut self, report: &mut dyn FnMut(RunEvent<'_>)) -> Result<Ended, EngineError> {
        let mut ended = Ended { rounds: self.done.iter().sum(), failed: self.failed_before, interrupted: false };
        match self.carry_on(&mut ended, report) {
            Err(EngineError::Interrupted) => Ok(Ended { interrupted: true, ..ended }),
            other => other.map(|()| ended),
        }
    }

    fn carry_on(&mut self, ended: &mut Ended, report: &mut dyn FnMut(RunEvent<'_>)) -> Result<(), EngineError> {
        let file = self.options.file.clone();
        report(RunEvent::Started { plan: &self.plan, environment: &self.environment, file: &file, done: &self.done });
        let prepared = Prepared::new(&self.scratch.prepared).until(self.stop);
        let mut perf = None;
        if self.options.flame {
            // Checked before the first trial, so that the user learns of a missing `perf` at once.
            match Perf::find(PERF, &self.scratch.flame) {
                Ok(found) => perf = Some(found),
                Err(reason) => report(RunEvent::NotSampled { variant: None, reason: &reason }),
            }
        }
        let mut prepared_files = Vec::new();
        for (index, variant) in self.plan.variants.iter().enumerate() {
            self.go_on()?;
            if variant.skipped.is_some() || variant.server.is_some() {
                // A placeholder, because files are indexed by variant.
                prepared_files.push(PathBuf::new());
                continue;
            }
            prepared_files.push(
                prepared.file(variant, &mut |rows, of| report(RunEvent::Preparing { variant: index, rows, of }))?,
            );
        }
        if self.options.calibrate && ended.rounds == 0 {
            self.calibrate(&prepared_files, report)?;
        }
        let mut rates = BTreeMap::new();
        let due: Vec<_> = turns(&self.plan).filter(|(scenario, round)| *round >= self.done[*scenario]).collect();
        for (scenario, round) in due {
            if self.hopeless.contains(&scenario) {
                continue;
            }
            let started = litelab_record::now();
            let load = LoadProbe::start();
            let mut trials = Vec::new();
            for (position, variant) in order(&self.plan, scenario, round).into_iter().enumerate() {
                report(RunEvent::TrialStarted { round, variant });
                let (record, series) =
                    self.trial((round, variant, position as u32), &prepared_files[variant], report)?;
                self.go_on()?;
                rates.extend(sustained(&record).map(|rate| (variant, rate)));
                ended.failed += u32::from(matches!(record.outcome, Outcome::Failed(_)));
                report(RunEvent::TrialEnded { record: &record, series: &series });
                trials.push((record, series));
            }
            let load = load.finish();
            self.store(report, |recorder| recorder.round((scenario, round), &started, &load, &trials))?;
            ended.rounds += 1;
            report(RunEvent::RoundStored { scenario, round });
            let records = trials.iter().map(|(record, _)| record);
            if let Some(reason) = hopeless::reason(&self.plan, records).filter(|_| round == 0) {
                report(RunEvent::ScenarioEnded { scenario, reason });
                self.hopeless.insert(scenario);
            }
        }
        self.store(report, |recorder| recorder.finished())?;
        if let Some(perf) = &mut perf {
            self.sample(perf, &prepared_files, &rates, report)?;
            self.go_on()?;
        }
        Ok(())
    }

    /// Writes to the run file, and waits while another program holds it.
    fn store(
        &mut self,
        report: &mut dyn FnMut(RunEvent<'_>),
        mut write: impl FnMut(&mut Recorder) -> Result<(), RecordError>,
    ) -> Result<(), EngineError> {
        let begun = Instant::now();
        loop {
            match write(&mut self.recorder) {
                Err(RecordError::Busy(_)) if begun.elapsed() < HELD => {
                    self.go_on()?;
                    report(RunEvent::FileHeld { file: &self.options.file, seconds: begun.elapsed().as_secs() });
                }
                written => return Ok(written?),
            }
        }
    }

    /// Runs one further trial of each variant for its call stacks; a variant with a search runs at the rate in `rates`,
    /// or at the first one.
    fn sample(
        &mut self,
        perf: &mut Perf,
        prepared: &[PathBuf],
        rates: &BTreeMap<usize, f64>,
        report: &mut dyn FnMut(RunEvent<'_>),
    ) -> Result<(), EngineError> {
        for (index, prepared) in prepared.iter().enumerate() {
            let variant = &self.plan.variants[index];
            if variant.skipped.is_some() || self.sampled.contains(&index) || variant.dimensions.contains_key(AA) {
                continue;
            }
            self.go_on()?;
            report(RunEvent::Sampling { variant: index });
            let driver = self.runners.driver(&variant.driver)?;
            let mut keep_going = || !self.stopped();
            let mut bench = self.context(driver.runner, prepared, &mut keep_going);
            let rate = |from: f64| rates.get(&index).copied().unwrap_or(from);
            let variant =
                variant.search.as_ref().map_or_else(|| variant.clone(), |s| search::at_rate(variant, s, rate(s.from)));
            match trial::stacks(&variant, &format!("flame/{index}"), &mut bench, perf) {
                Ok(stacks) => self.store(report, |recorder| recorder.stacks(index, &stacks))?,
                Err(_) if self.stopped() => break,
                Err(reason) => report(RunEvent::NotSampled { variant: Some(index), reason: &reason }),
            }
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), EngineError> {
        if self.stopped() { Err(EngineError::Interrupted) } else { Ok(()) }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Context of a trial with the run's servers and deadlines.
    fn context<'c>(
        &'c self,
        runner: &'c Runner,
        prepared: &'c Path,
        keep_going: &'c mut dyn FnMut() -> bool,
    ) -> TrialContext<'c> {
        let (servers, directory) = (Some(&self.servers), self.scratch.trial.as_path());
        TrialContext { runner, prepared, servers, directory, patience: self.options.patience, keep_going }
    }

    fn trial(
        &self,
        (round, variant, position): (u32, usize, u32),
        prepared: &Path,
        report: &mut dyn FnMut(RunEvent<'_>),
    ) -> Result<(TrialRecord, Series), EngineError> {
        let started = litelab_record::now();
        let begun = Instant::now();
        let plan = &self.plan.variants[variant];
        let driver = self.runners.driver(&plan.driver)?;
        let mut keep_going = || !self.stopped();
        let mut bench = self.context(driver.runner, prepared, &mut keep_going);
        let id = format!("{round}/{variant}");
        let (outcome, series) = match &plan.search {
            None => trial::run(plan, &id, &mut bench),
            Some(search) => {
                search::run(plan, search, &id, &mut bench, &mut |probe| report(RunEvent::Probed { variant, probe }))
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        Ok((TrialRecord { round, variant, position, started, seconds, outcome }, series))
    }

    /// Runs one short no-op trial per scenario and runner, which measures the cost of the harness per transaction.
    fn calibrate(&mut self, prepared: &[PathBuf], report: &mut dyn FnMut(RunEvent<'_>)) -> Result<(), EngineError> {
        let mut done = Vec::new();
        for (index, prepared) in prepared.iter().enumerate() {
            let variant = &self.plan.variants[index];
            if variant.skipped.is_some() {
                continue;
            }
            let driver = self.runners.driver(&variant.driver)?;
            let name = driver.runner.manifest.name.clone();
            if self.stopped() || done.contains(&(variant.scenario, name.clone())) {
                continue;
            }
            let noop = self.descriptions.get(&name).and_then(|description| noop::variant(variant, &name, description));
            let Some(variant) = noop else { continue };
            report(RunEvent::Calibrating { scenario: variant.scenario });
            // A variant on a server has no prepared file; its no-op trial uses an empty one.
            let empty = match self.plan.variants[index].server {
                None => None,
                Some(_) => Some(Prepared::new(&self.scratch.prepared).file(&variant, &mut |_, _| {})?),
            };
            let mut keep_going = || !self.stopped();
            let mut bench = TrialContext {
                servers: None,
                patience: noop::patience(self.options.patience),
                ..self.context(driver.runner, empty.as_deref().unwrap_or(prepared), &mut keep_going)
            };
            // A failed calibration only leaves out its line in the report.
            if let (Outcome::Measured(measurement), _) = trial::run(&variant, NOOP, &mut bench) {
                self.store(report, |recorder| recorder.calibration(variant.scenario, &name, &measurement.result))?;
            }
            done.push((variant.scenario, name));
        }
        Ok(())
    }
}

/// Refuses a directory on another file system than the one the run began on. A missing directory counts as lying on the
/// file system of its nearest existing ancestor.
fn same_file_system(options: &RunOptions, began: &Environment) -> Result<(), EngineError> {
    let directory = std::path::absolute(&options.directory)
        .map_err(|e| EngineError::io("find this directory", &options.directory, &e))?;
    let Some(existing) = directory.ancestors().find(|folder| folder.is_dir()) else { return Ok(()) };
    let before = Disk::of(began.filesystem.as_ref(), began.disk.as_ref());
    let now = Disk::of(Filesystem::of(existing).as_ref(), environment::Disk::below(existing).as_ref());
    if before == now {
        return Ok(());
    }
    Err(EngineError::BadInput(format!(
        "{}: its rounds were measured on {before}, and {} is on {now}: mount the former again, name a directory on it with \
         --dir, or begin a new run",
        options.file.display(),
        options.directory.display()
    )))
}

/// Identity of a file system, stable across reboots, because a run file may be resumed after one.
#[derive(PartialEq, Eq)]
struct Disk {
    kind: Option<String>,
    mount_point: Option<String>,
    device: Option<String>,
}

impl Disk {
    fn of(filesystem: Option<&Filesystem>, disk: Option<&environment::Disk>) -> Self {
        Self {
            kind: filesystem.and_then(|f| f.kind.clone()),
            mount_point: filesystem.and_then(|f| f.mount_point.clone()),
            device: disk.map(|d| d.device.clone()),
        }
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
        write!(f, "{} at {}", known(&self.kind), known(&self.mount_point))?;
        self.device.as_ref().map_or(Ok(()), |device| write!(f, " on {device}"))
    }
}

/// Order of the rounds of all scenarios, each with its number. Rounds give every scenario equally many rounds in a run
/// that is stopped; the order within a round is random, because a claim may compare variants of two scenarios.
fn turns(plan: &Plan) -> impl Iterator<Item = (usize, u32)> {
    let most = plan.scenarios.iter().map(|scenario| scenario.rounds).max().unwrap_or_default();
    let schedule = Schedule::new(plan.seed, plan.scenarios.len());
    let due = move |(scenario, round): &(usize, u32)| *round < plan.scenarios[*scenario].rounds;
    (0..most).flat_map(move |round| schedule.order(round).into_iter().map(move |s| (s, round))).filter(due)
}

/// Order of a scenario's variants within a round, one after the other, so that compared variants are close in time.
fn order(plan: &Plan, scenario: usize, round: u32) -> Vec<usize> {
    let run =
        |(_, variant): &(usize, &litelab_model::Variant)| variant.scenario == scenario && variant.skipped.is_none();
    let variants: Vec<usize> = plan.variants.iter().enumerate().filter(run).map(|(index, _)| index).collect();
    let order = Schedule::new(plan.seed, variants.len()).in_stream(scenario as u32 + 1).order(round);
    order.into_iter().map(|place| variants[place]).collect()
}

/// Sustainable rate found by a search; `None` if there is none.
fn sustained(record: &TrialRecord) -> Option<f64> {
    let Outcome::Measured(measurement) = &record.outcome else { return None };
    measurement.search.as_ref().map(|search| search.sustainable).filter(|rate| *rate > 0.0)
}

/// Fingerprints of runners by name; runners whose files cannot be read are omitted.
#[must_use]
pub fn builds<'n>(runners: &Runners, names: impl IntoIterator<Item = &'n String>) -> BTreeMap<String, String> {
    let of = |name: &String| Some((name.clone(), runners.get(name).ok()?.fingerprint()?));
    names.into_iter().filter_map(of).collect()
}

/// Parses a variable of the command line: `rows=1000`, `mode=x`.
///
/// # Errors
/// If `text` contains no `=`.
pub fn variable(text: &str) -> Result<(String, Scalar), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let value = value.trim();
    let scalar = value
        .parse()
        .map(Scalar::Integer)
        .or_else(|_| value.parse().map(Scalar::Real))
        .or_else(|_| value.parse().map(Scalar::Bool))
        .unwrap_or_else(|_| Scalar::Text(value.to_owned()));
    Ok((name.trim().to_owned(), scalar))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let toml = "name = 's'\ntitle = '?'\nworkload = 'insert'\nrounds = 6\n\
            [[scenario]]\nname = 'two'\nvary.profile = ['wal-full', 'wal-normal']\nrole.w = { run = 'insert', count = 1 }\n\
            [[scenario]]\nname = 'many'\nrounds = 9\nvary.workers = [1, 2, 3, 4, 5]\nrole.w = { run = 'insert', count = 5 }\n\
            [[scenario]]\nname = 'three'\nvary.workers = [1, 2, 3]\nrole.w = { run = 'insert', count = 3 }\n";
        let mut plan = crate::testkit::plan(None, toml);
        // Skips the second of three variants.
        plan.variants[8].skipped = Some("its runner is not built".into());
        plan
    }

    #[test]
    fn a_run_that_stops_has_as_many_rounds_of_each_scenario_as_there_was_time_for() {
        let plan = plan();
        let mut done = vec![0; plan.scenarios.len()];
        let mut orders = BTreeSet::new();
        for (at, (scenario, round)) in turns(&plan).enumerate() {
            assert_eq!(
                round, done[scenario],
                "rounds of a scenario come in order, so that their number tells what is left"
            );
            done[scenario] += 1;
            let all = |of: &dyn Fn(&u32) -> bool| done.iter().all(of);
            let highest = *done.iter().max().expect("three");
            let behind = |(index, n): (usize, &u32)| *n + 1 >= highest || *n >= plan.scenarios[index].rounds;
            assert!(done.iter().enumerate().all(behind), "{done:?}");
            if at % 3 == 2 && all(&|n| *n <= 6) {
                let turn: Vec<usize> = turns(&plan).skip(at - 2).take(3).map(|(scenario, _)| scenario).collect();
                orders.insert(turn);
            }
        }
        assert_eq!(done, plan.scenarios.iter().map(|s| s.rounds).collect::<Vec<_>>());
        assert!(orders.len() > 1, "scenarios take turns in going first: {orders:?}");
    }

    #[test]
    fn a_round_has_each_variant_of_its_scenario_once_and_two_take_turns() {
        let plan = plan();
        let mine = |scenario: usize| -> Vec<usize> {
            let run =
                |index: &usize| plan.variants[*index].scenario == scenario && plan.variants[*index].skipped.is_none();
            (0..plan.variants.len()).filter(run).collect()
        };
        for scenario in 0..plan.scenarios.len() {
            for round in 0..20 {
                let mut variants = order(&plan, scenario, round);
                variants.sort_unstable();
                assert_eq!(variants, mine(scenario));
            }
        }
        // Pairs of rounds run in the order AB BA, also with a skipped third variant.
        for scenario in [0, 2] {
            for pair in 0..20 {
                let mut second = order(&plan, scenario, 2 * pair + 1);
                second.reverse();
                assert_eq!(order(&plan, scenario, 2 * pair), second);
            }
        }
        let leads =
            |scenario| (0..32).map(|round| order(&plan, scenario, round)[0] == mine(scenario)[0]).collect::<Vec<_>>();
        assert_ne!(leads(0), leads(2), "each scenario has a stream of its own");
    }
}
