//! The vocabulary: what a setting is called, what it takes, and for whom it holds.

use std::sync::LazyLock;

use litelab_protocol::Dialect;
use serde::{Deserialize, Serialize};

/// A setting of a server.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Known {
    /// Its name, in lower case.
    pub name: String,
    /// For whom it holds.
    pub scope: Scope,
    /// What it takes.
    #[serde(flatten)]
    pub kind: Kind,
    /// The server's own default, in words.
    pub default: String,
    /// Whether it is read back whatever the profile says.
    #[serde(default)]
    pub always: bool,
    /// One line.
    pub about: String,
}

/// For whom a setting holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// For one connection; the runner sets it on each. Every PRAGMA is of this scope.
    Session,
    /// For the whole server; the core sets it, on a server that it started.
    Server,
    /// Chosen when the server starts or is built; compared only.
    Fixed,
}

/// What a setting takes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Kind {
    /// On or off.
    Boolean,
    /// One of several words.
    Words {
        /// As the server prints them.
        words: Vec<String>,
    },
    /// A whole number.
    Integer {
        /// The least.
        min: i64,
        /// The most.
        max: i64,
    },
    /// A time; a plain number is in its unit.
    Duration {
        /// Of a plain number.
        unit: Time,
        /// The least, in this unit.
        min: i64,
        /// The most, in this unit.
        max: i64,
    },
    /// A number of bytes; a plain number is in its unit.
    Size {
        /// Of a plain number.
        unit: Size,
        /// The least, in this unit.
        min: i64,
        /// The most, in this unit.
        max: i64,
    },
}

/// A unit of time, as servers write it.
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

/// A unit of size, as PostgreSQL writes it: of 1024.
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
    /// All of them, with their names and microseconds.
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
    /// All of them, with their names and bytes.
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
    // The file is part of the program; a test reads it.
    LazyLock::new(|| toml::from_str(include_str!("vocabulary.toml")).unwrap_or_default());

/// All settings of a dialect; none of SQLite, which has PRAGMAs.
#[must_use]
pub fn all(dialect: Dialect) -> &'static [Known] {
    match dialect {
        Dialect::Sqlite => &[],
        Dialect::Postgres => &TABLE.postgres,
        Dialect::Mysql => &TABLE.mysql,
    }
}

/// A setting by its name, whatever its case.
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
            // Where MySQL and MariaDB differ, each is named.
            for default in known.default.split(", ").filter_map(|d| d.split(" (").next()) {
                let value = default.parse().map_or(crate::Scalar::Text(default.to_owned()), crate::Scalar::Integer);
                let parsed = crate::setting::parse(dialect, &known.name, &value).unwrap_or_else(|e| panic!("{e}"));
                let expected = parsed.expected.expect("a setting reads back");
                assert!(expected.matches(&default.into()), "{}", known.name);
            }
        }
    }
}
