//! Draws the values of one operation into reused buffers. [`litelab_protocol::draw`] defines the values; this module
//! draws the same without allocation, and a test compares the two.

use litelab_protocol::draw::{self, ALPHABET, CHARS_PER_WORD, Value};
use litelab_protocol::generator::{GAMMA, Stream, below, mix64};
use litelab_protocol::{NowUnit, Source, Table, Transaction};
use sha2::{Digest, Sha256};

use crate::fault::Fault;

/// Value of one SQL parameter; a text is stored in [`Values`].
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// Bytes `from..to` of the text in [`Values`].
    Text {
        /// Offset of the first byte.
        from: usize,
        /// Offset after the last byte.
        to: usize,
    },
    /// The worker's yielded value at this place, when the statement is executed.
    Yielded(usize),
}

/// A value ready to bind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound<'a> {
    /// NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// A UTF-8 text.
    Text(&'a str),
}

/// The values of one operation in the order in which its statements bind them.
#[derive(Debug, Default)]
pub struct Values {
    slots: Vec<Slot>,
    text: String,
    bytes: Vec<u8>,
}

/// Draws the values of one transaction for one worker.
pub struct Params {
    sources: Vec<(Stream, Draw)>,
    statements: Vec<Layout>,
    reads_clock: bool,
}

/// Slots of one statement in an operation.
struct Layout {
    /// Indices into the sources.
    bind: Vec<usize>,
    /// Rows per operation: `repeat * tuples`.
    rows: u64,
    /// Index of its first slot.
    from: usize,
    /// Number of slots of one execution.
    slots: usize,
}

/// [`Source`] with everything resolved that is the same for all rows.
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
        bytes: usize,
    },
    Text {
        chars: u64,
    },
    Sha256Of(usize),
    Now(NowUnit),
    Format(Vec<Piece>),
    Yielded(usize),
}

enum Piece {
    Literal(String),
    Row,
}

impl Values {
    /// The value of a slot.
    #[inline(always)]
    #[must_use]
    pub fn bound<'a>(&'a self, slot: &Slot, yielded: &'a [Value]) -> Bound<'a> {
        match slot {
            Slot::Null => Bound::Null,
            Slot::Integer(i) => Bound::Integer(*i),
            Slot::Real(r) => Bound::Real(*r),
            Slot::Text { from, to } => Bound::Text(&self.text[*from..*to]),
            Slot::Yielded(at) => match &yielded[*at] {
                Value::Null => Bound::Null,
                Value::Integer(i) => Bound::Integer(*i),
                Value::Real(r) => Bound::Real(*r),
                Value::Text(s) => Bound::Text(s),
            },
        }
    }
}

impl Params {
    /// `place` gives the place of a yielded name among the worker's yielded values.
    pub fn new(
        seed: u64,
        transaction: &Transaction,
        worker: u32,
        mut place: impl FnMut(&str) -> usize,
    ) -> Result<Self, Fault> {
        let name = &transaction.name;
        let sources: Vec<(Stream, Draw)> = (transaction.params.iter())
            .map(|p| (Stream::new(seed, &format!("{name}.{}", p.name)), resolve(&p.source, worker, &mut place)))
            .collect();
        let mut from = 0;
        let mut statements = Vec::new();
        for statement in &transaction.statements {
            let bind: Vec<usize> = statement.bind.iter().map(|&i| i as usize).collect();
            if bind.iter().any(|&i| i >= sources.len()) {
                return Err(Fault::Other(format!("transaction `{name}` binds a parameter that it does not have")));
            }
            let (repeat, slots) = (statement.repeat as usize, bind.len() * statement.tuples as usize);
            let rows = u64::from(statement.repeat) * u64::from(statement.tuples);
            statements.push(Layout { bind, rows, from, slots });
            from += repeat * slots;
        }
        let reads_clock = sources.iter().any(|(_, draw)| matches!(draw, Draw::Now(_)));
        Ok(Self { sources, statements, reads_clock })
    }

