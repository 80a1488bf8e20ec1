//! The value of each [`Source`]: the reference for every runner, and the generator of the core's prepared data.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::generator::{GAMMA, Stream, below, mix64};
use crate::transaction::{NowUnit, Param, Source, Table};
pub use crate::value::Value;

/// The 64 characters of [`Source::Text`]. Six bits of a word select each character, lowest bits first.
pub const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ";

/// Characters drawn from one word by [`Source::Text`].
pub const CHARS_PER_WORD: u64 = 10;

/// A drawn value whose text stands in a buffer of the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "SQLite's own words")]
pub enum Drawn {
    Null,
    Integer(i64),
    Real(f64),
    /// The bytes `from..to` of the buffer.
    Text {
        from: usize,
        to: usize,
    },
    /// The worker's yielded value at this place, when the statement is executed.
    Yielded(usize),
}

/// Generator of the values of one transaction's parameters.
#[derive(Debug)]
pub struct Drawer {
    params: Vec<(Stream, Draw)>,
    reads_clock: bool,
}

/// [`Source`] with everything resolved that is the same for all rows.
#[derive(Debug)]
enum Draw {
    Fixed(Value),
    Choice(Vec<Value>),
    /// The width is a double because the unit draw is multiplied by it.
    Uniform {
        low: i64,
        width: f64,
    },
    Table(Table),
    Sequence {
        start: i64,
        step: i64,
    },
    Hex {
        bytes: u32,
    },
    Text {
        chars: u64,
    },
    Sha256Of(usize),
    Now(NowUnit),
    /// Texts between which the number of the row stands.
    Format(Vec<String>),
    Yielded(usize),
}

impl Draw {
    fn new(source: &Source, worker: u32, place: &mut impl FnMut(&str) -> usize) -> Self {
        let scalar = |json| Value::from_json(json).unwrap_or(Value::Null);
        match source {
            Source::Value { value } => Self::Fixed(scalar(value)),
            Source::Choice { values } => Self::Choice(values.iter().map(scalar).collect()),
            Source::Uniform { low, high } => {
                Self::Uniform { low: *low, width: high.wrapping_sub(*low).wrapping_add(1) as u64 as f64 }
            }
            Source::Table(table) => Self::Table(table.clone()),
            Source::Sequence { start, step } => Self::Sequence { start: *start, step: *step },
            Source::Hex { bytes } => Self::Hex { bytes: *bytes },
            Source::Text { chars } => Self::Text { chars: (*chars).into() },
            Source::Sha256Of { param } => Self::Sha256Of(*param as usize),
            Source::Now { unit } => Self::Now(*unit),
            Source::Worker => Self::Fixed(Value::Integer(worker.into())),
            Source::Format { template } => {
                let template = template.replace("{worker}", &worker.to_string());
                Self::Format(template.split("{row}").map(str::to_owned).collect())
            }
            Source::Yielded { name } => Self::Yielded(place(name)),
        }
    }
}

impl Drawer {
    /// A generator for one worker. The stream of each parameter is `transaction.param`.
    #[must_use]
    pub fn new(seed: u64, transaction: &str, params: &[Param], worker: u32) -> Self {
        Self::with_yields(seed, transaction, params, worker, |_| 0)
    }

    /// As [`Drawer::new`]; `place` returns the place of [`Drawn::Yielded`] for the name of a [`Source::Yielded`].
    #[must_use]
    pub fn with_yields(
        seed: u64,
        transaction: &str,
        params: &[Param],
        worker: u32,
        mut place: impl FnMut(&str) -> usize,
    ) -> Self {
        let stream = |name: &str| Stream::new(seed, &format!("{transaction}.{name}"));
        let params: Vec<_> =
            params.iter().map(|p| (stream(&p.name), Draw::new(&p.source, worker, &mut place))).collect();
        let reads_clock = params.iter().any(|(_, draw)| matches!(draw, Draw::Now(_)));
        Self { params, reads_clock }
    }

