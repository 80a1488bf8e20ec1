//! Expected values of settings when read back.

use std::fmt;

use litelab_protocol::Value;
use serde::{Deserialize, Serialize};

use super::vocabulary::Unit;

/// The value that `PRAGMA name`, `SHOW name` or `SELECT @@name` has to report after the setting took effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// Exactly this number.
    Integer(i64),
    /// This number or a larger one.
    AtLeast(i64),
    /// This word, ignoring case.
    Word(String),
    /// On or off: servers report `on`, `ON` or 1.
    Switch(bool),
    /// This time; a reported number without a unit is in this one: `10s` is 10000 ms.
    Duration(i64, Unit),
    /// This number of bytes, in the same way: `64MB` is 65536 kB.
    Size(i64, Unit),
}

impl Expected {
    /// Whether a reported value shows that the setting took effect. Text that contains a number counts as that number.
    #[must_use]
    pub fn matches(&self, reported: &Value) -> bool {
        match self {
            Self::Integer(expected) => reported.integer() == Some(*expected),
            Self::AtLeast(least) => reported.integer().is_some_and(|number| number >= *least),
            // A word can also be a switch: MySQL reports 1 for `on`.
            Self::Word(expected) => {
                let on = on_or_off(expected);
                *reported != Value::Null && same_word(expected, &reported.to_string())
                    || on.is_some() && switch(reported) == on
            }
            Self::Switch(expected) => switch(reported) == Some(*expected),
            Self::Duration(expected, unit) | Self::Size(expected, unit) => match reported {
                Value::Integer(number) => number == expected,
                Value::Text(text) => with_unit(text, *unit) == Some(*expected),
                Value::Real(_) | Value::Null => false,
            },
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::AtLeast(least) => write!(f, "{least} or more"),
            Self::Word(word) => f.write_str(word),
            Self::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Duration(number, unit) | Self::Size(number, unit) => write!(f, "{number}{}", unit.name()),
        }
    }
}

/// The boolean value of a switch as a server reports it.
pub(crate) fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Integer(0) => Some(false),
        Value::Integer(1) => Some(true),
        Value::Text(text) => on_or_off(text),
        _ => None,
    }
}

/// The boolean value of a word, as SQLite and servers read it.
pub(super) fn on_or_off(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Whether two spellings are the same word, such as "READ-COMMITTED", "read committed" and "read_committed".
pub(crate) fn same_word(a: &str, b: &str) -> bool {
    let plain = |text: &str| text.trim().to_ascii_lowercase().replace(['-', '_'], " ");
    plain(a) == plain(b)
}

/// Text with a number and a unit as an integer in the unit `wanted`; `None` if the result is not integral.
pub(super) fn with_unit(text: &str, wanted: Unit) -> Option<i64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(text.len());
    let number: i64 = text[..digits].parse().ok()?;
    let suffix = text[digits..].trim();
    if suffix.is_empty() {
        return Some(number);
    }
    let units = wanted.family();
    let base = units.iter().find(|(unit, ..)| *unit == wanted)?.2;
    // Units are case-sensitive, as in PostgreSQL.
    let of = units.iter().find(|(_, name, _)| *name == suffix)?.2;
    let total = number.checked_mul(of)?;
    (total % base == 0).then_some(total / base)
}
