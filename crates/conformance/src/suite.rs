//! Runs the checks of each driver, several in parallel.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use litelab_engine::runner::Runner;
use litelab_engine::{EngineError, Runners, Urls, scratch};
use litelab_protocol::{Description, DriverDescription};

use crate::check::{self, Check, Finding};
use crate::conversation::Limits;
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

/// The suite, or a selection of its checks.
#[derive(Clone, Debug)]
pub struct Suite<'a> {
    runners: &'a Runners,
    scratch: &'a Path,
    limits: Limits,
    only: Option<Vec<String>>,
    jobs: usize,
    stop: Option<&'a AtomicBool>,
    urls: Option<&'a Urls>,
}

/// Checks a runner, or one driver of it (`runner:driver`), with the whole suite. Temporary files are created in
/// `scratch` and removed.
///
/// # Errors
/// Fails if the runner or driver does not exist, `scratch` is not writable, or a server given by the user does not
/// answer. Defects of the runner are results in the report, not errors.
pub fn check(
    runners: &Runners,
    name: &str,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, EngineError> {
    Suite::new(runners, scratch).check(name, progress)
}

/// A driver to check: the smallest unit of parallel work.
struct Part<'a> {
    runner: &'a Runner,
    description: Arc<Description>,
    driver: String,
    /// Index of the report of its runner, and index of the driver in that report.
    place: (usize, usize),
}

impl Part<'_> {
    /// Description of the driver, as the runner reports it.
    fn described(&self) -> Option<&DriverDescription> {
        self.description.drivers.iter().find(|d| d.name == self.driver)
    }
}

/// Messages from the threads of the parts; the first number is the index of the part.
enum Told {
    Started(usize, &'static str),
    Ended(usize, CheckOutcome),
    Over(usize, Vec<CheckOutcome>),
    /// The driver was not checked because its server is missing.
    Impossible(usize, String),
}

impl<'a> Suite<'a> {
    /// All checks, one at a time, with the default limits.
    #[must_use]
    pub fn new(runners: &'a Runners, scratch: &'a Path) -> Self {
        Self { runners, scratch, limits: Limits::default(), only: None, jobs: 1, stop: None, urls: None }
    }

