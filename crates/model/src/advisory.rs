//! Known defects of versions of SQLite and of drivers, from `advisories/sqlite.toml` and `advisories/drivers.toml`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::error::ModelError;
use crate::library::{self, Text};

/// A defect of a range of versions of SQLite or of a driver.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advisory {
    /// Name of the defect in a few words.
    pub name: String,
    /// What it puts at risk.
    pub kind: Kind,
    /// Drivers that have it, as `go:modernc`; empty for a defect of SQLite.
    #[serde(default)]
    pub drivers: Vec<String>,
    /// What the defect does to an application, in one sentence without a full stop.
    pub effect: String,
    /// The first version that has the defect; `None` if the source does not tell it: every version before the fix.
    pub first: Option<Version>,
    /// The versions that fix it, ascending. The last one ends the range, an earlier one only for its own release line.
    pub fixed: Vec<Version>,
    /// How many leading numbers name a release line: 2 for SQLite (3.50), 1 for Node (24). Default: 2.
    #[serde(default = "two")]
    pub line: usize,
    /// Page that describes the defect.
    pub source: String,
}

fn two() -> usize {
    2
}

/// What a defect puts at risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The database file.
    Corruption,
    /// The database file, if it is in WAL mode.
    WalCorruption,
    /// The answer of a query.
    WrongResult,
    /// Progress: a statement that does not end, or a transaction that stays open.
    Hang,
    /// Speed.
    Slow,
    /// A release that its developers withdrew.
    Withdrawn,
    /// An application that executes SQL, or opens databases, of people it does not trust.
    Untrusted,
    /// Nothing by itself: a default that the fixing version changes.
    Default,
}

/// A version: major, minor and patch number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version([u32; 3]);

