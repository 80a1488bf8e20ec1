//! The SQL dialect of a driver's database.

use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A database family: its SQL, its settings and its error names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// SQLite: parameters `?1`, settings by `PRAGMA`.
    #[default]
    Sqlite,
    /// PostgreSQL: parameters `$1`, settings by `SET` and `SHOW`.
    Postgres,
    /// MySQL and MariaDB: parameters `?`, settings by `SET SESSION` and `SELECT @@`.
    Mysql,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 3] = [Self::Sqlite, Self::Postgres, Self::Mysql];

    /// The name used in files and on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }

    /// Whether it is SQLite, the default, which messages omit.
    #[must_use]
    pub fn is_sqlite(&self) -> bool {
        *self == Self::Sqlite
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
