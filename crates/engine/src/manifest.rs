//! `runner.toml`: the build and start commands of a runner, and its drivers.

use std::collections::BTreeMap;
use std::fmt;

use litelab_protocol::{Description, Dialect};
use serde::{Deserialize, Serialize};

/// Content of `runner.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Unique name of the runner.
    pub name: String,
    /// Programming language: `rust`, `go`, …
    pub language: String,
    /// Build commands, executed in order in the runner's folder.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// Input files of the build, for tools without incremental builds (pip, npm): an unchanged hash skips the build.
    /// Without them every build executes the commands, because cargo and go detect changes themselves.
    #[serde(default)]
    pub built_from: Vec<String>,
    /// Start command, to which a verb is appended. A first word that contains `/` is relative to the runner's folder.
    pub command: Vec<String>,
    /// Names of the runner's drivers.
    pub drivers: Vec<String>,
    /// Dialect of each driver whose database is not SQLite. Studies are resolved with it before any runner is built.
    #[serde(default, rename = "dialect")]
    pub dialects: BTreeMap<String, Dialect>,
    /// Drivers that may be missing on some machines.
    #[serde(default, rename = "optional")]
    pub optional: Vec<Optional>,
    /// Whether the runner exists only to test litelab itself.
    #[serde(default)]
    pub test_double: bool,
    /// Command of the handwritten loops that the bench compares the runner with: `… DRIVER VERB DB N SEED` prints
    /// operations per second.
    #[serde(default)]
    pub handwritten: Vec<String>,
    /// Tools required to build the runner.
    #[serde(default)]
    pub needs: Vec<Need>,
}

/// A tool required by a build.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Name of an executable in PATH.
    pub tool: String,
    /// Remedy if the tool is missing.
    pub remedy: String,
}

/// A driver that may be missing on a machine: a native module that needs a compiler, a system library.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optional {
    /// Name of one of the runner's drivers.
    pub driver: String,
    /// Remedy if the driver is missing.
    pub remedy: String,
}

/// A driver of the manifest that the runner's description lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Name of the runner.
    pub runner: String,
    /// Name of the driver.
    pub driver: String,
    /// Reason reported by the runner, if any.
    pub reason: Option<String>,
    /// Remedy.
    pub remedy: String,
    /// Whether the manifest lists the driver as optional; if not, the runner is broken.
    pub optional: bool,
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "driver `{}` of runner `{}` is not here", self.driver, self.runner)?;
        if let Some(reason) = &self.reason {
            write!(f, " ({reason})")?;
        }
        write!(f, ": {}", self.remedy)
    }
}

impl Manifest {
    /// Checks the constraints that the type does not express.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self) -> Result<(), String> {
        if self.command.is_empty() {
            return Err("`command` is empty".into());
        }
        let unknown = |table: &str, name: &str| {
            let known = self.drivers.iter().map(String::as_str);
            Err(format!("{table}: {}", litelab_model::unknown("driver", name, known)))
        };
        let optional = self.optional.iter().map(|o| ("optional", &o.driver));
        match optional
            .chain(self.dialects.keys().map(|name| ("dialect", name)))
            .find(|(_, d)| !self.drivers.contains(d))
        {
            Some((table, driver)) => unknown(table, driver),
            None => Ok(()),
        }
    }

    /// SQL dialect of a driver's database; default: SQLite.
    #[must_use]
    pub fn dialect(&self, driver: &str) -> Dialect {
        self.dialects.get(driver).copied().unwrap_or_default()
    }

    /// Checks that the runner reports the same dialects as the manifest.
    ///
    /// # Errors
    /// The first driver whose dialect differs.
    pub fn check_dialects(&self, description: &Description) -> Result<(), String> {
        let other = description.drivers.iter().find(|d| d.dialect != self.dialect(&d.name));
        other.map_or(Ok(()), |d| {
            Err(format!(
                "driver `{}` says that it is one of {}, and its runner.toml that it is one of {}: correct [dialect] there",
                d.name,
                d.dialect,
                self.dialect(&d.name)
            ))
        })
    }

    /// Drivers missing from the runner's description; `said` is the runner's standard error, searched for the reasons.
    #[must_use]
    pub fn absent(&self, description: &Description, said: &str) -> Vec<Absent> {
        let here = |name: &String| description.drivers.iter().any(|d| d.name == *name);
        let missing = self.drivers.iter().filter(|name| !here(name));
        missing
            .map(|driver| {
                let optional = self.optional.iter().find(|o| o.driver == *driver);
                let anew = || format!("build it anew with `litelab runners build {} --force`", self.name);
                Absent {
                    runner: self.name.clone(),
                    driver: driver.clone(),
                    reason: reason(driver, said),
                    remedy: optional.map_or_else(anew, |o| o.remedy.clone()),
                    optional: optional.is_some(),
                }
            })
            .collect()
    }
}

