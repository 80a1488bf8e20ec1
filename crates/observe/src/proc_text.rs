//! Parsing of the `key: value` files of `/proc`.
//!
//! Reads single keys instead of parsing the whole file: kernels, containers and sandboxes omit keys, and a missing key
//! that is not needed must not hide the needed ones.

use std::path::Path;

/// Text of a file under `/proc` or `/sys`; `None` if it is missing or unreadable. A name in it may be no UTF-8, or cut
/// within a character.
pub(crate) fn proc_file(path: impl AsRef<Path>) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The number after `key:`. A value in kB, the only unit in these files, is converted to bytes.
pub(crate) fn number(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let mut words = value.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    match words.next() {
        Some("kB") => number.checked_mul(1024),
        _ => Some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_whole_words_and_kilobytes_become_bytes() {
        let text = "VmRSS:\t    1500 kB\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t9\nName:\tx\n";
        assert_eq!(number(text, "VmRSS"), Some(1_536_000));
        assert_eq!(number(text, "voluntary_ctxt_switches"), Some(7));
        assert_eq!(number(text, "nonvoluntary_ctxt_switches"), Some(9));
        assert_eq!(number(text, "Vm"), None);
        assert_eq!(number(text, "Name"), None);
        assert_eq!(number("VmRSS: 18446744073709551615 kB", "VmRSS"), None);
    }
}