    /// Time of the wall clock since 1970; zero if no parameter needs it.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Duration {
        if self.reads_clock { wall() } else { Duration::ZERO }
    }

    /// The value of parameter `index` in `row`; null for an index beyond the list and for a [`Source::Yielded`], whose
    /// value the runner binds.
    #[must_use]
    pub fn draw(&self, index: usize, row: u64) -> Value {
        let mut text = String::new();
        let drawn = self.draw_into(index, row, self.now(), &mut text);
        owned(drawn, text)
    }

    /// As [`Drawer::draw`], for many values: text is appended to `out`, and `now` is the result of [`Drawer::now`], the
    /// same for values that must agree. Allocates nothing if `out` has room.
    #[inline(always)]
    #[must_use]
    pub fn draw_into(&self, index: usize, row: u64, now: Duration, out: &mut String) -> Drawn {
        // The two most common sources are inlined; the others take a call.
        match self.params.get(index) {
            Some((stream, Draw::Uniform { low, width })) => uniform(stream, row, *low, *width),
            Some((_, Draw::Sequence { start, step })) => {
                Drawn::Integer(start.wrapping_add(step.wrapping_mul(row as i64)))
            }
            _ => self.other(index, row, now, out),
        }
    }

    #[inline(never)]
    fn other(&self, index: usize, row: u64, now: Duration, out: &mut String) -> Drawn {
        let Some((stream, draw)) = self.params.get(index) else { return Drawn::Null };
        let from = out.len();
        match draw {
            Draw::Uniform { .. } | Draw::Sequence { .. } => return self.draw_into(index, row, now, out),
            Draw::Fixed(value) => return append(value, out),
            Draw::Choice(values) => {
                let at = below(stream.word(row), values.len() as u64) as usize;
                return values.get(at).map_or(Drawn::Null, |value| append(value, out));
            }
            Draw::Table(table) => {
                let word = stream.word(row);
                let at = table.cut.partition_point(|&cut| cut <= word >> 11);
                let low = table.low.get(at).copied().unwrap_or_default();
                let width = table.width.get(at).copied().unwrap_or(1);
                return Drawn::Integer(low.wrapping_add(below(stream.word_at(row, 1), width) as i64));
            }
            Draw::Now(unit) => return time(*unit, now, out),
            Draw::Yielded(place) => return Drawn::Yielded(*place),
            Draw::Hex { bytes } => random_bytes(stream, row, *bytes, |bytes| push_hex(bytes, out)),
            Draw::Text { chars } => push_text(stream, row, *chars, out),
            Draw::Sha256Of(other) => {
                let digest = self.sha256(*other, index, row, now, out);
                push_hex(&digest, out);
            }
            Draw::Format(literals) => {
                for (i, literal) in literals.iter().enumerate() {
                    if i > 0 {
                        // Writing to a String cannot fail.
                        let _written = write!(out, "{row}");
                    }
                    out.push_str(literal);
                }
            }
        }
        Drawn::Text { from, to: out.len() }
    }

    /// SHA-256 for [`Source::Sha256Of`]. `of` guards against a parameter that refers to itself or a later one.
    fn sha256(&self, index: usize, of: usize, row: u64, now: Duration, out: &mut String) -> [u8; 32] {
        let mut hash = Sha256::new();
        match self.params.get(index) {
            Some((stream, Draw::Hex { bytes })) => random_bytes(stream, row, *bytes, |bytes| hash.update(bytes)),
            Some(_) if index < of => {
                let mark = out.len();
                match self.draw_into(index, row, now, out) {
                    Drawn::Null | Drawn::Yielded(_) => {}
                    Drawn::Integer(i) => hash.update(i.to_string()),
                    Drawn::Real(r) => hash.update(r.to_string()),
                    Drawn::Text { from, to } => hash.update(&out[from..to]),
                }
                out.truncate(mark);
            }
            _ => {}
        }
        hash.finalize().into()
    }
}

/// The value of a parameter whose text is all of `text`.
fn owned(drawn: Drawn, text: String) -> Value {
    match drawn {
        Drawn::Null | Drawn::Yielded(_) => Value::Null,
        Drawn::Integer(integer) => Value::Integer(integer),
        Drawn::Real(real) => Value::Real(real),
        Drawn::Text { .. } => Value::Text(text),
    }
}

/// Appends the text of a value.
fn append(value: &Value, out: &mut String) -> Drawn {
    match value {
        Value::Null => Drawn::Null,
        Value::Integer(integer) => Drawn::Integer(*integer),
        Value::Real(real) => Drawn::Real(*real),
        Value::Text(text) => push(text, out),
    }
}

fn push(text: &str, out: &mut String) -> Drawn {
    let from = out.len();
    out.push_str(text);
    Drawn::Text { from, to: out.len() }
}

/// [`below`] with signed integers, which the processor converts in one instruction: no value here has its upper bit
/// set.
#[inline(always)]
fn uniform(stream: &Stream, row: u64, low: i64, width: f64) -> Drawn {
    const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
    let unit = (stream.word(row) >> 11) as i64 as f64 * SCALE;
    Drawn::Integer(low.wrapping_add((unit * width) as i64))
}

