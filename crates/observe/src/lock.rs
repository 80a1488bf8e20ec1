//! Locks of SQLite as byte ranges of files.

use serde::{Deserialize, Serialize};

/// First byte of the locks in `-shm`: `WAL_WRITE_LOCK` (<https://sqlite.org/walformat.html#wal_locks>).
pub(crate) const WAL_LOCKS: u64 = 120;
/// `PENDING_BYTE` of the database file (<https://sqlite.org/fileformat2.html#the_lock_byte_page>).
pub(crate) const PENDING: u64 = 0x4000_0000;

/// A lock on a database or its wal-index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lock {
    /// Shared lock of a reader in rollback mode; in WAL mode every connection holds it.
    Shared,
    /// A writer in rollback mode that has not yet written to the database.
    Reserved,
    /// A writer in rollback mode that waits for readers.
    Pending,
    /// The only connection, in rollback mode.
    Exclusive,
    /// The writer of the log.
    Write,
    /// A checkpoint.
    Checkpoint,
    /// Recovery of the log.
    Recover,
    /// A reader of the log with the read mark of this slot.
    Read(u8),
}

impl std::fmt::Display for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Self::Shared => "shared",
            Self::Reserved => "reserved",
            Self::Pending => "pending",
            Self::Exclusive => "exclusive",
            Self::Write => "write",
            Self::Checkpoint => "checkpoint",
            Self::Recover => "recover",
            Self::Read(slot) => return write!(f, "read {slot}"),
        };
        f.write_str(name)
    }
}

/// Locks that a range of bytes of the database file means.
pub(crate) fn database_locks(first: u64, last: u64, write: bool) -> Vec<Lock> {
    let covers = |byte: u64| (first..=last).contains(&byte);
    let mut found = Vec::new();
    if covers(PENDING + 2) || (PENDING + 2..PENDING + 512).contains(&first) {
        found.push(if write { Lock::Exclusive } else { Lock::Shared });
    }
    if covers(PENDING + 1) && write {
        found.push(Lock::Reserved);
    }
    if covers(PENDING) && write {
        found.push(Lock::Pending);
    }
    found
}

/// Locks that a range of bytes of `-shm` means.
pub(crate) fn wal_locks(first: u64, last: u64) -> Vec<Lock> {
    let of = |byte: u64| match byte {
        0 => Lock::Write,
        1 => Lock::Checkpoint,
        2 => Lock::Recover,
        slot => Lock::Read(u8::try_from(slot - 3).unwrap_or(u8::MAX)),
    };
    // Byte 8 is the "dead man switch" that every connection holds.
    (0..8).filter(|byte| (first..=last).contains(&(WAL_LOCKS + byte))).map(of).collect()
}
