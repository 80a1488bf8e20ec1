//! Durability levels: the guarantees of the settings in effect after a crash.
//!
//! SQLite's levels follow crash experiments with SQLite 3.54: process kills, simulated power loss (unsynced pages and
//! directory entries dropped, torn sectors) and snapshots of ext4, xfs and btrfs taken after a commit. They apply to
//! disks that keep acknowledged writes.

mod server;
#[cfg(test)]
mod tests;

use std::fmt;

use litelab_protocol::{Dialect, Value};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::word;

/// Durability of an acknowledged transaction; a higher level is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Durability {
    /// In memory: no data survives the process.
    Volatile,
    /// A killed process can leave a corrupt database.
    D0,
    /// Survives a killed process; power loss can corrupt the database.
    D1,
    /// Consistent after power loss; many acknowledged transactions can be lost.
    D2,
    /// Consistent after power loss; the last acknowledged transaction can be lost.
    D3,
    /// No acknowledged transaction is lost.
    D4,
}

/// Values of `PRAGMA journal_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
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

/// Values of `PRAGMA synchronous`, by their effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "SQLite's own words")]
pub enum Synchronous {
    Off,
    Normal,
    Full,
    Extra,
}

/// A durability level with a caveat that the level does not express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// The durability level.
    pub durability: Durability,
    /// Description of the caveat.
    pub caveat: Option<&'static str>,
}

impl Level {
    /// The level of a database file or server from the settings read back on one connection; `None` if they are
    /// insufficient.
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
    Some(Level { durability: Durability::of(journal, synchronous), caveat: caveat(journal, synchronous) })
}

/// The caveat of a rollback journal with NORMAL, which power loss corrupts rarely.
///
/// SQLite's documentation of `synchronous`: "There is a very small (though non-zero) chance that a power failure at
/// just the wrong time could corrupt the database in journal_mode=DELETE on an older filesystem."
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

    /// The level in words, for everything that people read.
    pub fn words(self) -> &'static str {
        match self {
            Self::Volatile => "in memory",
            Self::D0 => "file at risk on a crash",
            Self::D1 => "file at risk",
            Self::D2 => "recent commits at risk",
            Self::D3 => "last commit at risk",
            Self::D4 => "safe",
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

    /// The loss caused by a change to this level from a higher one, worded to follow "gives up".
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
    /// The mode that SQLite reports as a word.
    #[must_use]
    pub fn reported(reported: &Value) -> Option<Self> {
        reported_word(reported)
    }
}

impl Synchronous {
    /// The value that SQLite reports as a code or one of the four words. Codes 4 to 6 result from `synchronous = 4` and
    /// the like: FULL, without EXTRA's sync of the directory.
    #[must_use]
    pub fn reported(reported: &Value) -> Option<Self> {
        match reported.integer() {
            Some(0) => Some(Self::Off),
            Some(1) => Some(Self::Normal),
            Some(2 | 4..=6) => Some(Self::Full),
            Some(3) => Some(Self::Extra),
            Some(_) => None,
            None => reported_word(reported),
        }
    }
}

/// The value that SQLite reports as this word, ignoring case.
fn reported_word<T: DeserializeOwned>(reported: &Value) -> Option<T> {
    let Value::Text(text) = reported else { return None };
    word(&text.to_ascii_lowercase())
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
