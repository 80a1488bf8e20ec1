//! The hash of a table's content, equal for equal rows in any database.

use sha2::{Digest, Sha256};

/// SHA-256 over the values of a table.
///
/// Each value contributes a letter for its type, its length in eight bytes, and its bytes, so that different contents
/// never produce the same input. The caller adds rows sorted by all their columns in SQLite's order: NULL first, then
/// numbers, then text by its bytes, then blobs.
#[derive(Clone, Debug, Default)]
pub struct ContentHash(Sha256);

impl ContentHash {
    /// A hash without values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a NULL.
    pub fn null(&mut self) {
        self.add(b'n', &[]);
    }

    /// Adds an integer.
    pub fn integer(&mut self, value: i64) {
        self.add(b'i', &value.to_be_bytes());
    }

    /// Adds a double. Negative zero is added as zero: SQLite stores an integral double as an integer, which has no
    /// negative zero.
    pub fn real(&mut self, value: f64) {
        self.add(b'r', &(value + 0.0).to_bits().to_be_bytes());
    }

    /// Adds text by its bytes, which SQLite does not guarantee to be UTF-8.
    pub fn text(&mut self, value: &[u8]) {
        self.add(b't', value);
    }

    /// Adds a blob.
    pub fn blob(&mut self, value: &[u8]) {
        self.add(b'b', value);
    }

    /// The hash as lower-case hex digits.
    #[must_use]
    pub fn finish(self) -> String {
        crate::draw::hex(&self.0.finalize())
    }

    fn add(&mut self, tag: u8, bytes: &[u8]) {
        self.0.update([tag]);
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }
}
