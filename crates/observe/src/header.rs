//! The first 100 bytes of a database file (<https://sqlite.org/fileformat2.html#the_database_header>).

use std::io::{self, Read};
use std::path::Path;

use thiserror::Error;

use super::checksum::word;
use super::files::{absent_is_none, open_regular};
use super::wal::valid_page_size;

/// Fields of the database header. In WAL mode they describe the state at the last checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseHeader {
    /// Page size in bytes.
    pub page_size: u32,
    /// Whether the file is in WAL mode, a persistent property.
    pub wal: bool,
    /// File change counter, incremented by each transaction outside WAL mode.
    pub change_counter: u32,
    /// Size of the database in pages.
    pub pages: u32,
    /// Number of pages on the free list.
    pub free_pages: u32,
    /// Version number of the SQLite library that last wrote the file, such as 3054001 for 3.54.1.
    pub written_by: u32,
}

/// Error for bytes that are not the header of an SQLite database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DatabaseHeaderError {
    /// Fewer than 100 bytes, as in a database that was never written.
    #[error("{0} bytes are too few for a database header")]
    Short(usize),
    /// The magic string is missing: another format, or an encrypted database.
    #[error("this is not an SQLite database, or it is encrypted")]
    Magic,
    /// The page size is not a power of two between 512 and 65,536.
    #[error("impossible page size {0}")]
    PageSize(u32),
}

impl DatabaseHeader {
    /// Length of the header in bytes.
    pub const BYTES: usize = 100;

    /// Parses a header at the start of `bytes`.
    ///
    /// # Errors
    /// A [`DatabaseHeaderError`] if `bytes` does not begin with a header.
    pub fn parse(bytes: &[u8]) -> Result<Self, DatabaseHeaderError> {
        if bytes.len() < Self::BYTES {
            return Err(DatabaseHeaderError::Short(bytes.len()));
        }
        if !bytes.starts_with(b"SQLite format 3\0") {
            return Err(DatabaseHeaderError::Magic);
        }
        let page_size = match u16::from_be_bytes([bytes[16], bytes[17]]) {
            1 => 65_536,
            size => u32::from(size),
        };
        if !valid_page_size(page_size) {
            return Err(DatabaseHeaderError::PageSize(page_size));
        }
        let at = |offset| u32::from_be_bytes(word(bytes, offset));
        Ok(DatabaseHeader {
            page_size,
            wal: bytes[18] == 2,
            change_counter: at(24),
            pages: at(28),
            free_pages: at(36),
            written_by: at(96),
        })
    }

    /// Reads the header of the file at `path`; `None` if the file does not exist or is empty.
    ///
    /// # Errors
    /// Any I/O error except "not found"; `InvalidData` if the file is not a database.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let Some(file) = absent_is_none(open_regular(path))? else {
            return Ok(None);
        };
        let mut start = Vec::with_capacity(Self::BYTES);
        file.take(Self::BYTES as u64).read_to_end(&mut start)?;
        match Self::parse(&start) {
            Ok(header) => Ok(Some(header)),
            Err(DatabaseHeaderError::Short(0)) => Ok(None),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testkit::Sqlite;

    #[test]
    fn agrees_with_the_pragmas() {
        let mut sqlite = Sqlite::spawn();
        assert_eq!(DatabaseHeader::read(sqlite.path()).unwrap(), None);
        // Large rows with overflow pages, so that deleting them leaves free pages.
        sqlite.wal_database(4096);
        sqlite.checkpoint("TRUNCATE");
        let header = DatabaseHeader::read(sqlite.path()).unwrap().unwrap();
        assert!(header.wal);
        assert_eq!(header.page_size, 4096);
        assert_eq!((i64::from(header.pages), header.free_pages), (sqlite.number("PRAGMA page_count"), 0));
        assert_eq!(i64::from(header.written_by), i64::from(rusqlite::version_number()));
        sqlite.exec("DELETE FROM t");
        sqlite.checkpoint("TRUNCATE");
        let free = sqlite.number("PRAGMA freelist_count");
        assert!(free > 0);
        assert_eq!(i64::from(DatabaseHeader::read(sqlite.path()).unwrap().unwrap().free_pages), free);
        sqlite.exec("PRAGMA journal_mode=DELETE");
        assert!(!DatabaseHeader::read(sqlite.path()).unwrap().unwrap().wal);
    }

    #[test]
    fn another_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [b'x'; 200]).unwrap();
        assert_eq!(DatabaseHeader::read(file.path()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    proptest! {
        #![proptest_config(crate::testkit::cases())]
        #[test]
        fn garbage_behind_the_magic_never_panics(tail in proptest::collection::vec(any::<u8>(), 0..120)) {
            let bytes = [&b"SQLite format 3\0"[..], &tail].concat();
            if let Ok(header) = DatabaseHeader::parse(&bytes) {
                prop_assert!(header.page_size.is_power_of_two());
            }
        }
    }
}
