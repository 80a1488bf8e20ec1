//! The vocabulary of server settings: names, values and scopes.

use std::sync::LazyLock;

use indexmap::IndexMap;
use litelab_protocol::Dialect;
use serde::{Deserialize, Serialize};

/// A known setting of a server; a switch if it has neither words nor a range.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Connections that the setting applies to.
    #[serde(default)]
    pub scope: Scope,
    /// Valid words, as the server prints them.
    #[serde(default)]
    pub words: Vec<String>,
    /// Smallest and largest valid number.
    pub range: Option<(i64, i64)>,
    /// Unit of the range and of a plain number.
    pub unit: Option<Unit>,
    /// Whether the setting is read back for every profile.
    #[serde(default)]
    pub always: bool,
}

/// Connections that a setting applies to, and the component that applies it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One connection; the runner applies the setting to each. Every PRAGMA has this scope.
    #[default]
    Session,
    /// The whole server; the core applies the setting, on a server that it started.
    Server,
    /// The whole server, chosen when it is started or built; the value is only compared.
    Fixed,
}

/// A unit of time, or of size in steps of 1024, in the spelling of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "units")]
pub enum Unit {
    Us,
    Ms,
    S,
    Min,
    H,
    D,
    #[serde(rename = "B")]
    B,
    #[serde(rename = "kB")]
    Kb,
    #[serde(rename = "MB")]
    Mb,
    #[serde(rename = "GB")]
    Gb,
    #[serde(rename = "TB")]
    Tb,
}

impl Unit {
    /// Units of time with their names and their lengths in microseconds.
    const TIME: [(Self, &'static str, i64); 6] = [
        (Self::Us, "us", 1),
        (Self::Ms, "ms", 1_000),
        (Self::S, "s", 1_000_000),
        (Self::Min, "min", 60_000_000),
        (Self::H, "h", 3_600_000_000),
        (Self::D, "d", 86_400_000_000),
    ];
    /// Units of size with their names and their sizes in bytes.
    const SIZE: [(Self, &'static str, i64); 5] = [
        (Self::B, "B", 1),
        (Self::Kb, "kB", 1 << 10),
        (Self::Mb, "MB", 1 << 20),
        (Self::Gb, "GB", 1 << 30),
        (Self::Tb, "TB", 1 << 40),
    ];

    pub(super) fn is_time(self) -> bool {
        Self::TIME.iter().any(|(unit, ..)| *unit == self)
    }

    /// The units of the same quantity, with their names and factors.
    pub(super) fn family(self) -> &'static [(Self, &'static str, i64)] {
        if self.is_time() { &Self::TIME } else { &Self::SIZE }
    }

    /// The name in the spelling of servers.
    pub(super) fn name(self) -> &'static str {
        self.family().iter().find(|(unit, ..)| *unit == self).map_or("", |(_, name, _)| name)
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(skip)]
    sqlite: IndexMap<String, Known>,
    postgres: IndexMap<String, Known>,
    mysql: IndexMap<String, Known>,
}

static TABLE: LazyLock<Table> =
    // The file is compiled in, and a test checks that it parses.
    LazyLock::new(|| toml::from_str(include_str!("vocabulary.toml")).unwrap_or_default());

/// All settings of a dialect by their names in lower case; empty for SQLite, which has PRAGMAs.
#[must_use]
pub fn all(dialect: Dialect) -> &'static IndexMap<String, Known> {
    match dialect {
        Dialect::Sqlite => &TABLE.sqlite,
        Dialect::Postgres => &TABLE.postgres,
        Dialect::Mysql => &TABLE.mysql,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            let all = all(dialect);
            assert!(all.len() > 10, "{dialect}: {}", all.len());
            for (name, known) in all {
                assert_eq!(*name, name.to_lowercase());
                assert!(known.range.is_none_or(|(min, max)| min < max && known.words.is_empty()), "{name}");
                assert!(known.unit.is_none() || known.range.is_some(), "{name}");
            }
        }
        assert!(all(Dialect::Sqlite).is_empty());
    }
}
