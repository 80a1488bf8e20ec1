//! Orders and combinations of PRAGMAs in which one of them has no effect.
//!
//! Only faults visible in the list itself. Each was found by running the order on SQLite 3.54, and the tests run it
//! again. Harmless orders that look suspicious (`synchronous`, `mmap_size`, `journal_size_limit` or `encoding` before
//! or after `journal_mode = wal`) are tested as well, so that they are not reported.

use super::value::{Canonical, PragmaValue};

/// A PRAGMA that is valid by itself but has no effect at its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderFault {
    /// The same setting occurs twice.
    #[error("{name} is set twice, to {first} and then to {second}; keep one")]
    Duplicate {
        /// Name of the setting.
        name: &'static str,
        /// The earlier value.
        first: String,
        /// The later value.
        second: String,
    },
    /// The setting follows a PRAGMA that writes the first page of a new database, which fixes the setting.
    #[error("{name} comes after {creator}, which creates the file and fixes it: no effect; put {name} first")]
    FileAlreadyCreated {
        /// Name of the setting without effect.
        name: &'static str,
        /// The PRAGMA that creates the file, with its value.
        creator: String,
    },
    /// The setting concerns the WAL, but the profile has another journal mode.
    #[error(
        "{name} has no effect with journal_mode = {journal}: there is no WAL; leave it out, or set journal_mode = wal"
    )]
    NoWal {
        /// Name of the PRAGMA without effect.
        name: &'static str,
        /// Journal mode of the profile.
        journal: &'static str,
    },
    /// The setting limits a file that the journal mode never leaves behind.
    #[error("journal_size_limit has no effect with journal_mode = {journal}, which leaves no file; leave it out")]
    NothingToLimit {
        /// Journal mode of the profile.
        journal: &'static str,
    },
    /// The PRAGMA frees pages that only `auto_vacuum = incremental` retains.
    #[error("incremental_vacuum has no effect with auto_vacuum = {auto_vacuum}; set auto_vacuum = incremental")]
    NotIncremental {
        /// `auto_vacuum` mode of the profile.
        auto_vacuum: &'static str,
    },
    /// The setting ends with the first transaction.
    #[error(
        "defer_foreign_keys is off again after the first transaction; declare the constraints DEFERRABLE INITIALLY DEFERRED, or set it inside each transaction"
    )]
    EndsWithTransaction,
    /// The PRAGMA writes to the file after `query_only` forbade writes.
    #[error("{name} comes after query_only = on and fails: attempt to write a readonly database; put query_only last")]
    ReadOnlyByThen {
        /// Name of the PRAGMA that fails.
        name: &'static str,
    },
    /// The hard limit overrides the soft limit.
    #[error("soft_heap_limit = {soft} is cut to hard_heap_limit = {hard}; set it lower")]
    SoftAboveHard {
        /// Soft limit of the profile in bytes; 0 means no limit.
        soft: i64,
        /// Hard limit of the profile in bytes.
        hard: i64,
    },
}

/// The faults of a profile's PRAGMAs in the order in which they run on a connection to a new database.
pub fn check_order(values: &[PragmaValue]) -> Vec<OrderFault> {
    let mut faults = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let before = &values[..index];
        if let Some(earlier) =
            before.iter().find(|earlier| value.pragma().is_setting() && earlier.name() == value.name())
        {
            faults.push(OrderFault::Duplicate { name: value.name(), first: earlier.render(), second: value.render() });
        }
        faults.extend(late(value, before));
        faults.extend(idle(value, values));
    }
    faults
}

/// The fault of a PRAGMA that comes too late.
fn late(value: &PragmaValue, before: &[PragmaValue]) -> Option<OrderFault> {
    let name = value.name();
    let too_late = name == "page_size" || name == "auto_vacuum" && word(value) != Some("none");
    let creator = before.iter().find(|earlier| earlier.name() != name && creates_file(earlier));
    if let Some(creator) = creator.filter(|_| too_late) {
        return Some(OrderFault::FileAlreadyCreated { name, creator: creator.to_string() });
    }
    let read_only =
        before.iter().any(|earlier| earlier.name() == "query_only" && earlier.value() == Canonical::Boolean(true));
    // journal_mode = wal writes as well, but below the level at which query_only is checked.
    (read_only && creates_file(value) && name != "journal_mode").then_some(OrderFault::ReadOnlyByThen { name })
}

/// The fault of a PRAGMA that has no effect at any position.
fn idle(value: &PragmaValue, all: &[PragmaValue]) -> Option<OrderFault> {
    let name = value.name();
    let journal = last(all, "journal_mode").and_then(word);
    match name {
        "wal_autocheckpoint" | "wal_checkpoint" => {
            journal.filter(|mode| *mode != "wal").map(|journal| OrderFault::NoWal { name, journal })
        }
        "journal_size_limit" => {
            // In exclusive mode a DELETE journal remains, like a PERSIST journal.
            let exclusive = last(all, "locking_mode").and_then(word) == Some("exclusive");
            journal
                .filter(|mode| matches!(*mode, "truncate" | "memory" | "off") || *mode == "delete" && !exclusive)
                .map(|journal| OrderFault::NothingToLimit { journal })
        }
        "incremental_vacuum" => {
            let mode = last(all, "auto_vacuum").and_then(word).filter(|mode| *mode != "incremental");
            mode.map(|auto_vacuum| OrderFault::NotIncremental { auto_vacuum })
        }
        "defer_foreign_keys" if value.value() == Canonical::Boolean(true) => Some(OrderFault::EndsWithTransaction),
        "soft_heap_limit" => {
            let (soft, hard) = (number(value)?, number(last(all, "hard_heap_limit")?)?);
            (soft == 0 || soft > hard).then_some(OrderFault::SoftAboveHard { soft, hard })
        }
        _ => None,
    }
}

/// Whether a PRAGMA starts a write transaction, which writes the first page of an empty database.
fn creates_file(value: &PragmaValue) -> bool {
    match value.name() {
        "journal_mode" => word(value) == Some("wal"),
        "auto_vacuum" => word(value) != Some("none"),
        "application_id" | "schema_version" | "user_version" | "incremental_vacuum" => true,
        _ => false,
    }
}

fn last<'a>(values: &'a [PragmaValue], name: &str) -> Option<&'a PragmaValue> {
    values.iter().rfind(|value| value.name() == name)
}

fn word(value: &PragmaValue) -> Option<&'static str> {
    match value.value() {
        Canonical::Word(word) => Some(word.text),
        _ => None,
    }
}

fn number(value: &PragmaValue) -> Option<i64> {
    match value.value() {
        Canonical::Integer(number) => Some(number),
        _ => None,
    }
}
