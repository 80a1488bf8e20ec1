//! Numbers as written in files: plain, as an expression over variables, or with a unit of time or size.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;

use indexmap::IndexMap;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::error::lookup;
use crate::expression;
use crate::metric::Unit;

/// The variables of a variant, available as `$name` in numbers and in SQL.
pub type Vars = IndexMap<String, Scalar>;

/// A scalar value of TOML.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum Scalar {
    /// A boolean: `true` or `false`.
    Bool(bool),
    /// An integer, such as `42`.
    Integer(i64),
    /// A real number, such as `0.5`.
    Real(f64),
    /// A string, such as `"text"`.
    Text(String),
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor { of_quantity: false })
    }
}

/// Visitor for a [`Scalar`], or for one that is a [`Quantity`].
struct Visitor {
    of_quantity: bool,
}

impl<'de> de::Visitor<'de> for Visitor {
    type Value = Scalar;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.of_quantity {
            true => "a number, or text such as \"$rows\" or \"100ms\"",
            false => "text, a number, true or false",
        })
    }
    fn visit_bool<E: de::Error>(self, v: bool) -> Result<Scalar, E> {
        match self.of_quantity {
            true => Err(E::invalid_type(de::Unexpected::Bool(v), &self)),
            false => Ok(Scalar::Bool(v)),
        }
    }
    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Scalar, E> {
        Ok(Scalar::Integer(v))
    }
    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Scalar, E> {
        Ok(i64::try_from(v).map_or(Scalar::Real(v as f64), Scalar::Integer))
    }
    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Scalar, E> {
        Ok(Scalar::Real(v))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(v.to_owned()))
    }
    // `vary.pragma.synchronous`: a dot between TOML keys creates a table.
    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        if self.of_quantity {
            return Err(de::Error::invalid_type(de::Unexpected::Map, &self));
        }
        let key: String = map.next_key()?.unwrap_or_default();
        let before = if ["workers", "rate"].contains(&key.as_str()) { "ROLE" } else { "pragma" };
        Err(de::Error::custom(format!(
            "`{key}` is in a table here, where a value stands: a name with a dot is quoted, as in `vary.\"{before}.{key}\"`"
        )))
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Integer(i) => write!(f, "{i}"),
            Self::Real(r) => write!(f, "{r}"),
            Self::Text(t) => f.write_str(t),
        }
    }
}

impl Scalar {
    /// The value in TOML syntax: text in quotes, a real number with its decimal point.
    #[must_use]
    pub fn quoted(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Real(number) => format!("{number:?}"),
            other => other.to_string(),
        }
    }

    /// The value as a number; `None` for a boolean or text.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(i) => Some(*i as f64),
            Self::Real(r) => Some(*r),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }

    /// The value as a JSON scalar.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A number, or text with an expression (`"$rows * 2"`), a duration or a size (`"100ms"`), depending on the key: a scalar
/// that is no boolean.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Quantity(Scalar);

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor { of_quantity: true }).map(Self)
    }
}

impl From<Scalar> for Quantity {
    fn from(value: Scalar) -> Self {
        Self(match value {
            Scalar::Bool(b) => Scalar::Text(b.to_string()),
            other => other,
        })
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["number", "string"],
            "description": "A number, an expression over variables (\"$rows * 2\"), or, where a time or size is meant, \
                            a number with its unit (\"100ms\", \"5s\", \"20 MB\")."
        })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The numeric value of the variable `$name`.
///
/// # Errors
/// When the name has no `$`, or the variable is not declared or not a number.
pub fn variable(vars: &Vars, name: &str) -> Result<f64, String> {
    let bare = name.strip_prefix('$').ok_or_else(|| format!("`{name}` is no number (variables begin with `$`)"))?;
    let value = lookup("variable", bare, vars)?;
    value.number().ok_or_else(|| format!("variable `{bare}` is `{value}`, not a number"))
}

impl Quantity {
    /// The value as a number.
    ///
    /// # Errors
    /// One line with the reason, if the value is not a finite number.
    pub fn number(&self, vars: &Vars) -> Result<f64, String> {
        match (&self.0, self.0.number()) {
            (Scalar::Text(t), _) => expression::evaluate(t, &|name| variable(vars, name)),
            (_, Some(number)) if number.is_finite() => Ok(number),
            (other, _) => Err(format!("`{other}` is not a finite number")),
        }
    }

