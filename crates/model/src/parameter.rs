//! Parameters of a workload's transactions and their resolution.

use indexmap::IndexMap;
use litelab_protocol::{NowUnit, Param, Source};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::lookup;
use crate::quantity::{Quantity, Scalar, Vars};
use crate::zipf;

/// Generator of the values of a named parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Generator {
    /// A constant. The text `"$name"` is the value of a variable.
    Value(Scalar),
    /// SQL NULL.
    Null,
    /// One of several values with equal probability.
    Choice(Vec<Scalar>),
    /// An integer from the first to the second, both included, with equal probability.
    Uniform([Quantity; 2]),
    /// An integer from `low` to `high`, both included; the k-th of them has a probability proportional to k^-s.
    Zipf(Zipf),
    /// The integer `start + step * row`; default: 0, 1, 2, …
    Sequence(Sequence),
    /// This number of random bytes as lower-case hex digits, two per byte.
    Hex(Quantity),
    /// This number of random characters.
    Text(Quantity),
    /// SHA-256 of another parameter's value as hex digits: the hash of the raw bytes if that parameter is `hex`, else
    /// of its text.
    Sha256Of(String),
    /// The current wall-clock time as `s`, `ms`, `us` (integers since 1970) or `iso` (text).
    Now(NowUnit),
    /// Index of the worker among all workers of its database.
    Worker,
    /// Text with `{row}` and `{worker}` replaced by their decimal digits.
    Format(String),
    /// A column that an earlier statement or transaction yielded.
    Yielded(String),
}

/// A Zipf distribution over a range of integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Zipf {
    /// The most frequent integer.
    pub low: Quantity,
    /// The least frequent integer.
    pub high: Quantity,
    /// The exponent, 0 to 10; default: 0.99, as in YCSB.
    pub s: Option<f64>,
}

/// An arithmetic sequence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// Value of row 0; default: 0.
    pub start: Option<Quantity>,
    /// Difference from one row to the next; default: 1.
    pub step: Option<Quantity>,
}

/// Bound of the integers that another language's double represents exactly.
const SAFE: i64 = 1 << 53;

/// Resolves a transaction's parameters, ordered so that each one follows those that it refers to.
///
/// # Errors
/// One line with the name of the invalid parameter and the reason.
pub fn resolve(params: &IndexMap<String, Generator>, vars: &Vars) -> Result<Vec<Param>, String> {
    let mut ordered: Vec<&String> = Vec::new();
    for name in params.keys() {
        place(name, params, &mut ordered, 0)?;
    }
    ordered
        .iter()
        .map(|name| {
            let source = params
                .get(*name)
                .ok_or_else(|| format!("param `{name}` is missing"))
                .and_then(|g| source(g, &ordered, vars).map_err(|e| format!("param `{name}`: {e}")))?;
            Ok(Param { name: (*name).clone(), source })
        })
        .collect()
}

/// Longest chain of hashes of hashes.
const MAX_CHAIN: usize = 64;

fn place<'a>(
    name: &'a String,
    params: &'a IndexMap<String, Generator>,
    ordered: &mut Vec<&'a String>,
    depth: usize,
) -> Result<(), String> {
    if ordered.contains(&name) {
        return Ok(());
    }
    if depth > params.len() {
        return Err(format!("param `{name}` refers to itself in a circle"));
    }
    if let Some(Generator::Sha256Of(of)) = params.get(name) {
        let hashed = lookup("parameter", of, params).map_err(|e| format!("param `{name}`: sha256_of: {e}"))?;
        if matches!(hashed, Generator::Yielded(_)) {
            return Err(format!("param `{name}`: sha256_of: `{of}` is yielded, so its value is not known beforehand"));
        }
        if depth > MAX_CHAIN {
            return Err(format!("param `{name}`: more than {MAX_CHAIN} hashes of hashes"));
        }
        place(of, params, ordered, depth + 1)?;
    }
    ordered.push(name);
    Ok(())
}

/// A constant, or the value of the variable `$name`.
fn constant(value: &Scalar, vars: &Vars) -> Result<serde_json::Value, String> {
    match value {
        Scalar::Text(text) if text.starts_with('$') => Ok(lookup("variable", &text[1..], vars)?.to_json()),
        value => Ok(value.to_json()),
    }
}

