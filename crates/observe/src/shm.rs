//! The wal-index: the first 136 bytes of a `-shm` file (<https://sqlite.org/walformat.html#the_wal_index_header>).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::checksum::{Words, checksum, word};
use super::files::{absent_is_none, open_regular};
use super::lock::Lock;
use super::wal::valid_page_size;

const VERSION: u32 = 3_007_000;
const COPY: usize = 48;
const SUMMED: usize = 40;
const CHECKPOINT_INFO: usize = 2 * COPY;
/// SQLite's READMARK_NOT_USED.
const UNUSED: u32 = u32::MAX;
/// Number of attempts to read: a writer leaves the header inconsistent for some tens of nanoseconds, so a second read
/// nearly always succeeds.
const ATTEMPTS: u32 = 8;

/// State of the log as shared by the connections of a WAL database, at one moment.
///
/// Header and checkpoint information are not written atomically, so `backfilled` may briefly belong to the log before a
/// restart: use [`WalIndex::backlog`], which is never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalIndex {
    /// Counter incremented by every write transaction; it wraps.
    pub change_counter: u32,
    /// Page size in bytes; `None` before the first frame of a fresh log.
    pub page_size: Option<u32>,
    /// `mxFrame`: number of the last committed frame, and so of live frames. Zero directly after a restart.
    pub frames: u32,
    /// `nPage`: size of the database in pages, including the log.
    pub database_pages: u32,
    /// The salts of the log, as in [`super::WalHeader::salts`].
    pub salts: [u32; 2],
    /// `nBackfill`: number of frames already copied into the database file.
    pub backfilled: u32,
    /// `nBackfillAttempted`: number of frames that a checkpoint has begun to copy; at least `backfilled`.
    pub backfill_attempted: u32,
    /// Read marks: the last frame visible to the readers of each slot. `None` is an unused slot. A mark remains after
    /// its readers have ended, so it limits checkpoints only while a connection holds the slot's lock.
    pub read_marks: [Option<u32>; 5],
}

/// Why bytes are not a usable wal-index header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    /// Read during a write, or damaged: the two copies differ, or the checksum does not match.
    Torn,
    /// Too few bytes, no connection has recovered the log yet, or another format.
    Invalid,
}

impl WalIndex {
    /// Number of bytes read from the start of a `-shm` file.
    pub const BYTES: usize = 136;

    /// Parses a wal-index header in this machine's byte order.
    fn parse(bytes: &[u8]) -> Result<Self, Unreadable> {
        if bytes.len() < Self::BYTES {
            return Err(Unreadable::Invalid);
        }
        let (first, second) = (&bytes[..COPY], &bytes[COPY..2 * COPY]);
        if first != second {
            return Err(Unreadable::Torn);
        }
        let at = |offset| u32::from_ne_bytes(word(bytes, offset));
        let initialised = first[12] != 0;
        if !initialised || at(0) != VERSION {
            return Err(Unreadable::Invalid);
        }
        if checksum(&first[..SUMMED], Words::NATIVE) != [at(40), at(44)] {
            return Err(Unreadable::Torn);
        }
        let page_size = match u16::from_ne_bytes([first[14], first[15]]) {
            0 => None,
            // 65,536 does not fit in 16 bits and is written as 1.
            1 => Some(65_536),
            size if valid_page_size(size.into()) => Some(size.into()),
            _ => return Err(Unreadable::Invalid),
        };
        // The salts are copied byte by byte from the WAL header, so they alone are big-endian.
        let salts = [32, 36].map(|offset| u32::from_be_bytes(word(bytes, offset)));
        let read_marks = [4, 8, 12, 16, 20].map(|offset| {
            let mark = at(CHECKPOINT_INFO + offset);
            (mark != UNUSED).then_some(mark)
        });
        Ok(WalIndex {
            change_counter: at(8),
            page_size,
            frames: at(16),
            database_pages: at(20),
            salts,
            backfilled: at(CHECKPOINT_INFO),
            backfill_attempted: at(CHECKPOINT_INFO + 32),
            read_marks,
        })
    }

