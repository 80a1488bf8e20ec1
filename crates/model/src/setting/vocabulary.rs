//! The vocabulary of server settings: names, values and scopes.

use std::sync::LazyLock;

use litelab_protocol::Dialect;
use serde::{Deserialize, Serialize};

/// A known setting of a server.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Known {
    /// Name of the setting in lower case.
    pub name: String,
    /// Connections that the setting applies to.
    pub scope: Scope,
    /// Valid values.
    #[serde(flatten)]
    pub kind: Kind,
    /// Description of the server's default.
    pub default: String,
    /// Whether the setting is read back for every profile.
    #[serde(default)]
    pub always: bool,
    /// Description of the setting in one line.
    pub about: String,
}

/// Connections that a setting applies to, and the component that applies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One connection; the runner applies the setting to each. Every PRAGMA has this scope.
    Session,
    /// The whole server; the core applies the setting, on a server that it started.
    Server,
    /// The whole server, chosen when it is started or built; the value is only compared.
    Fixed,
}

/// Valid values of a setting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Kind {
    /// A switch: on or off.
    Boolean,
    /// One of several words.
    Words {
        /// The words as the server prints them.
        words: Vec<String>,
    },
    /// An integer.
    Integer {
        /// Smallest valid value.
        min: i64,
        /// Largest valid value.
        max: i64,
    },
    /// A duration.
    Duration {
        /// Unit of a plain number.
        unit: Time,
        /// Smallest valid value in this unit.
        min: i64,
        /// Largest valid value in this unit.
        max: i64,
    },
    /// A number of bytes.
    Size {
        /// Unit of a plain number.
        unit: Size,
        /// Smallest valid value in this unit.
        min: i64,
        /// Largest valid value in this unit.
        max: i64,
    },
}

/// A unit of time in the spelling of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "units")]
pub enum Time {
    Us,
    Ms,
    S,
    Min,
    H,
    D,
}

/// A unit of size in PostgreSQL's spelling, in steps of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "units")]
pub enum Size {
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

impl Time {
    /// All units with their names and their lengths in microseconds.
    pub const ALL: [(Self, &'static str, i64); 6] = [
        (Self::Us, "us", 1),
        (Self::Ms, "ms", 1_000),
        (Self::S, "s", 1_000_000),
        (Self::Min, "min", 60_000_000),
        (Self::H, "h", 3_600_000_000),
        (Self::D, "d", 86_400_000_000),
    ];
}

impl Size {
    /// All units with their names and their sizes in bytes.
    pub const ALL: [(Self, &'static str, i64); 5] = [
        (Self::B, "B", 1),
        (Self::Kb, "kB", 1 << 10),
        (Self::Mb, "MB", 1 << 20),
        (Self::Gb, "GB", 1 << 30),
        (Self::Tb, "TB", 1 << 40),
    ];
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    postgres: Vec<Known>,
    mysql: Vec<Known>,
}

static TABLE: LazyLock<Table> =
    // The file is compiled in, and a test checks that it parses.
    LazyLock::new(|| toml::from_str(include_str!("vocabulary.toml")).unwrap_or_default());

/// All settings of a dialect; empty for SQLite, which has PRAGMAs.
#[must_use]
pub fn all(dialect: Dialect) -> &'static [Known] {
    match dialect {
        Dialect::Sqlite => &[],
        Dialect::Postgres => &TABLE.postgres,
        Dialect::Mysql => &TABLE.mysql,
    }
}

/// The setting with a given name, ignoring case.
#[must_use]
pub fn find(dialect: Dialect, name: &str) -> Option<&'static Known> {
    all(dialect).iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            let all = all(dialect);
            assert!(all.len() > 10, "{dialect}: {}", all.len());
            for known in all {
                assert_eq!(known.name, known.name.to_lowercase());
                assert!(!known.about.is_empty() && !known.about.ends_with('.'), "{}", known.name);
                assert_eq!(all.iter().filter(|other| other.name == known.name).count(), 1, "{}", known.name);
                if let Kind::Integer { min, max } | Kind::Duration { min, max, .. } | Kind::Size { min, max, .. } =
                    known.kind
                {
                    assert!(min < max, "{}", known.name);
                }
            }
        }
        assert_eq!(super::all(Dialect::Sqlite), []);
    }

    #[test]
    fn defaults_are_values_that_a_profile_could_state() {
        for (dialect, known) in
            [Dialect::Postgres, Dialect::Mysql].into_iter().flat_map(|d| all(d).iter().map(move |k| (d, k)))
        {
            // If MySQL and MariaDB differ, each default is listed.
            for default in known.default.split(", ").filter_map(|d| d.split(" (").next()) {
                let value = default.parse().map_or(crate::Scalar::Text(default.to_owned()), crate::Scalar::Integer);
                let parsed = crate::setting::parse(dialect, &known.name, &value).unwrap_or_else(|e| panic!("{e}"));
                let expected = parsed.expected.expect("a setting reads back");
                assert!(expected.matches(&default.into()), "{}", known.name);
            }
        }
    }
}
