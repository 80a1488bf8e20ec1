//! Known defects of SQLite versions, from `advisories/sqlite.toml`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};

use crate::error::ModelError;
use crate::library::{self, Text};

/// A defect of a range of SQLite versions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advisory {
    /// Name of the defect in a few words.
    pub name: String,
    /// What the defect does to an application, in one sentence without a full stop.
    pub effect: String,
    /// The first version that has the defect.
    pub first: Version,
    /// The versions that fix it, ascending. The last one ends the range, an earlier one only for its minor release.
    pub fixed: Vec<Version>,
    /// Page that describes the defect.
    pub source: String,
}

/// A version of SQLite: major, minor and patch number.
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

impl Advisory {
    /// The nearest version that fixes the defect; `None` if `version` does not have it.
    #[must_use]
    pub fn fix(&self, version: Version) -> Option<Version> {
        let last = self.fixed.last();
        let ends = |fix: &&Version| version >= **fix && (Some(*fix) == last || fix.0[..2] == version.0[..2]);
        if version < self.first || self.fixed.iter().any(|fix| ends(&fix)) {
            return None;
        }
        self.fixed.iter().find(|fix| fix.0[..2] == version.0[..2]).or(last).copied()
    }
}

/// All advisories of SQLite.
///
/// # Errors
/// If the built-in file is invalid.
pub fn of_sqlite() -> Result<Vec<Advisory>, ModelError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        advisory: Vec<Advisory>,
    }
    let toml = include_str!("../../../advisories/sqlite.toml").to_owned();
    let text = Text { file: "built-in advisories/sqlite.toml".into(), directory: None, toml };
    Ok(library::parse::<File>(&text)?.advisory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_the_defects_of_its_range() {
        let advisories = of_sqlite().expect("valid");
        for (version, found) in [
            ("3.6.23", None),
            ("3.7.0", Some(("WAL-reset bug", "3.51.3"))),
            ("3.40.1", Some(("WAL-reset bug", "3.51.3"))),
            ("3.44.2", Some(("WAL-reset bug", "3.44.6"))),
            ("3.44.6", None),
            ("3.45.0", Some(("WAL-reset bug", "3.51.3"))),
            ("3.50.4", Some(("WAL-reset bug", "3.50.7"))),
            ("3.50.7", None),
            ("3.51.2", Some(("WAL-reset bug", "3.51.3"))),
            ("3.51.3", None),
            ("3.52.0", Some(("withdrawn release", "3.53.0"))),
            ("3.53.0", None),
            ("3.54.1", None),
        ] {
            let version = version.parse().expect("a version");
            let of = |a: &Advisory| Some((a.name.clone(), a.fix(version)?.to_string()));
            let all: Vec<_> = advisories.iter().filter_map(of).collect();
            let wanted: Vec<_> = found.iter().map(|(name, fix)| ((*name).to_owned(), (*fix).to_owned())).collect();
            assert_eq!(all, wanted, "{version}");
        }
        assert!(advisories.iter().all(|a| a.fixed.is_sorted() && a.source.starts_with("https://")));
        assert!("3.51".parse::<Version>().is_err() && "x".parse::<Version>().is_err());
    }
}
