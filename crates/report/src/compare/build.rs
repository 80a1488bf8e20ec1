//! Builds of drivers that variants ran with.

use std::collections::BTreeMap;
use std::fmt;

use litelab_protocol::Description;
use litelab_record::RunInfo;

/// Descriptions of runners and fingerprints of their programs: those of a run, or those installed now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Builds {
    /// Description of each runner.
    pub runners: Vec<Description>,
    /// Fingerprint of each runner's program; empty for runs recorded before fingerprints were taken.
    pub fingerprints: BTreeMap<String, String>,
}

/// Build of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Build {
    driver: String,
    version: String,
    sqlite: Option<(String, String)>,
    runtime: String,
    fingerprint: Option<String>,
}

impl Builds {
    /// Returns the builds of a run.
    #[must_use]
    pub fn of(info: &RunInfo) -> Self {
        Self { runners: info.runners.clone(), fingerprints: info.builds.clone() }
    }

    /// The build of a driver, given as `driver` or `runner:driver`.
    pub(super) fn build(&self, driver: &str) -> Option<Build> {
        let all = || self.runners.iter().flat_map(|runner| runner.drivers.iter().map(move |driver| (runner, driver)));
        let (runner, described) = all().find(|(_, of)| of.name == driver).or_else(|| {
            let (runner, name) = driver.split_once(':')?;
            all().find(|(by, of)| by.runner == runner && of.name == name)
        })?;
        Some(Build {
            driver: described.name.clone(),
            version: described.version.clone(),
            sqlite: described.sqlite.as_ref().map(|s| (s.version.clone(), s.source_id.clone())),
            runtime: runner.runtime.clone(),
            fingerprint: self.fingerprints.get(&runner.runner).cloned(),
        })
    }
}

impl Build {
    /// Whether no known property distinguishes the two builds.
    pub fn is_like(&self, other: &Self) -> bool {
        let told_apart = self.fingerprint.as_ref().zip(other.fingerprint.as_ref()).is_some_and(|(a, b)| a != b);
        let visible = (&self.driver, &self.version, &self.sqlite, &self.runtime);
        visible == (&other.driver, &other.version, &other.sqlite, &other.runtime) && !told_apart
    }

    /// Whether the program's fingerprint is known, which distinguishes builds of equal versions.
    pub fn is_certain(&self) -> bool {
        self.fingerprint.is_some()
    }
}

impl fmt::Display for Build {
    /// Formats as `rusqlite 0.41.0 (SQLite 3.54.0), build 1a2b3c4d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.driver, self.version)?;
        if let Some((version, _)) = &self.sqlite {
            write!(f, " (SQLite {version})")?;
        }
        match &self.fingerprint {
            Some(fingerprint) => write!(f, ", build {}", fingerprint.get(..8).unwrap_or(fingerprint)),
            None => Ok(()),
        }
    }
}
