//! The counter-based generator: a 64-bit word is a pure function of (seed, stream, row, index), identical in every
//! language.
//!
//! It is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014) with random
//! access: the state of SplitMix64 is `key + n * GAMMA`, so its n-th output does not depend on the earlier ones. A word
//! takes two 64-bit multiplications, which every language here has or can build from 32-bit ones.

/// SplitMix64's increment, the odd number nearest to 2^64 / φ.
pub const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's finaliser (Stafford's variant 13 of the MurmurHash3 finaliser).
#[inline]
#[must_use]
pub const fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// FNV-1a hash with 64 bits over the UTF-8 bytes of a stream's name.
#[must_use]
pub const fn fnv1a64(text: &[u8]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    let mut i = 0;
    while i < text.len() {
        hash = (hash ^ text[i] as u64).wrapping_mul(0x0000_0100_0000_01B3);
        i += 1;
    }
    hash
}

/// One stream of words under one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The stream of a seed and a name `transaction.param`.
    #[must_use]
    pub const fn new(seed: u64, name: &str) -> Self {
        Self { key: mix64(seed.wrapping_add(GAMMA.wrapping_mul(fnv1a64(name.as_bytes())))) }
    }

    /// Word 0 of a row, the same as [`Stream::word_at`] with index 0.
    #[inline]
    #[must_use]
    pub const fn word(&self, row: u64) -> u64 {
        mix64(self.key.wrapping_add(row.wrapping_add(1).wrapping_mul(GAMMA)))
    }

    /// Word `index` of a row: [`Stream::word`] for index 0, a second SplitMix64 step from that word for a higher index.
    #[inline]
    #[must_use]
    pub const fn word_at(&self, row: u64, index: u64) -> u64 {
        let first = self.word(row);
        if index == 0 { first } else { mix64(first.wrapping_add(index.wrapping_mul(GAMMA))) }
    }
}

/// The upper 53 bits of a word as a fraction in [0, 1); exact in a double.
#[inline]
#[must_use]
pub fn unit(word: u64) -> f64 {
    const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
    (word >> 11) as f64 * SCALE
}

/// An integer in [0, width) from a word: `floor(unit * width)` in doubles, so `width` must not exceed 2^53. The bias
/// is below `width / 2^53`.
#[inline]
#[must_use]
pub fn below(word: u64, width: u64) -> u64 {
    (unit(word) * width as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_splitmix64() {
        // The published first outputs of SplitMix64 from state 0 and from state 1234567.
        assert_eq!(mix64(GAMMA), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix64(GAMMA.wrapping_mul(2)), 0x6E78_9E6A_A1B9_65F4);
        assert_eq!(mix64(1_234_567_u64.wrapping_add(GAMMA)), 6_457_827_717_110_365_317);
        let stream = Stream { key: 1_234_567 };
        assert_eq!(stream.word(1), 3_203_168_211_198_807_973);
    }

    #[test]
    fn fnv_is_the_published_one() {
        assert_eq!(fnv1a64(b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a64(b"a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv1a64(b"foobar"), 0x8594_4171_F739_67E8);
    }

    #[test]
    fn streams_and_rows_differ() {
        let a = Stream::new(1, "t.a");
        let b = Stream::new(1, "t.b");
        assert_ne!(a.word(0), b.word(0));
        assert_ne!(a.word(0), a.word(1));
        assert_ne!(a.word_at(0, 1), a.word_at(0, 0));
        assert_ne!(Stream::new(2, "t.a").word(0), a.word(0));
    }

    #[test]
    fn below_fills_its_range_evenly() {
        let stream = Stream::new(7, "t.u");
        let mut seen = [0_u32; 10];
        for row in 0..100_000 {
            seen[below(stream.word(row), 10) as usize] += 1;
        }
        // Chi-square with 9 degrees of freedom: 27.9 is its 0.999 quantile.
        let chi2: f64 = seen.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi2 < 27.9, "chi-square {chi2}");
    }
}
