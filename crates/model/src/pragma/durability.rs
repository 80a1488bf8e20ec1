//! What a journal mode and a synchronous level leave after a crash.
//!
//! The ladder follows crash experiments with SQLite 3.54: process kills, simulated power loss (unsynced pages and
//! directory entries dropped, torn sectors) and snapshots of ext4, xfs and btrfs taken after a commit. It holds for
//! disks that keep what they acknowledge.

use super::read_back::Reported;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How far an acknowledged transaction can be trusted; a higher rung is greater.
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

/// Where the database is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Storage {
    /// A file.
    File,
    /// `:memory:`, also the shared one.
    Memory,
}

impl Durability {
    /// The rung of a database.
    pub fn of(storage: Storage, journal: JournalMode, synchronous: Synchronous) -> Self {
        match storage {
            Storage::File => Self::rung(journal, synchronous),
            Storage::Memory => Self::Volatile,
        }
    }

    /// The rung of a database file.
    pub fn rung(journal: JournalMode, synchronous: Synchronous) -> Self {
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

    /// The rung from what `PRAGMA journal_mode` and `PRAGMA synchronous` report; `None` if either report is none
    /// that SQLite gives.
    pub fn reported(storage: Storage, journal: &Reported, synchronous: &Reported) -> Option<Self> {
        Some(Self::of(storage, JournalMode::reported(journal)?, Synchronous::reported(synchronous)?))
    }

    /// What the rung does not say: how rarely a rollback journal with NORMAL is corrupted by power loss. SQLite's
    /// documentation of `synchronous`: "There is a very small (though non-zero) chance that a power failure at just the
    /// wrong time could corrupt the database in journal_mode=DELETE on an older filesystem."
    pub fn caveat(journal: JournalMode, synchronous: Synchronous) -> Option<&'static str> {
        use JournalMode::{Delete, Persist, Truncate};
        match (journal, synchronous) {
            (Delete | Truncate | Persist, Synchronous::Normal) => Some(
                "power loss corrupts it rarely, on an older file system; else it may take the last acknowledged transaction",
            ),
            _ => None,
        }
    }

    /// The rung in one sentence, without a full stop.
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
}

impl Durability {
    /// What is given up by whoever comes down to this rung from a higher one, to be read after "gives up".
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
    pub fn reported(reported: &Reported) -> Option<Self> {
        let Reported::Text(word) = reported else { return None };
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
    pub fn reported(reported: &Reported) -> Option<Self> {
        if let Some(code) = reported.integer() {
            return match code {
                0 => Some(Self::Off),
                1 => Some(Self::Normal),
                2 | 4..=6 => Some(Self::Full),
                3 => Some(Self::Extra),
                _ => None,
            };
        }
        let Reported::Text(word) = reported else { return None };
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
