//! What the suite found.

use litelab_engine::runner::Absent;
use serde::{Deserialize, Serialize};

/// The findings on one runner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The runner's name.
    pub runner: String,
    /// What it says of itself as a whole.
    pub checks: Vec<CheckOutcome>,
    /// One entry for each driver that was checked.
    pub drivers: Vec<DriverReport>,
    /// Optional drivers that are not here and so were not checked: no failure, and no pass either.
    pub absent: Vec<Absent>,
    /// Drivers of servers that are not installed, and which packages to install: no pass either.
    pub unexamined: Vec<(String, String)>,
}

/// The findings on one driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriverReport {
    /// The driver's name.
    pub driver: String,
    /// In the order in which they were made.
    pub checks: Vec<CheckOutcome>,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckOutcome {
    /// The check's name.
    pub name: String,
    /// How it went.
    pub verdict: Verdict,
    /// What was seen; of a failure what is wrong, of a skipped one the reason.
    pub detail: String,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does as it must.
    Passed,
    /// It does not.
    Failed,
    /// The driver does not claim it.
    Skipped,
}

impl Report {
    /// Whether the runner may be used: nothing failed, and something was checked. Of absent drivers it says nothing.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.drivers.is_empty() && self.failures().next().is_none()
    }

    /// What failed, each with its driver; the runner itself has none.
    pub fn failures(&self) -> impl Iterator<Item = (Option<&str>, &CheckOutcome)> {
        let of_runner = self.checks.iter().map(|c| (None, c));
        let of_drivers = self.drivers.iter().flat_map(|d| d.checks.iter().map(|c| (Some(d.driver.as_str()), c)));
        of_runner.chain(of_drivers).filter(|(_, c)| c.verdict == Verdict::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdicts: &[Verdict]) -> Report {
        let outcome = |v: &Verdict| CheckOutcome { name: "c".into(), verdict: *v, detail: String::new(), seconds: 0.0 };
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
        assert!(report(&[Verdict::Passed, Verdict::Skipped]).passed());
        let failed = report(&[Verdict::Passed, Verdict::Failed]);
        assert!(!failed.passed());
        assert_eq!(failed.failures().map(|(d, c)| (d, c.name.as_str())).collect::<Vec<_>>(), [(Some("d"), "c")]);
        assert!(!Report { drivers: vec![], ..report(&[]) }.passed());
    }
}
