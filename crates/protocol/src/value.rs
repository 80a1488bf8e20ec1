//! A scalar value that SQLite and JSON both represent.

use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// NULL, a number or text: a bound parameter, a column, or a setting as read back. In JSON a scalar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum Value {
    /// A 64-bit integer.
    Integer(i64),
    /// A double-precision floating-point number.
    Real(f64),
    /// UTF-8 text.
    Text(String),
    /// SQL NULL.
    Null,
}

impl Value {
    /// The value of a JSON scalar. Booleans become 0 and 1; arrays and objects return `None`.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Option<Self> {
        match json {
            serde_json::Value::Null => Some(Self::Null),
            serde_json::Value::Bool(b) => Some(Self::Integer((*b).into())),
            serde_json::Value::Number(n) => n.as_i64().map(Self::Integer).or_else(|| n.as_f64().map(Self::Real)),
            serde_json::Value::String(s) => Some(Self::Text(s.clone())),
            _ => None,
        }
    }

    /// The JSON scalar of this value.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The value as an integer; `None` if it is not integral. Text is parsed, because some drivers report numbers as
    /// text.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::Null | Self::Real(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("nothing"),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_json_scalar_and_nothing_else() {
        for (json, value) in [
            ("null", Value::Null),
            ("2", Value::Integer(2)),
            ("0.5", Value::Real(0.5)),
            ("\"wal\"", Value::from("wal")),
        ] {
            assert_eq!(serde_json::from_str::<Value>(json).ok(), Some(value.clone()), "{json}");
            assert_eq!(serde_json::to_string(&value).ok().as_deref(), Some(json));
        }
        for json in ["true", "[1]", "{}"] {
            assert!(serde_json::from_str::<Value>(json).is_err(), "{json}");
        }
    }
}
