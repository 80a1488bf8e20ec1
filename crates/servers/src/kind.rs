//! The servers litelab can start.

use std::fmt;
use std::str::FromStr;

use litelab_protocol::Dialect;
use serde::{Deserialize, Serialize};

/// A server, or a cluster of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One PostgreSQL server.
    Postgres,
    /// One MariaDB server.
    Mariadb,
    /// Three MariaDB servers that replicate by Galera.
    Galera,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Postgres, Self::Mariadb, Self::Galera];

    /// The name used in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::Galera => "galera",
        }
    }

    /// The SQL it understands.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Postgres => Dialect::Postgres,
            Self::Mariadb | Self::Galera => Dialect::Mysql,
        }
    }

    /// Servers it consists of.
    #[must_use]
    pub fn nodes(self) -> usize {
        if self == Self::Galera { 3 } else { 1 }
    }

    /// Debian's packages that hold its programs.
    #[must_use]
    pub fn packages(self) -> &'static str {
        match self {
            Self::Postgres => "postgresql",
            Self::Mariadb => "mariadb-server",
            Self::Galera => "mariadb-server galera-4 rsync",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|k| k.name() == text)
            .ok_or_else(|| format!("server `{text}` is none of postgres, mariadb, galera"))
    }
}
