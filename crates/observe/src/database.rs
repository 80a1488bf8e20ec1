//! Changes of one database over time, derived from successive reads of its files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::files::{FileSizes, open_regular, sidecar};
use super::live::query::{Owner, owners};
use super::lock::Lock;
use super::shm::WalIndex;
use super::wal::{WalFile, WalHeader};

/// Largest change of the first salt between two reads that counts as increments; a larger one is a new random draw. No
/// log restarts that often between two reads, and a random draw lies this close with probability 1 in 65,536.
const COUNTED_UP: u32 = 1 << 16;

/// State of a database's files at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatabaseState {
    /// Sizes of database, log, wal-index and rollback journal.
    pub files: FileSizes,
    /// Header of the `-wal` file.
    pub wal: Option<WalHeader>,
    /// The wal-index.
    pub index: Option<WalIndex>,
}

impl DatabaseState {
    /// Number of live frames in the log. Derived from the file's length if there is no readable wal-index, as in
    /// exclusive locking mode, in which SQLite keeps the index in private memory.
    #[must_use]
    pub fn frames(&self) -> Option<u64> {
        match (self.index, self.wal) {
            (Some(index), _) => Some(index.frames.into()),
            (None, Some(header)) => Some(header.frames_in(self.files.wal.unwrap_or(0))),
            (None, None) => (self.files.wal == Some(0)).then_some(0),
        }
    }
}

/// Changes of a log since the first read of the probe. Sampling observes states, not events, so these are lower bounds
/// unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseTotals {
    /// Number of restarts of the log after a checkpoint had copied all of it.
    pub wal_restarts: u64,
    /// Whether `wal_restarts` is exact. It is as long as the salts are incremented. A connection that writes its first
    /// header, or a log that was deleted and created again, draws them at random; such a change counts as one restart.
    pub wal_restarts_exact: bool,
    /// Number of frames copied from the log into the database.
    pub frames_backfilled: u64,
}

/// A process that holds a lock that others wait for: it writes, checkpoints, or reads a snapshot that is behind the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LockOwner {
    /// The lock.
    pub lock: Lock,
    /// Process id.
    pub pid: u32,
}

/// Observer of one database.
#[derive(Debug)]
pub struct DatabaseProbe {
    database: PathBuf,
    log: PathBuf,
    index: PathBuf,
    /// State of the last read.
    pub state: DatabaseState,
    /// Owners of locks at the last read, one of each lock.
    pub owners: Vec<LockOwner>,
    /// All changes since the first read.
    pub totals: DatabaseTotals,
    salts: Option<[u32; 2]>,
    backfill: Option<WalIndex>,
}

impl DatabaseProbe {
    /// Creates a probe of the database at this path, which need not exist yet. Reads nothing.
    #[must_use]
    pub fn new(database: PathBuf) -> Self {
        DatabaseProbe {
            log: sidecar(&database, "-wal"),
            index: sidecar(&database, "-shm"),
            database,
            state: DatabaseState::default(),
            owners: Vec::new(),
            totals: DatabaseTotals { wal_restarts: 0, wal_restarts_exact: true, frames_backfilled: 0 },
            salts: None,
            backfill: None,
        }
    }

    /// Reads the files. Anything unreadable, for any reason, is `None` in the state.
    pub fn read(&mut self) -> DatabaseState {
        let files = FileSizes::of(&self.database);
        let wal = if files.wal > Some(0) { WalFile::read(&self.log).ok().flatten() } else { None };
        let open =
            |size: Option<u64>, path: &PathBuf| size.filter(|size| *size > 0).and_then(|_| open_regular(path).ok());
        let shm = open(files.shm, &self.index);
        let index = shm.as_ref().and_then(|shm| WalIndex::of(shm, &mut 0));
        // /proc/locks would name all owners, but each read of it slows the locks of the whole system.
        let found = match &shm {
            Some(shm) => owners(shm, "-shm"),
            None => open(files.database, &self.database).map_or_else(Vec::new, |file| owners(&file, "")),
        };
        self.owners = found.into_iter().filter_map(|(lock, owner)| counts(lock, owner, index)).collect();
        self.note(DatabaseState { files, wal: wal.and_then(|wal| wal.header), index });
        self.state
    }