    /// The text, if the file does not give a plain number.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Scalar::Text(text) = &self.0 { Some(text) } else { None }
    }

    /// A bound of a metric in its base unit: a number with the metric's unit ([`with_unit`]), which all but times and sizes
    /// may omit. A ratio of metrics has no `unit`.
    ///
    /// # Errors
    /// One line with the reason, if the value is neither, or has a unit that the metric does not have.
    pub fn bound(&self, unit: Option<Unit>) -> Result<f64, String> {
        let (value, own) = match self.text() {
            Some(text) => with_unit(text)?,
            None => (self.number(&Vars::new())?, None),
        };
        match (own, unit) {
            (None, Some(Unit::Nanos)) if value != 0.0 => Err(format!("`{self}` has no unit: write e.g. \"{self} ms\"")),
            (None, Some(Unit::Bytes)) if value != 0.0 => Err(format!("`{self}` has no unit: write e.g. \"{self} MB\"")),
            (None, _) | (Some(Unit::Share), None | Some(Unit::PerTransaction)) => Ok(value),
            (own, unit) if own == unit => Ok(value),
            _ => Err(format!("`{self}` is of another unit than what it bounds")),
        }
    }

    /// The value as an integer from `low` to `high`, both included.
    ///
    /// # Errors
    /// One line with the reason, if the value is not an integer in this range.
    pub fn integer(&self, vars: &Vars, low: i64, high: i64) -> Result<i64, String> {
        let value = match self.0 {
            Scalar::Integer(i) => i,
            _ => whole(self.number(vars)?).ok_or_else(|| format!("`{self}` is not a whole number"))?,
        };
        if (low..=high).contains(&value) {
            Ok(value)
        } else {
            Err(format!("`{self}` is {value}: allowed is {low} to {high}"))
        }
    }

    /// The value as a duration in microseconds, from 0 to one day: `"100ms"`, `"5s"`, `"2m"`, `"250us"`, or an
    /// expression with its unit in the same text (`"$pause ms"`).
    ///
    /// # Errors
    /// One line with the reason, if the value is not a duration. A number without a unit is an error.
    pub fn micros(&self, vars: &Vars) -> Result<u64, String> {
        let Some(text) = self.text() else {
            return Err(format!("`{self}` has no unit: write \"{self}ms\" or \"{self}s\""));
        };
        const UNITS: [(&str, f64); 6] = [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("min", 6e7), ("s", 1e6), ("m", 6e7)];
        let text = text.trim();
        let (number, scale) = UNITS
            .iter()
            .find_map(|(unit, scale)| text.strip_suffix(unit).map(|n| (n, *scale)))
            .filter(|(number, _)| number.trim_end().ends_with(|c: char| c.is_alphanumeric() || c == ')'))
            // `$items` ends in `s` as well, but has no unit.
            .filter(|(number, _)| {
                !number.contains('$') || number.ends_with([' ', ')']) || text.ends_with(|c: char| !c.is_alphabetic())
            })
            .ok_or_else(|| format!("`{text}` is no duration: write e.g. \"100ms\", \"5s\", \"2min\""))?;
        let value = Self::from(Scalar::Text(number.trim().to_owned())).number(vars)? * scale;
        if (0.0..=86_400e6).contains(&value) {
            Ok(value.round() as u64)
        } else {
            Err(format!("`{text}` is not between 0 and one day"))
        }
    }
}

/// A double as an integer; `None` unless it is integral and at most 2^53 in magnitude, where doubles are exact.
#[must_use]
pub fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() <= (1_u64 << 53) as f64).then_some(value as i64)
}

