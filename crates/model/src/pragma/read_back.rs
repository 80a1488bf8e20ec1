//! What SQLite reports about a setting, and what it should.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What `PRAGMA name` has to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBack {
    /// This number.
    Integer(i64),
    /// This word.
    Word(&'static str),
    /// This number or a larger one.
    AtLeast(i64),
    /// Nothing to compare: an action, or a value that cannot be read back.
    Nothing,
}

/// What a driver returned for `PRAGMA name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Reported {
    /// A number.
    Integer(i64),
    /// A text. Some drivers return numbers so, too.
    Text(String),
    /// No row, as for an unknown PRAGMA.
    Nothing(()),
}

impl ReadBack {
    /// Whether a report is the one to expect. Text that holds a number counts as that number; case is ignored.
    pub fn matches(&self, reported: &Reported) -> bool {
        match self {
            Self::Integer(expected) => reported.integer() == Some(*expected),
            Self::AtLeast(least) => reported.integer().is_some_and(|number| number >= *least),
            Self::Word(expected) => matches!(reported, Reported::Text(text) if text.eq_ignore_ascii_case(expected)),
            Self::Nothing => true,
        }
    }
}

impl Reported {
    /// The number reported, if it is one.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::Nothing(()) => None,
        }
    }
}

impl fmt::Display for ReadBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
            Self::AtLeast(least) => write!(f, "{least} or more"),
            Self::Nothing => f.write_str("nothing"),
        }
    }
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::Nothing(()) => f.write_str("nothing"),
        }
    }
}