    /// Slots of the `repetition`-th execution of a statement.
    #[inline(always)]
    pub fn slots<'a>(&self, values: &'a Values, statement: usize, repetition: usize) -> &'a [Slot] {
        let layout = &self.statements[statement];
        let from = layout.from + repetition * layout.slots;
        &values.slots[from..from + layout.slots]
    }

    /// Draws all values of an operation. The wall clock is read once, so that two columns with the same time agree.
    #[inline(always)]
    pub fn draw(&self, operation: u64, into: &mut Values) {
        into.slots.clear();
        into.text.clear();
        let now = if self.reads_clock { Wall::read() } else { Wall::default() };
        for layout in &self.statements {
            let first = operation.wrapping_mul(layout.rows);
            for row in first..first.wrapping_add(layout.rows) {
                for &index in &layout.bind {
                    let (stream, draw) = &self.sources[index];
                    // The two most common sources are inlined; the others take a call.
                    match draw {
                        Draw::Uniform { low, width } => into.slots.push(uniform(stream, row, *low, *width)),
                        Draw::Sequence { start, step } => into.slots.push(sequence(row, *start, *step)),
                        _ => {
                            let slot = self.value(index, row, &now, into);
                            into.slots.push(slot);
                        }
                    }
                }
            }
        }
    }

    #[inline(never)]
    fn value(&self, index: usize, row: u64, now: &Wall, into: &mut Values) -> Slot {
        let (stream, draw) = &self.sources[index];
        match draw {
            Draw::Uniform { low, width } => uniform(stream, row, *low, *width),
            Draw::Sequence { start, step } => sequence(row, *start, *step),
            Draw::Table(table) => Slot::Integer(from_table(table, stream, row)),
            Draw::Yielded(at) => Slot::Yielded(*at),
            Draw::Fixed(value) => constant(value, into),
            Draw::Choice(values) => match values.get(below(stream.word(row), values.len() as u64) as usize) {
                Some(value) => constant(value, into),
                None => Slot::Null,
            },
            Draw::Now(unit) => now.value(*unit, into),
            Draw::Hex { bytes } => {
                let from = into.text.len();
                random_bytes(stream, row, *bytes, |chunk| push_hex(chunk, &mut into.text));
                Slot::Text { from, to: into.text.len() }
            }
            Draw::Text { chars } => {
                let from = into.text.len();
                push_text(stream, row, *chars, &mut into.text);
                Slot::Text { from, to: into.text.len() }
            }
            Draw::Format(pieces) => {
                use std::fmt::Write;
                let from = into.text.len();
                for piece in pieces {
                    match piece {
                        Piece::Literal(text) => into.text.push_str(text),
                        // Writing to a String cannot fail.
                        Piece::Row => drop(write!(into.text, "{row}")),
                    }
                }
                Slot::Text { from, to: into.text.len() }
            }
            Draw::Sha256Of(other) => {
                let digest = self.digest(*other, index, row, now, into);
                let from = into.text.len();
                push_hex(&digest, &mut into.text);
                Slot::Text { from, to: into.text.len() }
            }
        }
    }

    /// Hashes the bytes that a `hex` source draws before their encoding, or the text of any other source. A source that
    /// refers to itself or to a later one hashes no bytes, as in the reference.
    fn digest(&self, other: usize, of: usize, row: u64, now: &Wall, into: &mut Values) -> [u8; 32] {
        match self.sources.get(other) {
            Some((stream, Draw::Hex { bytes })) => {
                into.bytes.clear();
                random_bytes(stream, row, *bytes, |chunk| into.bytes.extend_from_slice(chunk));
                Sha256::digest(&into.bytes).into()
            }
            Some(_) if other < of => {
                let mark = into.text.len();
                let slot = self.value(other, row, now, into);
                let digest = match slot {
                    Slot::Null | Slot::Yielded(_) => Sha256::digest([]),
                    Slot::Integer(i) => Sha256::digest(i.to_string()),
                    Slot::Real(r) => Sha256::digest(r.to_string()),
                    Slot::Text { from, to } => Sha256::digest(&into.text[from..to]),
                };
                into.text.truncate(mark);
                digest.into()
            }
            _ => Sha256::digest([]).into(),
        }
    }
}