/// Maximum length of a reason in characters; a longer one is compiler output or a stack trace.
const REASON: usize = 160;

/// Reason from a line `driver NAME is left out: REASON`, truncated to [`REASON`].
fn reason(driver: &str, said: &str) -> Option<String> {
    let start = format!("driver {driver} is left out: ");
    let reason = said.lines().find_map(|line| line.trim().strip_prefix(&start))?;
    let short: String = reason.chars().take(REASON).collect();
    Some(if short.len() < reason.len() { format!("{short}…") } else { short })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(more: &str) -> Manifest {
        toml::from_str(&format!(
            "name = \"r\"\nlanguage = \"x\"\ncommand = [\"./r\"]\ndrivers = [\"a\", \"bee\", \"noop\"]\n{more}"
        ))
        .unwrap()
    }

    fn describing(names: &[&str]) -> Description {
        let drivers = names.iter().map(|name| litelab_protocol::DriverDescription {
            name: (*name).into(),
            version: "1".into(),
            sqlite: None,
            sharings: vec![],
            executors: vec![],
            interface: None,
            dialect: litelab_protocol::Dialect::Sqlite,
        });
        let words = |s: &str| s.to_owned();
        Description {
            protocol: 1,
            runner: words("r"),
            language: words("x"),
            runtime: words("1"),
            drivers: drivers.collect(),
        }
    }

    #[test]
    fn every_absent_driver_is_named_with_its_reason() {
        let manifest = manifest("[[optional]]\ndriver = \"bee\"\nremedy = \"install a compiler\"");
        assert_eq!(manifest.check(), Ok(()));
        assert_eq!(manifest.absent(&describing(&["a", "bee", "noop"]), ""), []);
        let said = "warning\n driver bee is left out: no compiler\ndriver a is left out: Cannot find module 'a'\n";
        let absent = manifest.absent(&describing(&["noop"]), said);
        let lines: Vec<_> = absent.iter().map(|a| (a.optional, a.to_string())).collect();
        let a = "driver `a` of runner `r` is not here (Cannot find module 'a'): build it anew with `litelab runners build r --force`";
        let bee = "driver `bee` of runner `r` is not here (no compiler): install a compiler";
        assert_eq!(lines, [(false, a.to_owned()), (true, bee.to_owned())]);
        let silent = manifest.absent(&describing(&["a", "noop"]), "driver beetle is left out: other");
        assert_eq!(silent[0].to_string(), "driver `bee` of runner `r` is not here: install a compiler");
    }

    #[test]
    fn a_runner_and_its_manifest_agree_on_dialects() {
        let manifest = manifest("[dialect]\nbee = \"mysql\"");
        assert_eq!(manifest.check(), Ok(()));
        assert_eq!((manifest.dialect("a"), manifest.dialect("bee")), (Dialect::Sqlite, Dialect::Mysql));
        let mut description = describing(&["a", "bee"]);
        let error = manifest.check_dialects(&description).unwrap_err();
        assert!(error.contains("`bee`") && error.contains("sqlite") && error.contains("mysql"), "{error}");
        description.drivers[1].dialect = Dialect::Mysql;
        assert_eq!(manifest.check_dialects(&description), Ok(()));
    }

    #[test]
    fn long_reasons_are_cut() {
        let said = format!("driver bee is left out: {}", "č".repeat(500));
        let reason = reason("bee", &said).unwrap();
        assert_eq!(reason.chars().count(), REASON + 1);
        assert!(reason.ends_with('…'));
    }

    #[test]
    fn an_optional_driver_must_be_one_of_the_drivers() {
        let wrong = manifest("[[optional]]\ndriver = \"postgres\"\nremedy = \"x\"").check().unwrap_err();
        assert!(wrong.contains("`postgres`") && wrong.contains("known: a, bee, noop"), "{wrong}");
        let near = manifest("[[optional]]\ndriver = \"noob\"\nremedy = \"x\"").check().unwrap_err();
        assert!(near.contains("did you mean `noop`?"), "{near}");
        let dialect = manifest("[dialect]\nbeee = \"mysql\"").check().unwrap_err();
        assert!(dialect.starts_with("dialect: unknown driver `beee`"), "{dialect}");
    }
}
