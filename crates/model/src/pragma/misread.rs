//! The error for a refused value: the problem, its effect in SQLite, and the remedy.

use litelab_protocol::Value;

use super::effect::{self, Effect, Try};
use super::error::PragmaError;
use super::quantity::{PAGE, binary_bytes, in_plain_digits, whole_number};
use super::value::text_of;
use super::vocabulary::{Pragma, Unit, Values};
use crate::quantity::Scalar;

/// A value that litelab refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} = {given} {problem}{}; write {remedy}", .pragma.name, silently.as_deref().unwrap_or_default())]
pub struct Misread {
    /// The PRAGMA with the value.
    pub pragma: &'static Pragma,
    /// The value as given in the profile.
    pub given: String,
    /// The value in the form that SQLite would read.
    text: String,
    /// The problem, worded to follow "the value".
    pub problem: String,
    /// The effect in SQLite, as ": SQLite would …"; `None` until a SQLite has been queried.
    pub silently: Option<String>,
    /// The remedy, worded to follow "write".
    pub remedy: String,
}

impl Misread {
    /// Adds the effect of the value in a real SQLite.
    pub(super) fn ask(&mut self, tried: Try) {
        let Some((values, effect)) = self.pragma.values().zip(effect::effect(self.pragma, &self.text, tried)) else {
            return;
        };
        self.silently = Some(format!(": SQLite would {}", consequence(values, &effect)));
    }
}

/// The error for a refused value.
pub(super) fn refusal(pragma: &'static Pragma, input: &Scalar) -> PragmaError {
    let Some(values) = pragma.values() else {
        return PragmaError::NotASetting { name: pragma.name };
    };
    let text = text_of(input);
    PragmaError::Value(Box::new(Misread {
        pragma,
        given: input.quoted(),
        problem: problem(values, &text),
        silently: None,
        remedy: remedy(values, &text),
        text,
    }))
}

fn problem(values: Values, text: &str) -> String {
    match values {
        Values::Boolean => "is not a boolean".to_owned(),
        Values::Words { .. } => "is not one of its words".to_owned(),
        Values::PowerOfTwo { min, max, .. } => format!("is not a power of two from {min} to {max}"),
        Values::BooleanOrPages => "is neither a boolean nor a whole number".to_owned(),
        Values::Integer { min, max, unit } => match whole_number(text) {
            Some(number) if unit == Unit::Mask && (min..=max).contains(&number) => "lacks bit 0x02".to_owned(),
            Some(_) => format!("is outside {min} to {max}"),
            None => "is not a whole number".to_owned(),
        },
    }
}

/// The effect of a value, worded to follow "SQLite would".
fn consequence(values: Values, effect: &Effect) -> String {
    let taken = match effect {
        Effect::Keeps => return "silently ignore it and keep the value it has".to_owned(),
        Effect::Fails => return "return an error".to_owned(),
        Effect::Takes(taken) => taken,
    };
    match (taken, values) {
        (Value::Integer(0), Values::Boolean | Values::BooleanOrPages) => "silently turn it off".to_owned(),
        (Value::Integer(_), Values::Boolean | Values::BooleanOrPages) => "silently turn it on".to_owned(),
        (Value::Integer(code), Values::Words { words, .. }) => match words.iter().find(|word| word.code == *code) {
            Some(word) => format!("silently take it as {}", word.text.to_uppercase()),
            // Only `synchronous` has codes without a word.
            None => format!("silently set level {code}, which acts as FULL"),
        },
        (Value::Integer(number), Values::Integer { unit, .. } | Values::PowerOfTwo { unit, .. }) => {
            format!("silently read {}", quantity(*number, unit))
        }
        (taken, _) => format!("silently take it as {}", taken.to_string().to_uppercase()),
    }
}

/// A number with its unit; pages also as memory.
fn quantity(number: i64, unit: Unit) -> String {
    match unit {
        Unit::PagesOrKib if number < 0 => format!("{} KiB", number.unsigned_abs()),
        Unit::Pages | Unit::PagesOrKib | Unit::Frames => {
            let name = if unit == Unit::Frames { "frame" } else { "page" };
            let memory = number.saturating_mul(PAGE / 1024);
            format!("{number} {name}{} ({memory} KiB with 4096-byte pages)", plural(number))
        }
        Unit::Bytes => format!("{number} byte{}", plural(number)),
        Unit::Milliseconds => format!("{number} ms"),
        Unit::Count | Unit::Mask | Unit::Plain => number.to_string(),
    }
}

fn plural(number: i64) -> &'static str {
    if number == 1 { "" } else { "s" }
}

/// The remedy for a refused value, worded to follow "write".
fn remedy(values: Values, text: &str) -> String {
    match values {
        Values::Boolean => "on or off".to_owned(),
        Values::Words { words, .. } => {
            let words: Vec<&str> = words.iter().map(|word| word.text).collect();
            match words.split_last() {
                Some((last, [])) => (*last).to_owned(),
                Some((last, others)) => format!("{} or {last}", others.join(", ")),
                None => "nothing".to_owned(),
            }
        }
        Values::PowerOfTwo { min, max, .. } => match binary_bytes(text) {
            Some(bytes) if (min..=max).contains(&bytes) && bytes.count_ones() == 1 => bytes.to_string(),
            _ => format!("{min}, {}, {} and so on up to {max}", min * 2, min * 4),
        },
        Values::BooleanOrPages => in_plain_digits(text, Unit::PagesOrKib, i64::from(i32::MIN), i64::from(i32::MAX))
            .unwrap_or_else(|| "on, off or a whole number of pages (KiB if negative)".to_owned()),
        Values::Integer { min, max, unit } => match whole_number(text) {
            Some(number) if unit == Unit::Mask && (min..=max).contains(&number) => format!("{}", number | 2),
            Some(number) if number > max => format!("at most {max}"),
            Some(_) => format!("at least {min}"),
            None => in_plain_digits(text, unit, min, max).unwrap_or_else(|| format!("a whole number{}", of(unit))),
        },
    }
}

fn of(unit: Unit) -> &'static str {
    match unit {
        Unit::Pages => " of pages",
        Unit::PagesOrKib => " of pages, or of KiB with a minus sign",
        Unit::Bytes => " of bytes",
        Unit::Milliseconds => " of milliseconds",
        Unit::Frames => " of WAL frames",
        Unit::Mask => " with bit 0x02 set",
        Unit::Count | Unit::Plain => "",
    }
}