fn resolve(source: &Source, worker: u32, place: &mut impl FnMut(&str) -> usize) -> Draw {
    let scalar = |json| Value::from_json(json).unwrap_or(Value::Null);
    match source {
        Source::Value { value } => Draw::Fixed(scalar(value)),
        Source::Choice { values } => Draw::Choice(values.iter().map(scalar).collect()),
        Source::Uniform { low, high } => {
            Draw::Uniform { low: *low, width: high.wrapping_sub(*low).wrapping_add(1) as u64 as f64 }
        }
        Source::Table(table) => Draw::Table(table.clone()),
        Source::Sequence { start, step } => Draw::Sequence { start: *start, step: *step },
        Source::Hex { bytes } => Draw::Hex { bytes: *bytes as usize },
        Source::Text { chars } => Draw::Text { chars: (*chars).into() },
        Source::Sha256Of { param } => Draw::Sha256Of(*param as usize),
        Source::Now { unit } => Draw::Now(*unit),
        Source::Worker => Draw::Fixed(Value::Integer(worker.into())),
        Source::Format { template } => {
            let template = template.replace("{worker}", &worker.to_string());
            let mut pieces = Vec::new();
            for (i, literal) in template.split("{row}").enumerate() {
                if i > 0 {
                    pieces.push(Piece::Row);
                }
                pieces.push(Piece::Literal(literal.into()));
            }
            Draw::Format(pieces)
        }
        Source::Yielded { name } => Draw::Yielded(place(name)),
    }
}

fn constant(value: &Value, into: &mut Values) -> Slot {
    match value {
        Value::Null => Slot::Null,
        Value::Integer(i) => Slot::Integer(*i),
        Value::Real(r) => Slot::Real(*r),
        Value::Text(text) => {
            let from = into.text.len();
            into.text.push_str(text);
            Slot::Text { from, to: into.text.len() }
        }
    }
}

/// [`below`] with signed integers, which the processor converts in one instruction: no value here has its upper bit
/// set.
#[inline(always)]
fn uniform(stream: &Stream, row: u64, low: i64, width: f64) -> Slot {
    const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
    let unit = (stream.word(row) >> 11) as i64 as f64 * SCALE;
    Slot::Integer(low.wrapping_add((unit * width) as i64))
}

#[inline(always)]
fn sequence(row: u64, start: i64, step: i64) -> Slot {
    Slot::Integer(start.wrapping_add(step.wrapping_mul(row as i64)))
}

fn from_table(table: &Table, stream: &Stream, row: u64) -> i64 {
    let word = stream.word(row);
    let at = table.cut.partition_point(|&cut| cut <= word >> 11);
    let low = table.low.get(at).copied().unwrap_or_default();
    let width = table.width.get(at).copied().unwrap_or(1);
    low.wrapping_add(below(stream.word_at(row, 1), width) as i64)
}

/// Passes the bytes of the row's words to `take`, at most eight at a time.
#[inline]
fn random_bytes(stream: &Stream, row: u64, count: usize, mut take: impl FnMut(&[u8])) {
    let first = stream.word(row);
    let mut word = first;
    let mut left = count;
    let mut index = 0_u64;
    while left > 0 {
        let size = left.min(8);
        take(&word.to_be_bytes()[..size]);
        left -= size;
        index += 1;
        word = mix64(first.wrapping_add(index.wrapping_mul(GAMMA)));
    }
}

#[inline]
fn push_hex(bytes: &[u8], text: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for chunk in bytes.chunks(32) {
        let mut digits = [0_u8; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(chunk) {
            pair[0] = DIGITS[(byte >> 4) as usize];
            pair[1] = DIGITS[(byte & 15) as usize];
        }
        // The digits are ASCII, so that the conversion cannot fail.
        text.push_str(std::str::from_utf8(&digits[..2 * chunk.len()]).unwrap_or_default());
    }
}

#[inline]
fn push_text(stream: &Stream, row: u64, chars: u64, text: &mut String) {
    let first = stream.word(row);
    let mut word = first;
    for i in 0..chars {
        if i > 0 && i % CHARS_PER_WORD == 0 {
            word = mix64(first.wrapping_add((i / CHARS_PER_WORD).wrapping_mul(GAMMA)));
        }
        text.push(char::from(ALPHABET[(word & 63) as usize]));
        word >>= 6;
    }
}

/// One reading of the wall clock, as the time since 1970.
#[derive(Default)]
struct Wall(std::time::Duration);

impl Wall {
    fn read() -> Self {
        Self(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default())
    }

    fn value(&self, unit: NowUnit, into: &mut Values) -> Slot {
        match unit {
            NowUnit::S => Slot::Integer(self.0.as_secs() as i64),
            NowUnit::Ms => Slot::Integer(self.0.as_millis() as i64),
            NowUnit::Us => Slot::Integer(self.0.as_micros() as i64),
            NowUnit::Iso => {
                let from = into.text.len();
                into.text.push_str(&draw::iso(self.0.as_secs() as i64, self.0.subsec_millis()));
                Slot::Text { from, to: into.text.len() }
            }
        }
    }
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;
