//! Runs the checks of each driver, several in parallel.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use litelab_engine::runner::Runner;
use litelab_engine::trial::Patience;
use litelab_engine::{EngineError, Runners, Urls, scratch};
use litelab_protocol::DriverDescription;

use crate::check::{self, Check, Found};
use crate::error::{At, tries};
use crate::report::{CheckOutcome, CheckVerdict, DriverReport, Report};
use crate::server::Servers;
use crate::subject::Subject;
use crate::unavailable::Unavailable;

/// Progress of the suite.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A check begins.
    Started {
        /// Name of the runner.
        runner: &'a str,
        /// Name of the driver; `None` for the runner as a whole.
        driver: Option<&'a str>,
        /// Name of the check.
        check: &'a str,
    },
    /// A check has ended.
    Ended {
        /// Name of the runner.
        runner: &'a str,
        /// Name of the driver; `None` for the runner as a whole.
        driver: Option<&'a str>,
        /// Result of the check.
        outcome: &'a CheckOutcome,
    },
    /// All checks of a runner have ended.
    Examined(&'a Report),
}

/// The caller's function that is informed of progress.
type OnProgress<'a> = dyn FnMut(Progress<'_>) + Send + 'a;

/// The suite, or a selection of its checks.
#[derive(Clone, Debug)]
pub struct Suite<'a> {
    runners: &'a Runners,
    scratch: &'a Path,
    patience: Patience,
    only: Option<Vec<String>>,
    jobs: usize,
    stop: Option<&'a AtomicBool>,
    urls: Option<&'a Urls>,
}

/// A driver to check: one part of a report.
struct Part<'a> {
    runner: &'a Runner,
    driver: DriverDescription,
    /// Index of the report of its runner, and index of the driver in that report.
    place: (usize, usize),
    checks: Vec<&'static Check>,
}

/// One check of one part, by their indices.
type Task = (usize, usize);

/// What the threads share.
struct Work<'a> {
    patience: Patience,
    stop: Option<&'a AtomicBool>,
    parts: Vec<Part<'a>>,
    directory: PathBuf,
    servers: Servers<'a>,
    state: Mutex<State<'a>>,
    /// Notified when a task has ended.
    ended: Condvar,
}

/// Tasks and outcomes.
struct State<'a> {
    tasks: VecDeque<Task>,
    /// Number of tasks that are being made.
    running: usize,
    reports: Vec<Report>,
    /// Outcomes of each part, by check.
    outcomes: Vec<BTreeMap<usize, CheckOutcome>>,
    /// Whether all checks of a part have ended.
    complete: Vec<bool>,
    progress: &'a mut OnProgress<'a>,
}

impl<'a> Suite<'a> {
    /// All checks, one at a time, with the default patience.
    #[must_use]
    pub fn new(runners: &'a Runners, scratch: &'a Path) -> Self {
        // Only meant to catch a hang: on a busy machine, or while the disk stalls, any step may take seconds. The longest
        // trial takes half a second, except where the runner is killed on purpose.
        let minute = Duration::from_secs(60);
        let patience = Patience { ready: minute, trial: minute, ..Patience::default() };
        Self { runners, scratch, patience, only: None, jobs: 1, stop: None, urls: None }
    }

    /// Sets the longest waits for a runner. Default: a minute for `ready` and for a trial, 20 s between two lines.
    #[must_use]
    pub fn patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    /// Runs only the checks of these names.
    #[must_use]
    pub fn only(self, names: &[&str]) -> Self {
        Self { only: Some(names.iter().map(|n| (*n).to_owned()).collect()), ..self }
    }

