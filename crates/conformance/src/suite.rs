//! The checks in order, for each driver.

use std::path::Path;
use std::time::Instant;

use litelab_engine::runner::Runner;
use litelab_engine::{EngineError, Runners};
use litelab_protocol::Description;

use crate::check::{self, Check, Finding};
use crate::conversation::Limits;
use crate::report::{CheckOutcome, DriverReport, Report, Verdict};
use crate::subject::Subject;

/// One step of the suite.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A check begins.
    Started {
        /// Of this driver; none for the runner as a whole.
        driver: Option<&'a str>,
        /// Its name.
        check: &'a str,
    },
    /// A check is over.
    Ended {
        /// Of this driver; none for the runner as a whole.
        driver: Option<&'a str>,
        /// What it found.
        outcome: &'a CheckOutcome,
    },
}

/// The suite, or a part of it.
#[derive(Clone, Debug)]
pub struct Suite<'a> {
    runners: &'a Runners,
    scratch: &'a Path,
    limits: Limits,
    only: Option<Vec<String>>,
}

/// Checks a runner, or one driver of it (`runner:driver`), with the whole suite. Files are made in `scratch` and removed.
///
/// # Errors
/// When there is no such runner or driver, or `scratch` cannot be written. What is wrong with the runner is in the
/// report.
pub fn check(
    runners: &Runners,
    name: &str,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, EngineError> {
    Suite::new(runners, scratch).check(name, progress)
}

impl<'a> Suite<'a> {
    /// All checks, with the usual limits.
    #[must_use]
    pub fn new(runners: &'a Runners, scratch: &'a Path) -> Self {
        Self { runners, scratch, limits: Limits::default(), only: None }
    }

    /// With other limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Only the checks of these names.
    #[must_use]
    pub fn only(self, names: &[&str]) -> Self {
        Self { only: Some(names.iter().map(|n| (*n).to_owned()).collect()), ..self }
    }

    /// Checks a runner or `runner:driver`.
    ///
    /// # Errors
    /// As [`check()`].
    pub fn check(&self, name: &str, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Report, EngineError> {
        // A name with a colon is that of a driver: `runner:driver`, or its own name (`node:sqlite`).
        let (runner, driver) = if name.contains(':') {
            let driver = self.runners.driver(name)?;
            (driver.runner, Some(driver.name))
        } else {
            (self.runners.get(name)?, None)
        };
        let directory = tempfile::Builder::new().prefix("conformance-").tempdir_in(self.scratch).map_err(|e| {
            EngineError::BadInput(format!("{}: cannot make a folder in it: {e}", self.scratch.display()))
        })?;
        // Runners work in another directory than the suite.
        let absolute = std::path::absolute(directory.path())
            .map_err(|e| EngineError::BadInput(format!("{}: {e}", directory.path().display())))?;
        let runner_name = runner.manifest.name.clone();
        let mut report = Report { runner: runner_name, checks: Vec::new(), drivers: Vec::new(), absent: Vec::new() };
        let begun = Instant::now();
        progress(Progress::Started { driver: None, check: check::describe::NAME });
        let described = check::describe::describe(runner);
        let outcome = outcome(
            check::describe::NAME,
            described.as_ref().map(|(.., seen)| Finding::Passed(seen.clone())).map_err(Clone::clone),
            begun,
        );
        progress(Progress::Ended { driver: None, outcome: &outcome });
        report.checks.push(outcome);
        let Ok((description, absent, _)) = described else { return Ok(report) };
        let wanted = |name: &str| driver.as_ref().is_none_or(|wanted| wanted == name);
        report.absent = absent.into_iter().filter(|a| wanted(&a.driver)).collect();
        for described in description.drivers.iter().filter(|d| wanted(&d.name)) {
            let checks = self.driver(runner, &description, &described.name, &absolute, progress);
            report.drivers.push(DriverReport { driver: described.name.clone(), checks });
        }
        Ok(report)
    }

    fn wants(&self, check: &Check) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == check.name))
    }

    fn driver(
        &self,
        runner: &Runner,
        description: &Description,
        driver: &str,
        directory: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Vec<CheckOutcome> {
        let Some(described) = description.drivers.iter().find(|d| d.name == driver) else { return Vec::new() };
        let mut outcomes: Vec<CheckOutcome> = Vec::new();
        let checks = check::of(described);
        for (i, check) in checks.iter().filter(|c| self.wants(c)).enumerate() {
            let begun = Instant::now();
            progress(Progress::Started { driver: Some(driver), check: check.name });
            // What does not even insert ten rows would take every deadline of every other check.
            let dead = outcomes.first().is_some_and(|o| o.name == checks[0].name && o.verdict == Verdict::Failed);
            let found = if dead {
                Ok(Finding::Skipped(format!("not tried, for `{}` failed", checks[0].name)))
            } else {
                let folder = directory.join(format!("{driver}-{i}"));
                let found = std::fs::create_dir(&folder)
                    .map_err(|e| format!("{}: {e}", folder.display()))
                    .and_then(|()| (check.run)(&Subject::new(runner, described, self.limits, &folder)));
                let _left = std::fs::remove_dir_all(&folder);
                found
            };
            let outcome = outcome(check.name, found, begun);
            progress(Progress::Ended { driver: Some(driver), outcome: &outcome });
            outcomes.push(outcome);
        }
        outcomes
    }
}

fn outcome(name: &str, found: Result<Finding, String>, begun: Instant) -> CheckOutcome {
    let (verdict, detail) = match found {
        Ok(Finding::Passed(detail)) => (Verdict::Passed, detail),
        Ok(Finding::Skipped(detail)) => (Verdict::Skipped, detail),
        Err(detail) => (Verdict::Failed, detail),
    };
    CheckOutcome { name: name.to_owned(), verdict, detail, seconds: begun.elapsed().as_secs_f64() }
}