impl FromStr for Version {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no version such as 3.51.3");
        let numbers: Vec<u32> = text.split('.').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        Ok(Self(numbers.try_into().map_err(|_| wrong())?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Version {
    /// The first three numbers of a driver's version: `v1.61.1`, `3.54.1.0`.
    #[must_use]
    pub fn of_driver(text: &str) -> Option<Self> {
        let numbers = text.trim_start_matches('v').split('.').map_while(|part| part.parse().ok());
        Some(Self(numbers.take(3).collect::<Vec<u32>>().try_into().ok()?))
    }

    /// Whether this version is the last of `versions` (ascending) or later, or in the release line of an earlier one and
    /// not before it. `line` is the count of leading numbers that name a release line.
    #[must_use]
    pub fn reaches(self, versions: &[Self], line: usize) -> bool {
        let last = versions.last();
        versions.iter().any(|other| self >= *other && (Some(other) == last || self.same_line(*other, line)))
    }

    fn same_line(self, other: Self, line: usize) -> bool {
        self.0.iter().zip(other.0).take(line).all(|(one, other)| *one == other)
    }
}

impl Advisory {
    /// The nearest version that fixes the defect; `None` if `version` does not have it.
    #[must_use]
    pub fn fix(&self, version: Version) -> Option<Version> {
        if self.first.is_some_and(|first| version < first) || version.reaches(&self.fixed, self.line) {
            return None;
        }
        self.fixed.iter().find(|fix| version.same_line(**fix, self.line)).or(self.fixed.last()).copied()
    }

    /// Whether an application can meet the defect with statements and databases of its own.
    #[must_use]
    pub fn concerns_all(&self) -> bool {
        !matches!(self.kind, Kind::Untrusted | Kind::Default)
    }
}

/// The defects of a version, and the version to use instead; `None` if it has none.
#[must_use]
pub fn defects(advisories: &[Advisory], version: Version) -> Option<(Vec<&Advisory>, Version)> {
    let fixes = |version| advisories.iter().filter_map(move |advisory| advisory.fix(version));
    let mut sound = fixes(version).max()?;
    // The fix of one defect may be a release with another.
    while let Some(next) = fixes(sound).max() {
        sound = next;
    }
    let found = advisories.iter().filter(|advisory| advisory.fix(version).is_some());
    Some((found.collect(), sound))
}

/// All advisories of SQLite.
///
/// # Errors
/// If the built-in file is invalid.
pub fn of_sqlite() -> Result<Vec<Advisory>, ModelError> {
    parse("sqlite.toml", include_str!("../../../advisories/sqlite.toml"))
}

/// All advisories of drivers.
///
/// # Errors
/// If the built-in file is invalid.
pub fn of_drivers() -> Result<Vec<Advisory>, ModelError> {
    parse("drivers.toml", include_str!("../../../advisories/drivers.toml"))
}

fn parse(name: &str, toml: &str) -> Result<Vec<Advisory>, ModelError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        advisory: Vec<Advisory>,
    }
    let text = Text { file: format!("built-in advisories/{name}"), directory: None, toml: toml.to_owned() };
    Ok(library::parse::<File>(&text)?.advisory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::of_driver(text).expect("a version")
    }

    #[test]
    fn a_version_has_the_defects_of_its_range() {
        let advisories = of_sqlite().expect("valid");
        let fix = |text: &str, name: &str| {
            let advisory = advisories.iter().find(|advisory| advisory.name == name).expect("an advisory");
            advisory.fix(version(text)).map(|fix| fix.to_string())
        };
        for (text, fixed) in [
            ("3.6.23", None),
            ("3.7.0", Some("3.51.3")),
            ("3.40.1", Some("3.51.3")),
            ("3.44.2", Some("3.44.6")),
            ("3.44.6", None),
            ("3.45.0", Some("3.51.3")),
            ("3.50.4", Some("3.50.7")),
            ("3.50.7", None),
            ("3.51.2", Some("3.51.3")),
            ("3.51.3", None),
            ("3.52.0", None),
        ] {
            assert_eq!(fix(text, "WAL-reset bug").as_deref(), fixed, "{text}");
        }
        assert_eq!(fix("3.52.0", "withdrawn release").as_deref(), Some("3.53.0"));
        assert!("3.51".parse::<Version>().is_err() && "x".parse::<Version>().is_err());
    }

    #[test]
    fn the_version_to_use_has_no_defect() {
        let advisories: Vec<_> = of_sqlite().expect("valid").into_iter().filter(Advisory::concerns_all).collect();
        for (text, count, instead) in [
            ("3.40.1", 4, "3.51.3"),
            // 3.44.6 and 3.45.3 end some defects, and have others.
            ("3.44.2", 5, "3.51.3"),
            ("3.50.4", 1, "3.50.7"),
            ("3.51.1", 3, "3.51.3"),
            ("3.53.3", 1, "3.53.4"),
        ] {
            let (found, sound) = defects(&advisories, version(text)).expect("defects");
            assert_eq!((found.len(), sound), (count, version(instead)), "{text}: {found:?}");
        }
        for sound in ["3.50.7", "3.51.3", "3.53.0", "3.53.2", "3.53.4", "3.54.1"] {
            assert_eq!(defects(&advisories, version(sound)), None, "{sound}");
        }
    }

    #[test]
    fn the_advisories_are_complete() {
        for (advisories, of_driver) in [(of_sqlite().expect("valid"), false), (of_drivers().expect("valid"), true)] {
            for advisory in &advisories {
                assert!(!advisory.fixed.is_empty() && advisory.fixed.is_sorted(), "{advisory:?}");
                assert!(advisory.first.is_none_or(|first| Some(&first) < advisory.fixed.last()), "{advisory:?}");
                assert!(advisory.source.starts_with("https://") && !advisory.effect.ends_with('.'), "{advisory:?}");
                assert_eq!(advisory.drivers.is_empty(), !of_driver, "{advisory:?}");
            }
        }
    }

    #[test]
    fn a_release_line_ends_a_range_for_itself() {
        let since = [version("22.16.0"), version("24.0.0")];
        for (text, reached) in
            [("22.15.1", false), ("22.21.0", true), ("23.11.0", false), ("v24.0.0", true), ("25.1.0.7", true)]
        {
            assert_eq!(version(text).reaches(&since, 1), reached, "{text}");
        }
        assert_eq!(Version::of_driver("24"), None);
    }
}
