//! Servers that arms may run on.

use std::fmt;

use litelab_protocol::Dialect;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::unknown;

/// A server, or a cluster of them, that litelab can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// One PostgreSQL server.
    Postgres,
    /// One MariaDB server.
    Mariadb,
    /// Three MariaDB servers that replicate by Galera.
    Galera,
}

impl Server {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Postgres, Self::Mariadb, Self::Galera];

    /// As files name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::Galera => "galera",
        }
    }

    /// By its name.
    ///
    /// # Errors
    /// With the nearest name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|server| server.name() == text);
        found.ok_or_else(|| unknown("server", text, Self::ALL.map(Self::name)))
    }

    /// Servers that it consists of, each a host of its url.
    #[must_use]
    pub fn nodes(self) -> u32 {
        if self == Self::Galera { 3 } else { 1 }
    }

    /// The SQL it understands.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Postgres => Dialect::Postgres,
            Self::Mariadb | Self::Galera => Dialect::Mysql,
        }
    }

    /// The default server of a dialect; none of SQLite.
    #[must_use]
    pub fn of(dialect: Dialect) -> Option<Self> {
        match dialect {
            Dialect::Sqlite => None,
            Dialect::Postgres => Some(Self::Postgres),
            Dialect::Mysql => Some(Self::Mariadb),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