/// The bytes in order, up to eight at a time.
fn random_bytes(stream: &Stream, row: u64, count: u32, mut each: impl FnMut(&[u8])) {
    let first = stream.word(row);
    let mut word = first;
    for (index, left) in (0..count).step_by(8).map(|at| count - at).enumerate() {
        if index > 0 {
            word = mix64(first.wrapping_add((index as u64).wrapping_mul(GAMMA)));
        }
        each(&word.to_be_bytes()[..left.min(8) as usize]);
    }
}

fn push_text(stream: &Stream, row: u64, chars: u64, out: &mut String) {
    let first = stream.word(row);
    let mut word = first;
    for i in 0..chars {
        if i > 0 && i % CHARS_PER_WORD == 0 {
            word = mix64(first.wrapping_add((i / CHARS_PER_WORD).wrapping_mul(GAMMA)));
        }
        out.push(char::from(ALPHABET[(word & 63) as usize]));
        word >>= 6;
    }
}

/// The bytes as lower-case hex digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    push_hex(bytes, &mut out);
    out
}

fn push_hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for some in bytes.chunks(32) {
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(some) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        // Digits are text.
        out.push_str(str::from_utf8(&digits[..2 * some.len()]).unwrap_or_default());
    }
}

/// The current wall-clock time in the given form.
#[must_use]
pub fn now(unit: NowUnit) -> Value {
    let mut text = String::new();
    let drawn = time(unit, wall(), &mut text);
    owned(drawn, text)
}

fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A time since 1970 in the given form.
fn time(unit: NowUnit, since: Duration, out: &mut String) -> Drawn {
    match unit {
        NowUnit::S => Drawn::Integer(since.as_secs() as i64),
        NowUnit::Ms => Drawn::Integer(since.as_millis() as i64),
        NowUnit::Us => Drawn::Integer(since.as_micros() as i64),
        NowUnit::Iso => push(&iso(since.as_secs() as i64, since.subsec_millis()), out),
    }
}

/// A Unix time in the form `2026-01-31T12:34:56.789Z`.
///
/// Proleptic Gregorian date from days since 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
#[must_use]
pub fn iso(seconds: i64, millis: u32) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(source: Source) -> Drawer {
        Drawer::new(1, "t", &[Param { name: "p".into(), source }], 3)
    }

    #[test]
    fn dates_are_right_across_leap_years() {
        assert_eq!(iso(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(951_782_400, 7), "2000-02-29T00:00:00.007Z");
        assert_eq!(iso(4_107_542_399, 999), "2100-02-28T23:59:59.999Z");
        assert_eq!(iso(4_107_542_400, 0), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn a_hash_is_of_the_bytes_before_hex() {
        let params = [
            Param { name: "rand".into(), source: Source::Hex { bytes: 8 } },
            Param { name: "hash".into(), source: Source::Sha256Of { param: 0 } },
        ];
        let drawer = Drawer::new(1, "generate", &params, 0);
        let word = Stream::new(1, "generate.rand").word(5);
        assert_eq!(drawer.draw(0, 5), Value::Text(format!("{word:016x}")));
        assert_eq!(drawer.draw(1, 5), Value::Text(hex(&Sha256::digest(word.to_be_bytes()))));
    }

    #[test]
    fn a_hash_of_itself_ends() {
        let drawer = one(Source::Sha256Of { param: 0 });
        assert_eq!(drawer.draw(0, 0), Value::Text(hex(&Sha256::digest([]))));
    }

    #[test]
    fn a_table_takes_each_interval_by_its_share() {
        let half = 1_u64 << 52;
        let drawer =
            one(Source::Table(crate::Table { cut: vec![half, 2 * half], low: vec![0, 100], width: vec![1, 10] }));
        let mut first = 0;
        for row in 0..10_000 {
            match drawer.draw(0, row) {
                Value::Integer(0) => first += 1,
                Value::Integer(v) => assert!((100..110).contains(&v)),
                other => panic!("{other:?}"),
            }
        }
        assert!((4_800..5_200).contains(&first), "{first}");
    }

    #[test]
    fn text_and_format() {
        let Value::Text(text) = one(Source::Text { chars: 23 }).draw(0, 9) else { panic!("no text") };
        assert_eq!(text.len(), 23);
        assert_eq!(
            one(Source::Format { template: "w{worker}_task_{row}".into() }).draw(0, 12),
            Value::Text("w3_task_12".into())
        );
        assert_eq!(one(Source::Worker).draw(0, 12), Value::Integer(3));
        assert_eq!(one(Source::Sequence { start: 10, step: -2 }).draw(0, 12), Value::Integer(-14));
    }
}
