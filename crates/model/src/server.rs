//! Database servers that variants can run on.

use std::fmt;

use litelab_protocol::Dialect;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::unknown;

/// A server, or a cluster of servers, that litelab can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// One PostgreSQL server.
    Postgres,
    /// One MariaDB server.
    Mariadb,
    /// Three MariaDB servers with Galera replication.
    Galera,
}

impl Server {
    /// All servers.
    pub const ALL: [Self; 3] = [Self::Postgres, Self::Mariadb, Self::Galera];

    /// The name used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::Galera => "galera",
        }
    }

    /// The server with a given name.
    ///
    /// # Errors
    /// One line with the nearest known name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|server| server.name() == text);
        found.ok_or_else(|| unknown("server", text, Self::ALL.map(Self::name)))
    }

    /// Number of nodes, each with its own host in the URL.
    #[must_use]
    pub fn nodes(self) -> u32 {
        if self == Self::Galera { 3 } else { 1 }
    }

    /// SQL dialect of the server.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Postgres => Dialect::Postgres,
            Self::Mariadb | Self::Galera => Dialect::Mysql,
        }
    }

    /// The default server of a dialect; `None` for SQLite.
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
