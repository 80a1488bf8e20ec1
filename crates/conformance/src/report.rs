//! Results of the suite.

use litelab_engine::runner::Absent;

/// Results for one runner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The runner's name.
    pub runner: String,
    /// Checks of the runner as a whole.
    pub checks: Vec<CheckOutcome>,
    /// One entry for each driver that was checked.
    pub drivers: Vec<DriverReport>,
    /// Optional drivers that are not installed and were not checked. They count neither as failed nor as passed.
    pub absent: Vec<Absent>,
    /// Drivers that were not checked because their server is not installed, each with the packages to install. They do
    /// not count as passed.
    pub unexamined: Vec<(String, String)>,
}

/// Results for one driver.
#[derive(Clone, Debug, PartialEq)]
pub struct DriverReport {
    /// The driver's name.
    pub driver: String,
    /// Checks, in the order in which they ran.
    pub checks: Vec<CheckOutcome>,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckOutcome {
    /// The check's name.
    pub name: String,
    /// Verdict of the check.
    pub verdict: CheckVerdict,
    /// Observation if passed, error if failed, reason if skipped.
    pub detail: String,
    /// Duration in seconds.
    pub seconds: f64,
}

/// Verdict of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// The driver meets the requirement.
    Passed,
    /// The driver does not meet the requirement.
    Failed,
    /// The driver does not claim the feature.
    Skipped,
}

impl Report {
    /// Whether the runner may be used: at least one check ran, and none failed. Absent drivers are ignored.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.drivers.is_empty() && self.failures().next().is_none()
    }

    /// Failed checks, each with the name of its driver; `None` for checks of the runner as a whole.
    pub fn failures(&self) -> impl Iterator<Item = (Option<&str>, &CheckOutcome)> {
        let of_runner = self.checks.iter().map(|c| (None, c));
        let of_drivers = self.drivers.iter().flat_map(|d| d.checks.iter().map(|c| (Some(d.driver.as_str()), c)));
        of_runner.chain(of_drivers).filter(|(_, c)| c.verdict == CheckVerdict::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdicts: &[CheckVerdict]) -> Report {
        let outcome =
            |v: &CheckVerdict| CheckOutcome { name: "c".into(), verdict: *v, detail: String::new(), seconds: 0.0 };
        let checks = verdicts.iter().map(outcome).collect();
        Report {
            runner: "r".into(),
            checks: vec![],
            drivers: vec![DriverReport { driver: "d".into(), checks }],
            ..Report::default()
        }
    }

    #[test]
    fn one_failure_is_enough_and_nothing_checked_is_no_pass() {
        assert!(report(&[CheckVerdict::Passed, CheckVerdict::Skipped]).passed());
        let failed = report(&[CheckVerdict::Passed, CheckVerdict::Failed]);
        assert!(!failed.passed());
        assert_eq!(failed.failures().map(|(d, c)| (d, c.name.as_str())).collect::<Vec<_>>(), [(Some("d"), "c")]);
        assert!(!Report { drivers: vec![], ..report(&[]) }.passed());
    }
}