    /// Number of checks that run in parallel, at least one. Checks wait for the runner nine tenths of the time: most
    /// test pauses, deadlines and lost processes. The checks of one server driver run one after the other, because they
    /// share that server.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Self {
        Self { jobs, ..self }
    }

    /// Starts no further check once `stop` is true. Runners whose checks were not completed then have no report.
    #[must_use]
    pub fn stop(self, stop: &'a AtomicBool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Uses these servers in place of servers that the suite starts.
    #[must_use]
    pub fn urls(self, urls: &'a Urls) -> Self {
        Self { urls: Some(urls), ..self }
    }

    /// Checks a runner or `runner:driver`.
    ///
    /// # Errors
    /// As [`Suite::check_all`].
    pub fn check(&self, name: &str, progress: &mut OnProgress<'_>) -> Result<Report, EngineError> {
        let stopped = || EngineError::Interrupted;
        self.check_all(&[name], progress)?.pop().ok_or_else(stopped)
    }

    /// Checks runners or drivers (`runner:driver`). Returns one report per runner, in the order of the names. Temporary
    /// files are created in the suite's folder and removed.
    ///
    /// # Errors
    /// Fails before any check is made if a runner or driver does not exist, the folder is not writable, or a server given
    /// by the user does not answer. Defects of a runner are results in its report, not errors.
    pub fn check_all(&self, names: &[&str], progress: &mut OnProgress<'_>) -> Result<Vec<Report>, EngineError> {
        let wanted = names.iter().map(|name| match self.runners.get(name) {
            Ok(runner) => Ok((runner, None)),
            // A driver: `runner:driver`, or the driver's own name, which may have a colon (`node:sqlite`).
            Err(unknown) => match self.runners.driver(name) {
                Ok(driver) => Ok((driver.runner, Some(driver.name))),
                Err(error) => Err(if name.contains(':') { error } else { unknown }),
            },
        });
        let wanted = wanted.collect::<Result<Vec<_>, _>>()?;
        let refused = |e| EngineError::BadInput(format!("{}: cannot make a folder in it: {e}", self.scratch.display()));
        let directory = scratch::Folder::make(self.scratch).map_err(refused)?;
        let servers = Servers::new(self.scratch, self.urls, self.stop).map_err(refused)?;
        // Absolute, because runners have another working directory than the suite.
        let absolute = std::path::absolute(directory.path())
            .map_err(|e| EngineError::BadInput(format!("{}: {e}", directory.path().display())))?;
        let (mut reports, mut parts) = (Vec::new(), Vec::new());
        for (runner, driver) in wanted {
            let (report, drivers) = self.begin(runner, driver.as_deref(), reports.len(), progress);
            reports.push(report);
            parts.extend(drivers);
        }
        for part in &parts {
            servers.reach(part.driver.dialect).map_err(EngineError::BadInput)?;
        }
        for report in reports.iter().filter(|report: &&Report| report.drivers.is_empty()) {
            progress(Progress::Examined(report));
        }
        let state = State {
            tasks: (0..parts.len()).map(|part| (part, 0)).collect(),
            running: 0,
            outcomes: vec![BTreeMap::new(); parts.len()],
            complete: vec![false; parts.len()],
            reports,
            progress,
        };
        let (patience, stop, state) = (self.patience, self.stop, Mutex::new(state));
        let work = Work { patience, stop, parts, directory: absolute, servers, state, ended: Condvar::new() };
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(|| work.until_done());
            }
        });
        let reports = std::mem::take(&mut work.state().reports);
        let complete = &work.state().complete;
        let is_whole =
            |report| (work.parts.iter().zip(complete)).all(|(part, complete)| *complete || part.place.0 != report);
        Ok(reports.into_iter().enumerate().filter(|(i, _)| is_whole(*i)).map(|(_, report)| report).collect())
    }

    /// Requests the description of a runner and lists the drivers to check.
    fn begin(
        &self,
        runner: &'a Runner,
        driver: Option<&str>,
        report: usize,
        progress: &mut OnProgress<'_>,
    ) -> (Report, Vec<Part<'a>>) {
        let name = runner.manifest.name.as_str();
        let begun = Instant::now();
        progress(Progress::Started { runner: name, driver: None, check: check::describe::NAME });
        let (described, found) = match check::describe::describe(runner) {
            Ok((description, absent, seen)) => (Some((description, absent)), Ok((CheckVerdict::Passed, seen))),
            Err(e) => (None, Err(e)),
        };
        let outcome = outcome(check::describe::NAME, found, begun);
        progress(Progress::Ended { runner: name, driver: None, outcome: &outcome });
        let whole = Report { runner: name.to_owned(), checks: vec![outcome], ..Report::default() };
        let Some((description, absent)) = described else { return (whole, Vec::new()) };
        let wanted = |name: &str| driver.is_none_or(|wanted| wanted == name);
        let absent = absent.into_iter().filter(|a| wanted(&a.driver)).collect();
        let part = |(i, driver): (usize, DriverDescription)| {
            let mut checks = check::of(&driver);
            checks.retain(|check| self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == check.name)));
            Part { runner, place: (report, i), checks, driver }
        };
        let drivers = description.drivers.into_iter().filter(|driver| wanted(&driver.name));
        let parts: Vec<_> = drivers.enumerate().map(part).collect();
        let empty = |p: &Part<'_>| DriverReport { driver: p.driver.name.clone(), checks: Vec::new() };
        (Report { absent, drivers: parts.iter().map(empty).collect(), ..whole }, parts)
    }
}