    fn note(&mut self, state: DatabaseState) {
        self.state = state;
        if let Some(header) = state.wal {
            if let Some(before) = self.salts
                && before != header.salts
            {
                let moved = header.salts[0].wrapping_sub(before[0]);
                let counted = (1..=COUNTED_UP).contains(&moved);
                self.totals.wal_restarts += if counted { moved.into() } else { 1 };
                self.totals.wal_restarts_exact &= counted;
            }
            self.salts = Some(header.salts);
        }
        if let Some(index) = state.index {
            if let Some(before) = self.backfill {
                self.totals.frames_backfilled += index.copied_since(&before);
            }
            self.backfill = Some(index);
        }
    }
}

/// The owner of a lock that others wait for. A read mark counts if commits came after it.
fn counts(lock: Lock, owner: Owner, index: Option<WalIndex>) -> Option<LockOwner> {
    let Owner::Process(pid) = owner else { return None };
    let counts = match lock {
        Lock::Shared => false,
        Lock::Read(_) => index?.is_behind(lock),
        _ => true,
    };
    counts.then_some(LockOwner { lock, pid })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Sqlite;

    #[test]
    fn restarts_and_backfill_over_several_checkpoints() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let mut probe = DatabaseProbe::new(sqlite.path().to_owned());
        probe.read();
        assert_eq!(probe.totals.wal_restarts, 0);
        let mut backfilled = 0;
        for round in 1..=3 {
            backfilled += sqlite.checkpoint("PASSIVE")[2];
            probe.read();
            sqlite.exec("INSERT INTO t(x) VALUES (zeroblob(9000))");
            probe.read();
            assert_eq!(probe.totals.wal_restarts, round);
        }
        assert!(probe.totals.wal_restarts_exact);
        assert_eq!(probe.totals.frames_backfilled, backfilled as u64);
    }

    #[test]
    fn restarts_missed_between_two_looks_are_counted_by_the_salts() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let mut probe = DatabaseProbe::new(sqlite.path().to_owned());
        let before = probe.read().index.unwrap();
        for _ in 0..5 {
            sqlite.checkpoint("PASSIVE");
            sqlite.exec("INSERT INTO t(x) VALUES (1)");
        }
        probe.read();
        assert_eq!((probe.totals.wal_restarts, probe.totals.wal_restarts_exact), (5, true));
        // The logs in between were not observed; the first one must have been copied completely.
        assert_eq!(probe.totals.frames_backfilled, u64::from(before.frames));
    }

    /// Shows why the checkpoint sequence cannot count restarts: after three restarts by one connection, the first
    /// restart by another connection writes sequence number 1.
    #[test]
    fn restarts_by_several_connections() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        sqlite.exec_second("PRAGMA wal_autocheckpoint=0");
        let mut probe = DatabaseProbe::new(sqlite.path().to_owned());
        probe.read();
        for _ in 0..3 {
            sqlite.checkpoint("PASSIVE");
            sqlite.exec("INSERT INTO t(x) VALUES (1)");
        }
        assert_eq!(probe.read().wal.unwrap().checkpoint_sequence, 3);
        sqlite.checkpoint("PASSIVE");
        sqlite.exec_second("INSERT INTO t(x) VALUES (1)");
        assert_eq!(probe.read().wal.unwrap().checkpoint_sequence, 1);
        assert_eq!((probe.totals.wal_restarts, probe.totals.wal_restarts_exact), (4, true));
    }

    #[test]
    fn a_log_made_again_is_one_restart_and_said_to_be_inexact() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let mut probe = DatabaseProbe::new(sqlite.path().to_owned());
        probe.read();
        // Leaving WAL mode deletes the log, like closing the last connection.
        sqlite.exec("PRAGMA journal_mode=DELETE");
        assert_eq!(probe.read().files.wal, None);
        sqlite.exec("PRAGMA journal_mode=WAL");
        sqlite.exec("INSERT INTO t(x) VALUES (1)");
        probe.read();
        assert_eq!((probe.totals.wal_restarts, probe.totals.wal_restarts_exact), (1, false));
    }

    #[test]
    fn an_absent_database_is_no_error() {
        let mut probe = DatabaseProbe::new("/nonexistent/x.db".into());
        assert_eq!(probe.read(), DatabaseState::default());
        assert_eq!(probe.state.frames(), None);
    }

    #[test]
    fn exclusive_locking_has_frames_by_length() {
        let mut sqlite = Sqlite::spawn();
        sqlite.exec("PRAGMA locking_mode=EXCLUSIVE");
        sqlite.wal_database(4096);
        let state = DatabaseProbe::new(sqlite.path().to_owned()).read();
        assert_eq!(state.index, None);
        assert_eq!(state.frames(), Some(sqlite.checkpoint("PASSIVE")[1] as u64));
    }
}
