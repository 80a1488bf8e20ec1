//! Durability levels: what the settings in effect leave after a crash.
//!
//! SQLite's levels follow crash experiments with SQLite 3.54: process kills, simulated power loss (unsynced pages and
//! directory entries dropped, torn sectors) and snapshots of ext4, xfs and btrfs taken after a commit. It holds for
//! disks that keep what they acknowledge.

mod server;
#[cfg(test)]
mod tests;

use std::fmt;

use litelab_protocol::{Dialect, Value};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far an acknowledged transaction can be trusted; a higher level is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub enum Durability {
    /// In memory: nothing survives the process.
    Volatile,
    /// A killed process can leave a corrupt database.
    D0,
    /// Survives a killed process; power loss can corrupt.
    D1,
    /// Consistent after power loss; many acknowledged transactions may be gone.
    D2,
    /// After power loss the last acknowledged transaction may be gone.
    D3,
    /// No acknowledged transaction is lost.
    D4,
}

/// `PRAGMA journal_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "SQLite's own words")]
pub enum JournalMode {
    Delete,
    Truncate,
    Persist,
    Memory,
    Wal,
    Off,
}

/// `PRAGMA synchronous`, as it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "SQLite's own words")]
pub enum Synchronous {
    Off,
    Normal,
    Full,
    Extra,
}

/// A durability level, and a limit of it that the level does not express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// The level.
    pub durability: Durability,
    /// The limit, in words.
    pub caveat: Option<&'static str>,
}

impl Level {
    /// The level of a database file or server, from what one connection read back; none where that is not enough.
    #[must_use]
    pub fn reported(dialect: Dialect, read: &dyn Fn(&str) -> Option<Value>) -> Option<Self> {
        match dialect {
            Dialect::Sqlite => sqlite(read),
            Dialect::Postgres => server::postgres(read),
            Dialect::Mysql => server::innodb(read),
        }
    }
}

fn sqlite(read: &dyn Fn(&str) -> Option<Value>) -> Option<Level> {
    let journal = JournalMode::reported(&read("journal_mode")?)?;
    let synchronous = Synchronous::reported(&read("synchronous")?)?;
    Some(Level {
        durability: Durability::of(journal, synchronous),
        caveat: caveat(journal, synchronous),
    })
}

/// How rarely a rollback journal with NORMAL is corrupted by power loss. SQLite's documentation of `synchronous`: "There is a
/// very small (though non-zero) chance that a power failure at just the wrong time could corrupt the database in
/// journal_mode=DELETE on an older filesystem."
fn caveat(journal: JournalMode, synchronous: Synchronous) -> Option<&'static str> {
    use JournalMode::{Delete, Persist, Truncate};
    match (journal, synchronous) {
        (Delete | Truncate | Persist, Synchronous::Normal) => Some(
            "power loss corrupts it rarely, on an older file system; else it may take the last acknowledged transaction",
        ),
        _ => None,
    }
}

impl Durability {
    /// The level of a SQLite database file.
    #[must_use]
    pub fn of(journal: JournalMode, synchronous: Synchronous) -> Self {
        use JournalMode::{Delete, Memory, Off, Persist, Truncate, Wal};
        use Synchronous::{Extra, Full, Normal};
        match (journal, synchronous) {
            (Memory | Off, _) => Self::D0,
            (_, Synchronous::Off) | (Delete | Truncate | Persist, Normal) => Self::D1,
            (Wal, Normal) => Self::D2,
            (Delete, Full) => Self::D3,
            (Delete, Extra) | (Truncate | Persist | Wal, Full | Extra) => Self::D4,
        }
    }

    /// The level in one sentence, without a full stop.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Volatile => "in memory: nothing survives the process",
            Self::D0 => "can be corrupt after the process is killed",
            Self::D1 => "survives a killed process; power loss can corrupt it",
            Self::D2 => "consistent after power loss, but many acknowledged transactions may be lost",
            Self::D3 => "power loss may take the last acknowledged transaction",
            Self::D4 => "no acknowledged transaction is lost to power loss",
        }
    }

    /// What a change to this level from a higher one gives up, to be read after "gives up".
    pub fn price(self) -> &'static str {
        match self {
            Self::Volatile => "everything when the process ends",
            Self::D0 => "a sound database when the process is killed",
            Self::D1 => "a sound database at a power loss",
            Self::D2 => "the last commits at a power loss",
            Self::D3 => "the last commit at a power loss",
            Self::D4 => "nothing",
        }
    }
}

impl JournalMode {
    /// From a word as SQLite reports it.
    #[must_use]
    pub fn reported(reported: &Value) -> Option<Self> {
        let Value::Text(word) = reported else { return None };
        match word.to_ascii_lowercase().as_str() {
            "delete" => Some(Self::Delete),
            "truncate" => Some(Self::Truncate),
            "persist" => Some(Self::Persist),
            "memory" => Some(Self::Memory),
            "wal" => Some(Self::Wal),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

impl Synchronous {
    /// From a code as SQLite reports it, or one of the four words. Codes 4 to 6 are what `synchronous = 4` and
    /// the like leave behind: FULL, without EXTRA's sync of the directory.
    #[must_use]
    pub fn reported(reported: &Value) -> Option<Self> {
        if let Some(code) = reported.integer() {
            return match code {
                0 => Some(Self::Off),
                1 => Some(Self::Normal),
                2 | 4..=6 => Some(Self::Full),
                3 => Some(Self::Extra),
                _ => None,
            };
        }
        let Value::Text(word) = reported else { return None };
        match word.to_ascii_lowercase().as_str() {
            "off" => Some(Self::Off),
            "normal" => Some(Self::Normal),
            "full" => Some(Self::Full),
            "extra" => Some(Self::Extra),
            _ => None,
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Volatile => "volatile",
            Self::D0 => "D0",
            Self::D1 => "D1",
            Self::D2 => "D2",
            Self::D3 => "D3",
            Self::D4 => "D4",
        })
    }
}