impl<'a> Work<'a> {
    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes tasks until none is left, or until the suite is stopped.
    fn until_done(&self) {
        loop {
            let idle = |state: &mut State<'_>| state.tasks.is_empty() && state.running > 0;
            let mut state = self.ended.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
            let stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            let Some(task) = state.tasks.pop_front().filter(|_| !stopped) else { return };
            state.running += 1;
            drop(state);
            let _ended = Ended(self);
            self.make(task);
        }
    }

    /// Makes one check and adds the tasks that may follow it.
    fn make(&self, (p, c): Task) {
        let part = &self.parts[p];
        let begun = Instant::now();
        let server = match self.servers.get(part.driver.dialect) {
            Ok(server) => server,
            Err(Unavailable::Interrupted) => return,
            Err(Unavailable::Missing(why)) => {
                let mut state = self.state();
                state.reports[part.place.0].unexamined.push((part.driver.name.clone(), why));
                return state.complete(&self.parts, p);
            }
            Err(Unavailable::Failed(why)) => {
                let mut state = self.state();
                state.record(part, (p, c), outcome("server", Err(why.into()), begun));
                return state.complete(&self.parts, p);
            }
        };
        let Some(check) = part.checks.get(c) else { return self.state().complete(&self.parts, p) };
        self.state().start(part, check);
        let folder = self.directory.join(format!("{}-{}-{p}-{c}", part.runner.manifest.name, part.driver.name));
        let found = tries(|tried| {
            std::fs::create_dir_all(&folder).at(folder.display())?;
            let subject = Subject::new(part.runner, &part.driver, self.patience, &folder, server);
            let found = check.make(&Subject { tried, ..subject });
            let _left = std::fs::remove_dir_all(&folder);
            found
        });
        let outcome = outcome(check.name, found, begun);
        let is_minimum = check::of(&part.driver).first().is_some_and(|first| first.name == check.name);
        let (failed, mut state) = (outcome.verdict == CheckVerdict::Failed, self.state());
        state.record(part, (p, c), outcome);
        let others = c + 1..part.checks.len();
        if is_minimum && failed {
            // A driver that fails at inserting ten rows would run into the time limit of every other check.
            for at in others {
                let (untried, why) = (part.checks[at], format!("not tried, for `{}` failed", check.name));
                state.start(part, untried);
                state.record(
                    part,
                    (p, at),
                    self::outcome(untried.name, Ok((CheckVerdict::Skipped, why)), Instant::now()),
                );
            }
        } else {
            // The checks of a server driver follow each other; those of another driver follow its first. They come
            // before the tasks of other drivers, so that drivers are completed one after the other.
            let following = match (server, c) {
                (Some(_), _) => 1,
                (None, 0) => others.len(),
                (None, _) => 0,
            };
            others.take(following).enumerate().for_each(|(i, at)| state.tasks.insert(i, (p, at)));
        }
        if state.outcomes[p].len() == part.checks.len() {
            state.complete(&self.parts, p);
        }
    }
}

/// Ends a task when it is dropped, even by a panic.
struct Ended<'w, 'a>(&'w Work<'a>);

impl Drop for Ended<'_, '_> {
    fn drop(&mut self) {
        self.0.state().running -= 1;
        self.0.ended.notify_all();
    }
}

impl State<'_> {
    fn start(&mut self, part: &Part<'_>, check: &Check) {
        let (runner, driver) = (&part.runner.manifest.name, Some(part.driver.name.as_str()));
        (self.progress)(Progress::Started { runner, driver, check: check.name });
    }

    fn record(&mut self, part: &Part<'_>, (p, c): Task, outcome: CheckOutcome) {
        let (runner, driver) = (&part.runner.manifest.name, Some(part.driver.name.as_str()));
        (self.progress)(Progress::Ended { runner, driver, outcome: &outcome });
        self.outcomes[p].insert(c, outcome);
    }

    /// Ends a part, and with its last part the report.
    fn complete(&mut self, parts: &[Part<'_>], p: usize) {
        let (report, driver) = parts[p].place;
        let whole = &mut self.reports[report];
        whole.drivers[driver].checks = std::mem::take(&mut self.outcomes[p]).into_values().collect();
        self.complete[p] = true;
        if parts.iter().zip(&self.complete).all(|(part, complete)| *complete || part.place.0 != report) {
            // Drivers that could not be checked must not count as passed.
            whole.drivers.retain(|d| whole.unexamined.iter().all(|(name, _)| *name != d.driver));
            (self.progress)(Progress::Examined(whole));
        }
    }
}

fn outcome(name: &str, found: Found, begun: Instant) -> CheckOutcome {
    let (verdict, detail) = found.unwrap_or_else(|e| (CheckVerdict::Failed, e.to_string()));
    CheckOutcome { name: name.to_owned(), verdict, detail, seconds: begun.elapsed().as_secs_f64() }
}
