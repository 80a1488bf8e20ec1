//! `runner.toml`: how a runner is built and started, and what it has.

use std::collections::BTreeMap;
use std::fmt;

use litelab_protocol::{Description, Dialect};
use serde::{Deserialize, Serialize};

/// `runner.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Unique.
    pub name: String,
    /// `rust`, `go`, …
    pub language: String,
    /// Commands that build it, run in its folder one after the other.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// Files that decide whether it has to be built again, for tools that do everything anew each time (pip, npm). Without
    /// them it is always built: cargo and go see for themselves what is to do.
    #[serde(default)]
    pub built_from: Vec<String>,
    /// Command that starts it; a verb is appended. A first word with a `/` is relative to its folder.
    pub command: Vec<String>,
    /// Names of its drivers.
    pub drivers: Vec<String>,
    /// What the databases of its drivers understand, of those that are not SQLite: a study is resolved by it before any
    /// runner is built.
    #[serde(default, rename = "dialect")]
    pub dialects: BTreeMap<String, Dialect>,
    /// Those of them that it may lack on some machines.
    #[serde(default, rename = "optional")]
    pub optional: Vec<Optional>,
    /// Whether it is there to test litelab itself, and no runner to measure with.
    #[serde(default)]
    pub test_double: bool,
    /// Command of the loops written by hand that the bench compares it with: `… DRIVER VERB DB N SEED` prints operations
    /// per second.
    #[serde(default)]
    pub handwritten: Vec<String>,
    /// Tools it needs before it can be built.
    #[serde(default)]
    pub needs: Vec<Need>,
}

/// A tool that must be there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Name of an executable on PATH.
    pub tool: String,
    /// What to do where it is not.
    pub remedy: String,
}

/// A driver that a machine may lack: a native module that needs a compiler, a library of the system.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optional {
    /// One of the runner's drivers.
    pub driver: String,
    /// What to do where it is missing.
    pub remedy: String,
}

/// A driver of the manifest that the runner does not describe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Its runner.
    pub runner: String,
    /// Its name.
    pub driver: String,
    /// What the runner said of it, if it did.
    pub reason: Option<String>,
    /// What to do.
    pub remedy: String,
    /// Whether the manifest allows it; of any other the runner is broken.
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
    /// Checks what its type does not say.
    ///
    /// # Errors
    /// The first thing that is wrong.
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

    /// What a driver's database understands.
    #[must_use]
    pub fn dialect(&self, driver: &str) -> Dialect {
        self.dialects.get(driver).copied().unwrap_or_default()
    }

    /// Checks that the runner says the same of its drivers' databases.
    ///
    /// # Errors
    /// The first driver of which it does not.
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

    /// Drivers that the runner did not describe; `said` is what it wrote to standard error meanwhile.
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

/// Longer reasons are those of a compiler or a stack of calls.
const REASON: usize = 160;

/// What a line `driver NAME is left out: REASON` gives as the reason, its beginning if it is long.
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
            accesses: vec![],
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