/// A number with an optional unit of time or size in base units (nanoseconds, bytes), for the bounds of claims:
/// `"20 MB"` → 20e6, `"4 MiB"` → 4194304, `"5 ms"` → 5e6, `"3 %"` → 0.03. Returns the kind of its unit, too.
///
/// # Errors
/// One line with the reason, if the text is not a number with a known unit.
pub fn with_unit(text: &str) -> Result<(f64, Option<Unit>), String> {
    const UNITS: [(&str, f64, Unit); 15] = [
        ("KiB", 1024.0, Unit::Bytes),
        ("MiB", 1_048_576.0, Unit::Bytes),
        ("GiB", 1_073_741_824.0, Unit::Bytes),
        ("kB", 1e3, Unit::Bytes),
        ("KB", 1e3, Unit::Bytes),
        ("MB", 1e6, Unit::Bytes),
        ("GB", 1e9, Unit::Bytes),
        ("ns", 1.0, Unit::Nanos),
        ("us", 1e3, Unit::Nanos),
        ("µs", 1e3, Unit::Nanos),
        ("ms", 1e6, Unit::Nanos),
        ("min", 6e10, Unit::Nanos),
        ("B", 1.0, Unit::Bytes),
        ("s", 1e9, Unit::Nanos),
        ("%", 0.01, Unit::Share),
    ];
    let text = text.trim();
    let (number, scale, kind) = UNITS
        .iter()
        .find_map(|(unit, scale, kind)| text.strip_suffix(unit).map(|n| (n.trim(), *scale, Some(*kind))))
        .unwrap_or((text, 1.0, None));
    match number.replace('_', "").parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((value * scale, kind)),
        _ => Err(format!("`{text}` is no number with a unit: write e.g. \"20 MB\", \"5 ms\", \"3 %\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars() -> Vars {
        Vars::from([
            ("rows".to_owned(), Scalar::Integer(1000)),
            ("items".to_owned(), Scalar::Integer(3)),
            ("mode".to_owned(), Scalar::Text("x".into())),
        ])
    }

    #[test]
    fn durations_need_a_unit() {
        let micros = |t: &str| Quantity::from(Scalar::Text(t.into())).micros(&vars());
        assert_eq!(micros("100ms"), Ok(100_000));
        assert_eq!(micros("1.5 s"), Ok(1_500_000));
        assert_eq!(micros("2min"), Ok(120_000_000));
        assert_eq!(micros("250us"), Ok(250));
        assert_eq!(micros("$items ms"), Ok(3_000));
        assert!(micros("$items").is_err());
        assert!(micros("fast").is_err());
        assert!(micros("-1s").is_err());
        assert!(Quantity::from(Scalar::Integer(5)).micros(&vars()).is_err_and(|e| e.contains("no unit")));
    }

    #[test]
    fn a_quantity_is_no_boolean_and_no_table() {
        for (toml, given) in [("a = true", "boolean `true`"), ("a = { b = 1 }", "map"), ("a = [1]", "sequence")] {
            let error = toml::from_str::<IndexMap<String, Quantity>>(toml).expect_err(toml);
            let expected = format!("invalid type: {given}, expected a number, or text such as \"$rows\" or \"100ms\"");
            assert_eq!((error.message(), error.span().map(|span| span.start)), (&*expected, Some(4)), "{toml}");
        }
    }

    #[test]
    fn integers_are_checked() {
        let q = |t: &str| Quantity::from(Scalar::Text(t.into()));
        assert_eq!(q("$rows / 4").integer(&vars(), 1, 1000), Ok(250));
        assert!(q("$rows / 3").integer(&vars(), 1, 1000).is_err_and(|e| e.contains("whole")));
        assert!(q("$row").integer(&vars(), 1, 1000).is_err_and(|e| e.contains("`rows`")));
        assert!(q("$mode").integer(&vars(), 1, 1000).is_err_and(|e| e.contains("not a number")));
        assert!(Quantity::from(Scalar::Integer(0)).integer(&vars(), 1, 9).is_err_and(|e| e.contains("1 to 9")));
    }

    #[test]
    fn units_of_claims() {
        assert_eq!(with_unit("20 MB"), Ok((20e6, Some(Unit::Bytes))));
        assert_eq!(with_unit("4MiB"), Ok((4_194_304.0, Some(Unit::Bytes))));
        assert_eq!(with_unit("5 ms"), Ok((5e6, Some(Unit::Nanos))));
        assert_eq!(with_unit("2 s"), Ok((2e9, Some(Unit::Nanos))));
        assert_eq!(with_unit("5 %"), Ok((0.05, Some(Unit::Share))));
        assert_eq!(with_unit("1_000"), Ok((1000.0, None)));
        assert!(with_unit("lots").is_err());
    }

    #[test]
    fn a_bound_has_the_unit_of_its_metric() {
        let bound = |text: &str, unit| Quantity::from(Scalar::Text(text.into())).bound(unit);
        assert_eq!(bound("5 ms", Some(Unit::Nanos)), Ok(5e6));
        assert_eq!(bound("90 %", None), Ok(0.9));
        assert_eq!(bound("5", Some(Unit::PerSecond)), Ok(5.0));
        let wrong =
            [("20 MB", Some(Unit::Nanos)), ("3 %", Some(Unit::Nanos)), ("5 ms", None), ("5 ms", Some(Unit::PerSecond))];
        for (text, unit) in wrong {
            assert!(bound(text, unit).is_err_and(|e| e.contains("another unit")), "{text}");
        }
        for (number, unit, expected) in [(20, Unit::Nanos, "\"20 ms\""), (3, Unit::Bytes, "\"3 MB\"")] {
            let refused = Quantity::from(Scalar::Integer(number)).bound(Some(unit));
            assert!(refused.is_err_and(|e| e.contains(expected)), "{number}");
        }
        assert_eq!(bound("0", Some(Unit::Nanos)), Ok(0.0));
    }
}
