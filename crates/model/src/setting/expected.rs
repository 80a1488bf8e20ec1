//! Expected values of settings when read back.

use std::fmt;

use litelab_protocol::Value;
use serde::{Deserialize, Serialize};

use super::value::{name_of, same_word, switch, with_unit};
use super::vocabulary::{Size, Time};

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
    /// This time, in any unit: `10s` is 10000 ms.
    Duration(i64, Time),
    /// This number of bytes, in any unit: `64MB` is 65536 kB.
    Size(i64, Size),
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
                let on = switch(&Value::Text(expected.clone()));
                *reported != Value::Null && same_word(expected, &reported.to_string())
                    || on.is_some() && switch(reported) == on
            }
            Self::Switch(expected) => switch(reported) == Some(*expected),
            Self::Duration(expected, unit) => in_unit(reported, &Time::ALL, *unit) == Some(*expected),
            Self::Size(expected, unit) => in_unit(reported, &Size::ALL, *unit) == Some(*expected),
        }
    }
}

/// The reported value in a unit. A plain number is already in this unit.
fn in_unit<U: Copy + PartialEq>(reported: &Value, units: &[(U, &'static str, i64)], unit: U) -> Option<i64> {
    match reported {
        Value::Integer(number) => Some(*number),
        Value::Text(text) => with_unit(text, units, unit),
        Value::Real(_) | Value::Null => None,
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::AtLeast(least) => write!(f, "{least} or more"),
            Self::Word(word) => f.write_str(word),
            Self::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Duration(number, unit) => write!(f, "{number}{}", name_of(&Time::ALL, *unit)),
            Self::Size(number, unit) => write!(f, "{number}{}", name_of(&Size::ALL, *unit)),
        }
    }
}