fn source(generator: &Generator, ordered: &[&String], vars: &Vars) -> Result<Source, String> {
    let range = |low: &Quantity, high: &Quantity| {
        let (low, high) = (low.integer(vars, -SAFE, SAFE)?, high.integer(vars, -SAFE, SAFE)?);
        if low > high {
            return Err(format!("its range is empty: {low} to {high}"));
        }
        if high - low >= SAFE {
            return Err(format!("its range {low} to {high} is wider than 2^53"));
        }
        Ok((low, high))
    };
    let count = |q: &Quantity| q.integer(vars, 0, 1 << 20).map(|n| n as u32);
    Ok(match generator {
        Generator::Value(value) => Source::Value { value: constant(value, vars)? },
        Generator::Null => Source::Value { value: serde_json::Value::Null },
        Generator::Choice(values) if values.is_empty() => return Err("`choice` needs at least one value".into()),
        Generator::Choice(values) => {
            Source::Choice { values: values.iter().map(|value| constant(value, vars)).collect::<Result<_, _>>()? }
        }
        Generator::Uniform([low, high]) => {
            let (low, high) = range(low, high)?;
            Source::Uniform { low, high }
        }
        Generator::Zipf(zipf) => {
            let (low, high) = range(&zipf.low, &zipf.high)?;
            Source::Table(zipf::table(low, high, zipf.s.unwrap_or(0.99))?)
        }
        Generator::Sequence(sequence) => {
            let part = |q: &Option<Quantity>, default| match q {
                None => Ok(default),
                Some(q) => q.integer(vars, -SAFE, SAFE),
            };
            Source::Sequence { start: part(&sequence.start, 0)?, step: part(&sequence.step, 1)? }
        }
        Generator::Hex(bytes) => Source::Hex { bytes: count(bytes)? },
        Generator::Text(chars) => Source::Text { chars: count(chars)? },
        Generator::Sha256Of(of) => Source::Sha256Of {
            param: ordered.iter().position(|name| *name == of).ok_or("sha256_of: unknown parameter")? as u32,
        },
        Generator::Now(unit) => Source::Now { unit: *unit },
        Generator::Worker => Source::Worker,
        Generator::Format(template) => {
            check_template(template)?;
            Source::Format { template: template.clone() }
        }
        Generator::Yielded(name) => Source::Yielded { name: name.clone() },
    })
}

/// Refuses text that has the form of a placeholder but is none: `{` and `}` around words, as in `{$rows + row}`. Other
/// braces (as in JSON) are plain text.
fn check_template(template: &str) -> Result<(), String> {
    for (at, _) in template.match_indices('{') {
        let Some((inside, _)) = template[at + 1..].split_once('}') else { continue };
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ' ' | '+' | '-' | '*' | '/' | '.' | ':');
        let looks_like_one = inside.starts_with(|c: char| c.is_alphabetic() || c == '$') && inside.chars().all(is_word);
        if looks_like_one && !["row", "worker"].contains(&inside) {
            return Err(format!("format: `{{{inside}}}` is none of `{{row}}`, `{{worker}}`: it would be text"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(toml: &str) -> IndexMap<String, Generator> {
        toml::from_str(toml).expect("TOML")
    }

    #[test]
    fn a_hash_stands_after_what_it_hashes() {
        let params =
            params("hash = { sha256_of = \"rand\" }\nid = { sequence = {} }\nrand = { hex = 8 }\nw = \"worker\"");
        let resolved = resolve(&params, &Vars::new()).expect("resolves");
        let names: Vec<&str> = resolved.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["rand", "hash", "id", "w"]);
        assert_eq!(resolved[1].source, Source::Sha256Of { param: 0 });
    }

    #[test]
    fn braces_of_json_are_text() {
        let resolved = resolve(&params("a = { format = '{\"id\": {row}, \"tags\": {}}-{worker}' }"), &Vars::new());
        assert!(resolved.is_ok(), "{resolved:?}");
    }

    #[test]
    fn mistakes_are_named() {
        for (toml, part) in [
            ("a = { sha256_of = \"b\" }", "unknown parameter `b`"),
            ("a = { sha256_of = \"b\" }\nb = { sha256_of = \"a\" }", "in a circle"),
            ("a = { sha256_of = \"b\" }\nb = { yielded = \"b\" }", "`b` is yielded"),
            ("a = { uniform = [5, 1] }", "range is empty"),
            ("a = { uniform = [1, \"$rws\"] }", "unknown variable `rws`"),
            ("a = { choice = [] }", "at least one"),
            ("a = { hex = -1 }", "allowed is 0"),
            (
                "a = { format = 'u{$data_rows + row}' }",
                "format: `{$data_rows + row}` is none of `{row}`, `{worker}`: it would be text",
            ),
            ("a = { format = '{rwo}' }", "`{rwo}` is none of"),
            ("a = { zipf = { low = 1, high = 10, s = -1.0 } }", "exponent"),
        ] {
            let error = resolve(&params(toml), &Vars::new()).expect_err(toml);
            assert!(error.contains(part), "{toml}: {error}");
        }
    }
}
