//! SQLite's own reading of a PRAGMA's text, bug for bug.
//!
//! Each reader says what `PRAGMA name = 'text'` does on a connection to a new, empty database file. The
//! behaviour is that of `pragma.c` and `util.c` in 3.54 and is held against a real SQLite by the tests; nothing
//! here decides what litelab accepts.

use super::read_back::ReadBack;

/// The most that an ordinary 64-bit build maps (`SQLITE_MAX_MMAP_SIZE`).
pub(super) const MMAP_MAX: i64 = 0x7fff_0000;
/// The largest page number (`SQLITE_MAX_PAGE_COUNT`).
pub(super) const PAGE_COUNT_MAX: i64 = 0xffff_fffe;
/// Helper threads in an ordinary build (`SQLITE_MAX_WORKER_THREADS`).
pub(super) const THREADS_MAX: i64 = 8;

/// The handler behind a PRAGMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the PRAGMAs they serve")]
pub enum Reader {
    Flag,
    Synchronous,
    JournalMode,
    LockingMode,
    AutoVacuum,
    TempStore,
    SecureDelete,
    Encoding,
    /// A 32-bit number as C's `atoi` would read it, kept as it is.
    Int32,
    /// The same without its sign; 0 is no value.
    Absolute,
    BusyTimeout,
    WalAutocheckpoint,
    PageSize,
    CacheSpill,
    MmapSize,
    JournalSizeLimit,
    MaxPageCount,
    Threads,
    AnalysisLimit,
    SoftHeapLimit,
    HardHeapLimit,
    WalCheckpoint,
    Optimize,
    IncrementalVacuum,
    /// The text itself is the value.
    Path,
}

/// What a text does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The setting then reports this; or the action runs with this.
    Takes(ReadBack),
    /// Nothing: the setting keeps the value it had.
    Keeps,
    /// The setting goes to what the build has as its default.
    BuildDefault,
    /// SQLite returns an error.
    Fails,
}

impl Reader {
    /// What SQLite does with a text. A NUL character ends the text for SQLite but not here.
    pub fn read(self, text: &str) -> Effect {
        use ReadBack::{AtLeast, Integer, Word};
        let z = text.as_bytes();
        let takes = |number: i64| Effect::Takes(Integer(number));
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        match self {
            Self::Flag => takes(i64::from(boolean(z, false))),
            Self::Synchronous => takes(synchronous(z)),
            Self::JournalMode => journal_mode(z).map_or(Effect::Keeps, |mode| Effect::Takes(Word(mode))),
            Self::LockingMode => match ["exclusive", "normal"].into_iter().find(|word| is(word)) {
                Some(word) => Effect::Takes(Word(word)),
                None => Effect::Keeps,
            },
            Self::AutoVacuum => takes(match ["none", "full", "incremental"].iter().position(|word| is(word)) {
                Some(code) => code as i64,
                None => Some(atoi(z)).filter(|code| (0..=2).contains(code)).unwrap_or(0),
            }),
            // Only the first character of a number counts.
            Self::TempStore => takes(match z.first() {
                Some(digit @ b'0'..=b'2') => i64::from(digit - b'0'),
                _ if is("file") => 1,
                _ if is("memory") => 2,
                _ => 0,
            }),
            Self::SecureDelete => takes(if is("fast") { 2 } else { i64::from(boolean(z, false)) }),
            Self::Encoding => encoding(text).map_or(Effect::Fails, |name| Effect::Takes(Word(name))),
            Self::Int32 => takes(atoi(z)),
            Self::Absolute => match atoi(z).abs().min(i64::from(i32::MAX)) {
                0 => Effect::BuildDefault,
                pages => takes(pages),
            },
            Self::BusyTimeout => get_int32(z).map_or(Effect::Keeps, |ms| takes(ms.max(0))),
            Self::WalAutocheckpoint => takes(atoi(z).max(0)),
            Self::PageSize => match atoi(z) {
                size @ 512..=65536 if size.count_ones() == 1 => takes(size),
                _ => Effect::Keeps,
            },
            Self::CacheSpill => {
                let pages = get_int32(z);
                if !boolean(z, pages != Some(0)) { takes(0) } else { Effect::Takes(AtLeast(pages.unwrap_or(1).max(1))) }
            }
            Self::MmapSize => match dec_or_hex(z).0 {
                ..0 => Effect::BuildDefault,
                size => takes(size.min(MMAP_MAX)),
            },
            Self::JournalSizeLimit => takes(dec_or_hex(z).0.max(-1)),
            Self::MaxPageCount => match dec_or_hex(z) {
                (count @ 1.., true) => takes(count.min(PAGE_COUNT_MAX)),
                _ => Effect::Keeps,
            },
            Self::Threads => match dec_or_hex(z) {
                (count @ 0.., true) => takes((count & 0x7fff_ffff).min(THREADS_MAX)),
                _ => Effect::Keeps,
            },
            Self::AnalysisLimit => match dec_or_hex(z) {
                (rows @ 0.., true) => takes(rows & 0x7fff_ffff),
                _ => Effect::Keeps,
            },
            Self::SoftHeapLimit => match dec_or_hex(z) {
                (bytes @ 0.., true) => takes(bytes),
                _ => Effect::Keeps,
            },
            Self::HardHeapLimit => match dec_or_hex(z) {
                (bytes @ 1.., true) => takes(bytes),
                _ => Effect::Keeps,
            },
            Self::WalCheckpoint => {
                let mode = ["full", "restart", "truncate", "noop"].into_iter().find(|word| is(word));
                Effect::Takes(Word(mode.unwrap_or("passive")))
            }
            Self::Optimize => takes(atoi(z)),
            Self::IncrementalVacuum => takes(get_int32(z).filter(|pages| *pages > 0).unwrap_or(i64::from(i32::MAX))),
            Self::Path => Effect::Takes(ReadBack::Nothing),
        }
    }
}