    /// Sets the limits. Default: [`Limits::default`].
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
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
    /// As [`check()`].
    pub fn check(&self, name: &str, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Report, EngineError> {
        let stopped = || EngineError::BadInput("the suite was stopped".into());
        self.check_all(&[name], progress)?.pop().ok_or_else(stopped)
    }

    /// Checks runners or drivers (`runner:driver`). Returns one report per runner, in the order of the names.
    ///
    /// # Errors
    /// As [`check()`], before any check is made.
    pub fn check_all(
        &self,
        names: &[&str],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Report>, EngineError> {
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
        for driver in parts.iter().filter_map(Part::described) {
            servers.reach(driver.dialect).map_err(EngineError::BadInput)?;
        }
        let unfinished = self.side_by_side(&parts, &absolute, &servers, &mut reports, progress);
        let all = reports.into_iter().zip(unfinished);
        Ok(all.filter(|(_, unfinished)| *unfinished == 0).map(|(report, _)| report).collect())
    }

    /// Requests the description of a runner and lists the drivers to check.
    fn begin(
        &self,
        runner: &'a Runner,
        driver: Option<&str>,
        place: usize,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> (Report, Vec<Part<'a>>) {
        let name = runner.manifest.name.as_str();
        let begun = Instant::now();
        progress(Progress::Started { runner: name, driver: None, check: check::describe::NAME });
        let described = check::describe::describe(runner);
        let outcome = outcome(
            check::describe::NAME,
            described.as_ref().map(|(.., seen)| Finding::Passed(seen.clone())).map_err(Clone::clone),
            begun,
        );
        progress(Progress::Ended { runner: name, driver: None, outcome: &outcome });
        let report = Report { runner: name.to_owned(), checks: vec![outcome], ..Report::default() };
        let Ok((description, absent, _)) = described else { return (report, Vec::new()) };
        let wanted = |name: &str| driver.is_none_or(|wanted| wanted == name);
        let absent = absent.into_iter().filter(|a| wanted(&a.driver)).collect();
        let description = Arc::new(description);
        let names = description.drivers.iter().map(|d| d.name.clone()).filter(|name| wanted(name));
        let part = |(i, driver)| Part { runner, description: Arc::clone(&description), driver, place: (place, i) };
        let parts: Vec<_> = names.enumerate().map(part).collect();
        let drivers = parts.iter().map(|p| DriverReport { driver: p.driver.clone(), checks: Vec::new() }).collect();
        (Report { absent, drivers, ..report }, parts)
    }

    /// Checks the parts in parallel. Returns the number of incomplete parts for each report.
    fn side_by_side(
        &self,
        parts: &[Part<'_>],
        directory: &Path,
        servers: &Servers<'_>,
        reports: &mut [Report],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Vec<usize> {
        let mut left: Vec<usize> = reports.iter().map(|report| report.drivers.len()).collect();
        for (report, _) in reports.iter().zip(&left).filter(|(_, left)| **left == 0) {
            progress(Progress::Examined(report));
        }
        let permits = Permits::new(self.jobs);
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            for (i, part) in parts.iter().enumerate() {
                let (tell, permits) = (tell.clone(), &permits);
                scope.spawn(move || {
                    if let Some(over) = self.examine(i, part, directory, servers, permits, &tell) {
                        let _listening = tell.send(over);
                    }
                });
            }
            drop(tell);
            for told in told {
                match told {
                    Told::Started(i, check) => {
                        let Part { runner, driver, .. } = &parts[i];
                        progress(Progress::Started { runner: &runner.manifest.name, driver: Some(driver), check });
                    }
                    Told::Ended(i, outcome) => {
                        let Part { runner, driver, .. } = &parts[i];
                        let runner = &runner.manifest.name;
                        progress(Progress::Ended { runner, driver: Some(driver), outcome: &outcome });
                    }
                    Told::Over(i, _) | Told::Impossible(i, _) => {
                        let (report, driver) = parts[i].place;
                        let report_of = &mut reports[report];
                        match told {
                            Told::Impossible(_, why) => report_of.unexamined.push((parts[i].driver.clone(), why)),
                            Told::Over(_, outcomes) => report_of.drivers[driver].checks = outcomes,
                            _ => {}
                        }
                        left[report] -= 1;
                        if left[report] == 0 {
                            // Drivers that could not be checked must not count as passed.
                            report_of
                                .drivers
                                .retain(|d| report_of.unexamined.iter().all(|(name, _)| *name != d.driver));
                            progress(Progress::Examined(report_of));
                        }
                    }
                }
            }
        });
        left
    }

    fn wants(&self, check: &Check) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == check.name))
    }

