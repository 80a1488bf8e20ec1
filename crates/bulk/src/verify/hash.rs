//! Hash of a row and its hex encoding.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of 8 bytes.
#[inline]
#[must_use]
pub fn sha256_of_8(message: &[u8; 8]) -> [u8; 32] {
    Sha256::digest(message).into()
}

/// Encodes bytes as lowercase hex. `M` must be twice `N`.
#[inline]
#[must_use]
pub fn encode<const N: usize, const M: usize>(bytes: &[u8; N]) -> [u8; M] {
    const { assert!(M == 2 * N) };
    // The compiler turns this arithmetic into vector instructions, unlike a table.
    let digit = |nibble: u8| nibble + b'0' + if nibble > 9 { b'a' - b'0' - 10 } else { 0 };
    let mut text = [0; M];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = digit(byte >> 4);
        pair[1] = digit(byte & 15);
    }
    text
}

/// Decodes 16 lowercase hex digits; `None` for any other text.
#[inline]
#[must_use]
pub fn decode_8(text: &[u8]) -> Option<[u8; 8]> {
    let text: &[u8; 16] = text.try_into().ok()?;
    let nibble = |digit: u8| (digit & 15) + 9 * (digit >> 6);
    let mut bytes = [0; 8];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = nibble(pair[0]) << 4 | nibble(pair[1]) & 15;
    }
    // Another character is not what its value is encoded as.
    (encode(&bytes) == *text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_goes_both_ways() {
        for byte in 0..=255 {
            let bytes = [byte, 0, byte, 1, 2, 3, 254, byte];
            let text: [u8; 16] = encode(&bytes);
            assert_eq!(text[..2], *format!("{byte:02x}").as_bytes());
            assert_eq!(decode_8(&text), Some(bytes));
        }
    }

    #[test]
    fn only_sixteen_lowercase_digits_decode() {
        assert_eq!(decode_8(b"0123456789abcdef"), Some([0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF]));
        for wrong in ["", "0123456789abcde", "0123456789abcdef0"] {
            assert_eq!(decode_8(wrong.as_bytes()), None, "{wrong}");
        }
        for (at, byte) in (0..16).flat_map(|at| (0..=255_u8).map(move |byte| (at, byte))) {
            let mut text = *b"0123456789abcdef";
            text[at] = byte;
            assert_eq!(decode_8(&text).is_some(), matches!(byte, b'0'..=b'9' | b'a'..=b'f'), "{byte}");
        }
    }
}