/// `sqlite3GetBoolean`: a leading digit decides alone, so "-1" is no number, and every other word is `otherwise`.
fn boolean(z: &[u8], otherwise: bool) -> bool {
    let is = |words: [&str; 3]| words.iter().any(|word| z.eq_ignore_ascii_case(word.as_bytes()));
    match z.first() {
        Some(b'0'..=b'9') => atoi(z) != 0,
        _ if is(["on", "yes", "true"]) => true,
        _ if is(["off", "no", "false"]) => false,
        _ => otherwise,
    }
}

/// `getSafetyLevel` and the three bits that are kept of its result: 7 wraps round to OFF, unknown is NORMAL.
fn synchronous(z: &[u8]) -> i64 {
    let level = match z.first() {
        Some(b'0'..=b'9') => atoi(z),
        _ => match String::from_utf8_lossy(z).to_ascii_lowercase().as_str() {
            "off" | "no" | "false" => 0,
            "full" => 2,
            "extra" => 3,
            _ => 1,
        },
    };
    (((level + 1) & 7) - 1).max(0)
}

/// Any prefix of a mode's name is that mode, in this order; the empty text is a prefix of the first.
fn journal_mode(z: &[u8]) -> Option<&'static str> {
    ["delete", "persist", "off", "truncate", "memory", "wal"]
        .into_iter()
        .find(|mode| mode.as_bytes().get(..z.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(z)))
}

fn encoding(text: &str) -> Option<&'static str> {
    let native = if cfg!(target_endian = "little") { "UTF-16le" } else { "UTF-16be" };
    match text.to_ascii_lowercase().as_str() {
        "utf8" | "utf-8" => Some("UTF-8"),
        "utf16le" | "utf-16le" => Some("UTF-16le"),
        "utf16be" | "utf-16be" => Some("UTF-16be"),
        "utf16" | "utf-16" => Some(native),
        _ => None,
    }
}

/// `sqlite3Atoi`: 0 for whatever is no 32-bit number.
fn atoi(z: &[u8]) -> i64 {
    get_int32(z).unwrap_or(0)
}

/// `sqlite3GetInt32`: sign and digits, or an unsigned hexadecimal number, up to the first other character.
fn get_int32(z: &[u8]) -> Option<i64> {
    if let [b'0', b'x' | b'X', digits @ ..] = z
        && digits.first().is_some_and(u8::is_ascii_hexdigit)
    {
        let digits: Vec<u8> =
            digits.iter().copied().take_while(u8::is_ascii_hexdigit).skip_while(|c| *c == b'0').collect();
        let number = hexadecimal(&digits);
        return (digits.len() <= 8 && number <= i32::MAX as u64).then_some(number as i64);
    }
    let (negative, digits) = match z {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, z),
    };
    if !digits.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let number = decimal(digits);
    let number = if negative { -number } else { number };
    i32::try_from(number).ok().map(i64::from)
}

/// `sqlite3DecOrHexToI64`: the number, and whether the whole text was one that fits.
fn dec_or_hex(z: &[u8]) -> (i64, bool) {
    if let [b'0', b'x' | b'X', rest @ ..] = z {
        let digits: Vec<u8> = rest.iter().copied().take_while(u8::is_ascii_hexdigit).collect();
        let significant: Vec<u8> = digits.iter().copied().skip_while(|c| *c == b'0').collect();
        return (hexadecimal(&significant) as i64, digits.len() == rest.len() && significant.len() <= 16);
    }
    let span = z.iter().take_while(|c| b"+- \n\t0123456789".contains(c)).count();
    let z = &z[..(span + 1).min(z.len())];
    let space = |c: &u8| matches!(c, b' ' | b'\t'..=b'\r');
    let start = z.iter().take_while(|c| space(c)).count();
    let (negative, digits) = match &z[start..] {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let length = digits.iter().take_while(|c| c.is_ascii_digit()).count();
    let number = decimal(digits);
    let number = if negative { -number } else { number };
    let clamped = number.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    (clamped as i64, length > 0 && clamped == number && digits[length..].iter().all(space))
}

/// The leading decimal digits; beyond all 64-bit numbers it stops growing.
fn decimal(digits: &[u8]) -> i128 {
    digits
        .iter()
        .take_while(|c| c.is_ascii_digit())
        .fold(0_i128, |number, c| (number * 10 + i128::from(c - b'0')).min(i128::from(u64::MAX)))
}

/// Hexadecimal digits, the low 64 bits.
fn hexadecimal(digits: &[u8]) -> u64 {
    digits.iter().fold(0_u64, |number, c| (number << 4) | u64::from((*c as char).to_digit(16).unwrap_or(0)))
}
