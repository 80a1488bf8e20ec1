//! The `-wal` file: its header, and the number of frames for its length.

use std::io::{self, Read};
use std::path::Path;

use super::checksum::{Words, checksum, word};
use super::files::{absent_is_none, open_regular};

/// Magic number without its low bit, which gives the byte order of the checksums; all other fields are big-endian.
const MAGIC: u32 = 0x377f_0682;
const VERSION: u32 = 3_007_000;
/// Bytes that a frame of the log has beside its page (<https://sqlite.org/fileformat2.html#walformat>).
pub const FRAME_HEADER: u64 = 24;

/// The 32 bytes at the start of a `-wal` file (<https://sqlite.org/fileformat2.html#walformat>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalHeader {
    /// Database page size in bytes, a power of two from 512 to 65,536.
    pub page_size: u32,
    /// Checkpoint sequence number. **Not** a count of restarts: SQLite keeps it per connection, so that the first
    /// restart by a connection writes a small number again. Compare [`WalHeader::salts`].
    pub checkpoint_sequence: u32,
    /// Both salts, which change at every restart of the log. The first one is incremented, or drawn at random if the
    /// connection that writes the new header has sequence number zero.
    pub salts: [u32; 2],
}

impl WalHeader {
    /// Length of the header in bytes.
    pub const BYTES: usize = 32;

    /// Parses a header at the start of `bytes`; `None` unless magic number, version, page size and checksum are valid.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < Self::BYTES {
            return None;
        }
        let at = |offset| u32::from_be_bytes(word(bytes, offset));
        let (magic, page_size) = (at(0), at(8));
        if magic & !1 != MAGIC || at(4) != VERSION || !valid_page_size(page_size) {
            return None;
        }
        let words = if magic & 1 == 1 { Words::Big } else { Words::Little };
        let valid = checksum(&bytes[..24], words) == [at(24), at(28)];
        valid.then(|| WalHeader { page_size, checkpoint_sequence: at(12), salts: [at(16), at(20)] })
    }

    /// Number of complete frames for a file of `file_bytes`. The file keeps its length at a restart, so this is the
    /// high-water mark of the log, not the number of live frames: for that see [`super::WalIndex::frames`].
    #[must_use]
    pub fn frames_in(&self, file_bytes: u64) -> u64 {
        file_bytes.saturating_sub(Self::BYTES as u64) / (FRAME_HEADER + u64::from(self.page_size))
    }
}

pub(super) fn valid_page_size(bytes: u32) -> bool {
    (512..=65_536).contains(&bytes) && bytes.is_power_of_two()
}

/// State of a `-wal` file at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalFile {
    /// Length in bytes.
    pub bytes: u64,
    /// Header; `None` for an empty file (never written, or truncated by a checkpoint) or one read during a write.
    pub header: Option<WalHeader>,
}

impl WalFile {
    /// Reads length and header of the `-wal` file at `path`; `None` if there is no such file.
    ///
    /// # Errors
    /// Any I/O error except "not found".
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let Some(file) = absent_is_none(open_regular(path))? else {
            return Ok(None);
        };
        let bytes = file.metadata()?.len();
        let mut start = Vec::with_capacity(WalHeader::BYTES);
        file.take(WalHeader::BYTES as u64).read_to_end(&mut start)?;
        Ok(Some(WalFile { bytes, header: WalHeader::parse(&start) }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sidecar;
    use crate::testkit::Sqlite;

    #[test]
    fn frames_and_page_size_of_a_real_log() {
        for page_size in [512, 4096, 65_536] {
            let mut sqlite = Sqlite::spawn();
            sqlite.wal_database(page_size);
            let wal = WalFile::read(&sidecar(sqlite.path(), "-wal")).unwrap().unwrap();
            let header = wal.header.expect("a readable header");
            assert_eq!(header.page_size, page_size);
            assert_eq!(header.checkpoint_sequence, 0);
            let [busy, log, _] = sqlite.checkpoint("PASSIVE");
            assert_eq!(busy, 0);
            assert!(log > 1, "the log must hold something: {log}");
            assert_eq!(header.frames_in(wal.bytes), log as u64);
            // Computed from the file's length, without `frames_in`.
            assert_eq!(wal.bytes, 32 + log as u64 * (24 + u64::from(page_size)));
        }
    }

    #[test]
    fn sequence_goes_up_when_one_connection_restarts_the_log() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let wal = sidecar(sqlite.path(), "-wal");
        let mut last = WalFile::read(&wal).unwrap().unwrap().header.unwrap();
        for sequence in 1..=3 {
            sqlite.checkpoint("PASSIVE");
            sqlite.exec("INSERT INTO t(x) VALUES (1)");
            let now = WalFile::read(&wal).unwrap().unwrap().header.unwrap();
            assert_eq!(now.checkpoint_sequence, sequence);
            assert_eq!(now.salts[0], last.salts[0].wrapping_add(1));
            assert_ne!(now.salts[1], last.salts[1]);
            last = now;
        }
    }

    #[test]
    fn truncated_log_is_empty_and_a_missing_one_is_none() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        sqlite.checkpoint("TRUNCATE");
        let wal = sidecar(sqlite.path(), "-wal");
        assert_eq!(WalFile::read(&wal).unwrap(), Some(WalFile { bytes: 0, header: None }));
        sqlite.close();
        assert_eq!(WalFile::read(&wal).unwrap(), None);
    }

    #[test]
    fn every_flipped_bit_of_a_real_header_is_noticed() {
        let mut sqlite = Sqlite::spawn();
        sqlite.wal_database(4096);
        let good = std::fs::read(sidecar(sqlite.path(), "-wal")).unwrap();
        let good = &good[..WalHeader::BYTES];
        WalHeader::parse(good).expect("untouched, it is accepted");
        for bit in 0..WalHeader::BYTES * 8 {
            let mut bad = good.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(WalHeader::parse(&bad).is_none(), "bit {bit}");
        }
        assert_eq!(WalHeader::parse(&good[..31]), None);
    }

    proptest! {
        #![proptest_config(crate::testkit::cases())]
        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            // 64 bits of magic number and version, and 64 of checksum: random bytes do not form a header.
            prop_assert!(WalHeader::parse(&bytes).is_none());
        }

        #[test]
        fn garbage_behind_a_good_magic_never_panics(tail in proptest::collection::vec(any::<u8>(), 0..40), big in any::<bool>()) {
            let mut bytes = (MAGIC | u32::from(big)).to_be_bytes().to_vec();
            bytes.extend(VERSION.to_be_bytes());
            bytes.extend(tail);
            let _ = WalHeader::parse(&bytes);
        }
    }
}
