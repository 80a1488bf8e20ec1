//! The hash of a table's content, the same whichever database holds the rows.

use sha2::{Digest, Sha256};

/// SHA-256 over values in order: each as a letter for its type, its length in eight bytes, and its bytes, so that no two
/// contents have the same text. Rows come in the order of all their columns as SQLite sorts them: NULL first, then
/// numbers, then text by its bytes, then blobs.
#[derive(Clone, Debug, Default)]
pub struct ContentHash(Sha256);

impl ContentHash {
    /// Of nothing yet.
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

    /// Adds a double. Negative zero is zero: SQLite stores a double that is integral as an integer, which has none.
    pub fn real(&mut self, value: f64) {
        self.add(b'r', &(value + 0.0).to_bits().to_be_bytes());
    }

    /// Adds text by its bytes, which SQLite does not promise to be UTF-8.
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
