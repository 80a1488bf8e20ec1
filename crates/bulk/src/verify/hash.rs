//! Hash of a row and its hex encoding.

/// Returns the SHA-256 of exactly 8 bytes.
///
/// Such a message fills one block together with its padding (FIPS 180-4, section 5.1.1), so the compression function is
/// called once on a block padded here, without the buffering of a general hasher.
#[inline]
#[must_use]
pub fn sha256_of_8(message: &[u8; 8]) -> [u8; 32] {
    const INITIAL: [u32; 8] =
        [0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19];
    let mut block = [0; 64];
    block[..8].copy_from_slice(message);
    block[8] = 0x80;
    // The block ends with the length of the message in bits, big-endian: 64.
    block[63] = 64;
    let mut state = INITIAL;
    sha2::block_api::compress256(&mut state, &[block]);
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
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
    const INVALID: u8 = 0xFF;
    const VALUE: [u8; 256] = {
        let mut table = [INVALID; 256];
        let mut value = 0;
        while value < 16 {
            table[b"0123456789abcdef"[value as usize] as usize] = value;
            value += 1;
        }
        table
    };
    let text: &[u8; 16] = text.try_into().ok()?;
    let mut bytes = [0; 8];
    let mut seen = 0;
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let (high, low) = (VALUE[pair[0] as usize], VALUE[pair[1] as usize]);
        seen |= high | low;
        *byte = high << 4 | (low & 15);
    }
    (seen < 16).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use litelab_protocol::generator::Stream;
    use sha2::{Digest, Sha256};

    #[test]
    fn one_block_hash_is_sha256() {
        let stream = Stream::new(9, "generate.rand");
        for message in (0..1000).map(|row| stream.word(row).to_be_bytes()).chain([[0; 8], [0xFF; 8]]) {
            assert_eq!(sha256_of_8(&message)[..], Sha256::digest(message)[..]);
        }
    }

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
        for wrong in ["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF", "0123456789abcdeg"] {
            assert_eq!(decode_8(wrong.as_bytes()), None, "{wrong}");
        }
        for byte in 0..=255_u8 {
            let mut text = *b"0123456789abcdef";
            text[5] = byte;
            assert_eq!(decode_8(&text).is_some(), matches!(byte, b'0'..=b'9' | b'a'..=b'f'), "{byte}");
        }
    }
}
