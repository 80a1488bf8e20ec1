//! The running checksum of the WAL format (<https://sqlite.org/fileformat2.html#walcksm>).

/// Byte order in which the 32-bit words are read before they are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Big,
    Little,
}

impl Words {
    /// Byte order of the wal-index: that of the machine, because it is memory shared by processes of one machine.
    pub(super) const NATIVE: Words = if cfg!(target_endian = "big") { Words::Big } else { Words::Little };

    pub(super) fn read(self, bytes: [u8; 4]) -> u32 {
        match self {
            Words::Big => u32::from_be_bytes(bytes),
            Words::Little => u32::from_le_bytes(bytes),
        }
    }
}

/// The two sums over `bytes`, starting from zero. A tail shorter than eight bytes is ignored: the format sums only
/// multiples of eight.
pub(super) fn checksum(bytes: &[u8], words: Words) -> [u32; 2] {
    let (pairs, _) = bytes.as_chunks::<8>();
    pairs.iter().fold([0u32; 2], |[s0, s1], &[a, b, c, d, e, f, g, h]| {
        let s0 = s0.wrapping_add(words.read([a, b, c, d])).wrapping_add(s1);
        let s1 = s1.wrapping_add(words.read([e, f, g, h])).wrapping_add(s0);
        [s0, s1]
    })
}

/// The four bytes at `at`; zeros beyond the end of the slice, whose length callers check first.
pub(super) fn word(bytes: &[u8], at: usize) -> [u8; 4] {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_two_words_by_hand() {
        // s0 = 1 + 0; s1 = 2 + s0 = 3; then s0 = 1 + 3 + 3 = 7; s1 = 3 + 4 + 7 = 14.
        let bytes = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4];
        assert_eq!(checksum(&bytes, Words::Big), [7, 14]);
        assert_ne!(checksum(&bytes, Words::Little), [7, 14]);
    }
}