    /// Reads the wal-index of the `-shm` file at `path`, with retries if it is read during a write. `None` if there is
    /// no such file, or no readable header in it yet.
    ///
    /// # Errors
    /// Any I/O error except "not found". On Windows this includes a lock violation, because byte-range locks are
    /// mandatory there and lie inside the header.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        Ok(absent_is_none(open_regular(path))?.and_then(|file| Self::of(&file, &mut 0)))
    }

    /// Reads the wal-index of an open `-shm` file, and adds the number of reads during a write to `torn`. `None` if there
    /// is no readable header in it yet.
    pub(crate) fn of(file: &File, torn: &mut u32) -> Option<Self> {
        for _ in 0..ATTEMPTS {
            let mut start = [0; Self::BYTES];
            file.read_exact_at(&mut start, 0).ok()?;
            match Self::parse(&start) {
                Ok(index) => return Some(index),
                Err(Unreadable::Torn) => {
                    *torn += 1;
                    std::thread::yield_now();
                }
                Err(Unreadable::Invalid) => return None,
            }
        }
        None
    }

    /// Number of frames that no checkpoint has copied into the database yet.
    #[must_use]
    pub fn backlog(&self) -> u32 {
        self.frames.saturating_sub(self.backfilled)
    }

    /// Number of frames copied into the database since an earlier state. The log restarts only after all of it has been
    /// copied, so the rest of the old log counts too.
    #[must_use]
    pub fn copied_since(&self, before: &Self) -> u64 {
        if before.salts == self.salts {
            return self.backfilled.saturating_sub(before.backfilled).into();
        }
        // `nBackfill` is reset just after the new header appears: a value above the new log's length belongs to the old
        // log.
        let of_new = if self.backfilled <= self.frames { self.backfilled } else { 0 };
        u64::from(before.backlog()) + u64::from(of_new)
    }

    /// Last frame visible to a reader with this lock, 0 for one of the database file alone. `None` for an unused slot
    /// and for other locks.
    #[must_use]
    pub fn mark(&self, lock: Lock) -> Option<u32> {
        match lock {
            Lock::Read(0) => Some(0),
            Lock::Read(slot) => self.read_marks.get(usize::from(slot)).copied().flatten(),
            _ => None,
        }
    }

    /// Whether there are commits that a reader with this lock does not see. A reader of the database file alone sees
    /// none of the log; it began when all of the log had been copied.
    #[must_use]
    pub fn is_behind(&self, lock: Lock) -> bool {
        match lock {
            Lock::Read(0) => self.backlog() > 0,
            _ => self.mark(lock).is_some_and(|mark| mark < self.frames),
        }
    }

    /// Number of frames that no checkpoint can copy because of a reader with this lock: those after its mark, and those
    /// not yet copied at all for a reader of the database file alone, which excludes every copy (`walCheckpoint` in
    /// `wal.c` of SQLite).
    #[must_use]
    pub fn pinned(&self, lock: Lock) -> u32 {
        self.mark(lock).map_or(0, |mark| self.frames.saturating_sub(mark.max(self.backfilled)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testkit::Sqlite;
    use crate::{WalFile, sidecar};

    #[test]
    fn agrees_with_what_a_passive_checkpoint_reports() {
        for page_size in [512, 65_536] {
            let mut sqlite = Sqlite::spawn();
            sqlite.wal_database(page_size);
            let shm = sidecar(sqlite.path(), "-shm");
            let before = WalIndex::read(&shm).unwrap().expect("a wal-index");
            assert_eq!(before.page_size, Some(page_size));
            assert_eq!(before.backfilled, 0);
            assert_eq!(before.salts, wal_header(&sqlite).salts);
            let [_, log, backfilled] = sqlite.checkpoint("PASSIVE");
            let after = WalIndex::read(&shm).unwrap().unwrap();
            assert_eq!((i64::from(before.frames), before.backlog()), (log, before.frames));
            assert_eq!((i64::from(after.frames), i64::from(after.backfilled)), (log, backfilled));
            assert_eq!(after.backlog(), 0);
            assert_eq!(i64::from(after.database_pages), sqlite.number("PRAGMA page_count"));
        }
    }

    #[test]
    fn a_reader_stops_the_checkpoint_at_its_mark() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let shm = sidecar(sqlite.path(), "-shm");
        sqlite.begin_reader();
        let seen = WalIndex::read(&shm).unwrap().unwrap().frames;
        sqlite.exec("INSERT INTO t(x) VALUES (zeroblob(20000))");
        let [_, log, backfilled] = sqlite.checkpoint("PASSIVE");
        let index = WalIndex::read(&shm).unwrap().unwrap();
        assert!(i64::from(seen) < log);
        assert_eq!((i64::from(index.frames), i64::from(index.backfilled)), (log, backfilled));
        assert_eq!(index.backfilled, seen);
        assert!(index.read_marks.contains(&Some(seen)), "{index:?}");
        assert_eq!(i64::from(index.backlog()), log - backfilled);
    }

    #[test]
    fn change_counter_moves_with_each_write_transaction() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let shm = sidecar(sqlite.path(), "-shm");
        let before = WalIndex::read(&shm).unwrap().unwrap().change_counter;
        sqlite.exec("INSERT INTO t(x) VALUES (1)");
        sqlite.exec("INSERT INTO t(x) VALUES (2)");
        assert_eq!(WalIndex::read(&shm).unwrap().unwrap().change_counter, before.wrapping_add(2));
    }

    #[test]
    fn a_header_being_written_is_read_all_the_same() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let shm = sidecar(sqlite.path(), "-shm");
        let writer = std::thread::spawn(move || {
            (0..400).for_each(|_| drop(sqlite.exec("INSERT INTO t(x) VALUES (1)")));
            // Returned to keep the connections open until the last read: closing them removes the files.
            sqlite
        });
        let (mut frames, mut missed) = (vec![], 0);
        while !writer.is_finished() {
            // A writer that loses the CPU during a write leaves the header torn for longer than all attempts.
            match WalIndex::read(&shm).unwrap() {
                Some(index) => frames.push(index.frames),
                None => missed += 1,
            }
        }
        assert!(frames.is_sorted() && frames.first() < frames.last(), "{} reads", frames.len());
        assert!(missed * 20 <= frames.len(), "{missed} of {} reads missed", frames.len() + missed);
        drop(writer.join().unwrap());
    }

    #[test]
    fn spoilt_headers_are_refused() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let good = std::fs::read(sidecar(sqlite.path(), "-shm")).unwrap();
        let good = good[..WalIndex::BYTES].to_vec();
        WalIndex::parse(&good).expect("untouched, it is accepted");
        let spoil = |at: &[usize]| {
            let mut bad = good.clone();
            at.iter().for_each(|&at| bad[at] ^= 0x10);
            WalIndex::parse(&bad)
        };
        assert_eq!(spoil(&[16]), Err(Unreadable::Torn));
        assert_eq!(spoil(&[16, 16 + COPY]), Err(Unreadable::Torn));
        assert_eq!(spoil(&[0, COPY]), Err(Unreadable::Invalid));
        let mut blank = good.clone();
        blank[12] = 0;
        blank[12 + COPY] = 0;
        assert_eq!(WalIndex::parse(&blank), Err(Unreadable::Invalid));
        assert_eq!(WalIndex::parse(&good[..135]), Err(Unreadable::Invalid));
    }

    proptest! {
        #![proptest_config(crate::testkit::cases())]
        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(WalIndex::parse(&bytes).is_err());
        }

        #[test]
        fn garbage_with_a_right_checksum_never_panics(body in proptest::array::uniform32(any::<u8>()), rest in proptest::array::uniform32(any::<u8>())) {
            let mut copy = [0u8; COPY];
            copy[..32].copy_from_slice(&body);
            copy[..4].copy_from_slice(&VERSION.to_ne_bytes());
            copy[12] = 1;
            let [a, b] = checksum(&copy[..SUMMED], Words::NATIVE);
            copy[40..44].copy_from_slice(&a.to_ne_bytes());
            copy[44..].copy_from_slice(&b.to_ne_bytes());
            let bytes = [&copy[..], &copy[..], &rest, &rest].concat();
            let page_size = u16::from_ne_bytes([copy[14], copy[15]]);
            match WalIndex::parse(&bytes) {
                Ok(index) => prop_assert!(index.backlog() <= index.frames),
                Err(error) => {
                    prop_assert_eq!(error, Unreadable::Invalid);
                    prop_assert!(page_size > 1 && !valid_page_size(page_size.into()), "{page_size}");
                }
            }
        }
    }

    fn wal_header(sqlite: &Sqlite) -> crate::WalHeader {
        WalFile::read(&sidecar(sqlite.path(), "-wal")).unwrap().unwrap().header.unwrap()
    }
}