    /// Runs all checks of a driver. `None` if the suite was stopped before the last check.
    fn examine(
        &self,
        i: usize,
        part: &Part<'_>,
        directory: &Path,
        servers: &Servers<'_>,
        permits: &Permits,
        tell: &Sender<Told>,
    ) -> Option<Told> {
        let permit = permits.take();
        if self.is_stopped() {
            return None;
        }
        let described = part.described()?;
        let begun = Instant::now();
        let server = match servers.get(described.dialect) {
            Ok(server) => server,
            Err(Unavailable::Interrupted) => return None,
            Err(Unavailable::Missing(why)) => return Some(Told::Impossible(i, why)),
            Err(Unavailable::Failed(why)) => {
                let failed = outcome("server", Err(why), begun);
                let _listening = tell.send(Told::Ended(i, failed.clone()));
                return Some(Told::Over(i, vec![failed]));
            }
        };
        drop(permit);
        let all = check::of(described);
        let checks: Vec<&Check> = all.iter().copied().filter(|check| self.wants(check)).collect();
        let subject = (part, described, server);
        let (Some(first), rest) = (checks.first(), checks.get(1..).unwrap_or_default()) else {
            return Some(Told::Over(i, Vec::new()));
        };
        let first = self.make(i, subject, directory, (0, first), permits, tell)?;
        // A driver that fails at inserting ten rows would run into the time limit of every other check.
        if first.name == all[0].name && first.verdict == CheckVerdict::Failed {
            let _permit = permits.take();
            let untried = rest.iter().map(|check| {
                let why = format!("not tried, for `{}` failed", first.name);
                let skipped = outcome(check.name, Ok(Finding::Skipped(why)), Instant::now());
                let _listening = tell.send(Told::Started(i, check.name));
                let _listening = tell.send(Told::Ended(i, skipped.clone()));
                skipped
            });
            let untried = untried.collect::<Vec<_>>();
            return Some(Told::Over(i, std::iter::once(first).chain(untried).collect()));
        }
        let width = if server.is_some() { 1 } else { self.jobs.clamp(1, rest.len().max(1)) };
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..width {
                let (tell, next, found) = (tell.clone(), &next, &found);
                scope.spawn(move || {
                    while let Some((at, check)) =
                        Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, *rest.get(at)?)))
                    {
                        let Some(outcome) = self.make(i, subject, directory, (at + 1, check), permits, &tell) else {
                            return;
                        };
                        found.lock().unwrap_or_else(PoisonError::into_inner).push((at, outcome));
                    }
                });
            }
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by_key(|(at, _)| *at);
        let is_whole = found.len() == rest.len();
        let outcomes = std::iter::once(first).chain(found.into_iter().map(|(_, outcome)| outcome));
        is_whole.then(|| Told::Over(i, outcomes.collect()))
    }

    /// Runs one check of a driver in a new folder. `None` if the suite was stopped first.
    fn make(
        &self,
        i: usize,
        (part, described, server): (&Part<'_>, &DriverDescription, Option<&str>),
        directory: &Path,
        (number, check): (usize, &Check),
        permits: &Permits,
        tell: &Sender<Told>,
    ) -> Option<CheckOutcome> {
        let _permit = permits.take();
        if self.is_stopped() {
            return None;
        }
        let begun = Instant::now();
        let _listening = tell.send(Told::Started(i, check.name));
        let folder = directory.join(format!("{}-{}-{number}", part.runner.manifest.name, part.driver));
        let found = std::fs::create_dir(&folder)
            .map_err(|e| format!("{}: {e}", folder.display()))
            .and_then(|()| (check.run)(&Subject::new(part.runner, described, self.limits, &folder, server)));
        let _left = std::fs::remove_dir_all(&folder);
        let outcome = outcome(check.name, found, begun);
        let _listening = tell.send(Told::Ended(i, outcome.clone()));
        Some(outcome)
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// Limits the number of checks that run in parallel.
struct Permits {
    free: Mutex<usize>,
    returned: Condvar,
}

/// Permission for one check, returned on drop.
struct Permit<'a>(&'a Permits);

impl Permits {
    fn new(count: usize) -> Self {
        Self { free: Mutex::new(count.max(1)), returned: Condvar::new() }
    }

    fn take(&self) -> Permit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.returned.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.returned.notify_one();
    }
}

fn outcome(name: &str, found: Result<Finding, String>, begun: Instant) -> CheckOutcome {
    let (verdict, detail) = match found {
        Ok(Finding::Passed(detail)) => (CheckVerdict::Passed, detail),
        Ok(Finding::Skipped(detail)) => (CheckVerdict::Skipped, detail),
        Err(detail) => (CheckVerdict::Failed, detail),
    };
    CheckOutcome { name: name.to_owned(), verdict, detail, seconds: begun.elapsed().as_secs_f64() }
}
