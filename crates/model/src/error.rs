//! Errors of the model: one line with the problem, its position and the remedy.

use std::fmt;

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde::de::value::{self, StrDeserializer};

use crate::text::{self, QUOTED, capped};

/// Invalid input: a file that cannot be read or parsed, or whose content is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ModelError {
    /// Path of the file as the user gave it, or the built-in name.
    pub file: String,
    /// Line and column, both from 1, if known.
    pub at: Option<(usize, usize)>,
    /// Description of the problem and its remedy.
    pub message: String,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        // A message is one line of bounded length, whatever text it quotes.
        write!(f, ": {}", text::message(&self.message))
    }
}

impl ModelError {
    /// An error without a position.
    pub fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file: file.into(), at: None, message: message.into() }
    }

    /// An error from a TOML error, with its position. The message names the nearest known key or word for an unknown
    /// one, and the expected type for a value of the wrong type.
    pub(crate) fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map(|span| position(text, span.start));
        let place = error.span().and_then(|span| TomlPosition::of(text, span.start));
        let message = place.and_then(|place| place.remedy(error.message()));
        Self { file: file.into(), at, message: message.unwrap_or_else(|| with_nearest(error.message())) }
    }
}

/// Line and column (in characters) of a byte offset, both from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The position of a TOML error: the key of a value, or the name in a table's header, and the written value.
struct TomlPosition<'a> {
    is_header: bool,
    key: &'a str,
    /// The rest of the line after `=`.
    value: &'a str,
}

impl<'a> TomlPosition<'a> {
    /// The position at a byte offset; `None` if the line has neither `key =` nor `[name]`.
    fn of(text: &'a str, offset: usize) -> Option<Self> {
        let start = text.get(..offset)?.rfind('\n').map_or(0, |at| at + 1);
        let line = text[start..].lines().next()?;
        if let Some(header) = line.trim_start().strip_prefix('[') {
            let key = header.trim_start_matches('[').split(']').next()?.trim();
            return Some(Self { is_header: true, key, value: "" });
        }
        // The last key before the offset, or at it: in `a = { b = 1 }` an error at `1` belongs to `b`.
        let before = line.get(..offset - start)?;
        let (head, value) = match before.rfind('=') {
            Some(at) => (&before[..at], &line[at + 1..]),
            None => line.split_once('=')?,
        };
        let key = head.trim_end().rsplit([' ', '\t', '{', ',']).next()?;
        Some(Self { is_header: false, key, value: value.split('#').next()?.trim() })
    }

    /// A message with what the key accepts, for errors in which serde or the TOML library only names a type.
    fn remedy(&self, message: &str) -> Option<String> {
        let Self { is_header, key, value } = *self;
        let value = capped(value.trim_end_matches(['}', ' ']));
        let found = |wanted: &str| message.starts_with("invalid type: ") && message.ends_with(wanted);
        let is_table = message.contains("map, expected");
        if message.starts_with("wanted string or table") {
            return Some(format!("`{key}` takes a word or a table; a constant is `{key} = {{ value = {value} }}`"));
        }
        if found("expected a sequence") && is_table {
            let example = match key.rsplit('.').next() {
                Some("choice") => "`choice = [1, 2]`",
                _ => "`[1, 2]`",
            };
            return Some(match is_header {
                true => format!("there may be several of `{key}`: write [[{key}]] in place of [{key}]"),
                false => format!("`{key}` takes a list, as in {example}, and not a table"),
            });
        }
        if found("expected a string") && (is_table || message.contains("sequence, expected")) {
            let of_profile = "; single settings are varied by `vary.\"pragma.NAME\"`, or make a profile file of them";
            let more = if key == "profile" { of_profile } else { "" };
            let given = if is_table { "table" } else { "list" };
            return Some(format!("`{key}` takes a name or other text, and not a {given}{more}"));
        }
        if found("expected a boolean") {
            let more = if key == "prepare" { ": true is once for all executions, false at each" } else { "" };
            return Some(format!("`{key}` takes true or false{more}"));
        }
        // A word without quotes. TOML itself defines `true`, `false`, `inf` and `nan`.
        let bare = value.starts_with(|c: char| c.is_alphabetic()) && !value.starts_with("inf");
        let is_syntax = !message.starts_with("invalid type") && !message.starts_with("unknown");
        if bare && is_syntax && !["true", "false", "nan"].contains(&&*value) {
            return Some(format!("text stands in quotes: {key} = \"{value}\""));
        }
        None
    }
}

/// Adds the nearest known name to serde's message ``unknown field `x`, expected one of `a`, `b` ``.
fn with_nearest(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if !(message.starts_with("unknown field") || message.starts_with("unknown variant")) {
        return message.to_owned();
    }
    let Some(given) = quoted.next() else { return message.to_owned() };
    let known: Vec<&str> = quoted.collect();
    let what = if message.starts_with("unknown field") { "key" } else { "word" };
    if given == "pragma" {
        return "unknown key `pragma`: settings are those of a profile, or varied by `vary.\"pragma.NAME\"`".to_owned();
    }
    match nearest(given, known.iter().copied()) {
        Some(best) => format!("unknown {what} `{given}`: did you mean `{best}`? (known: {})", known.join(", ")),
        None => format!("unknown {what} `{given}` (known: {})", known.join(", ")),
    }
}

/// The candidate nearest to a misspelt word; `None` if no candidate is near.
///
/// The limit is a Damerau-Levenshtein distance of a third of the word's length, but at least 1 (two changes in four
/// letters make another word: `node`, `noop`). The computation takes time proportional to the product of both lengths,
/// so words of more than [`QUOTED`] characters are not compared.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let comparable = |word: &str| word.chars().nth(QUOTED).is_none();
    if !comparable(given) {
        return None;
    }
    let limit = (given.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| comparable(candidate))
        .map(|c| (strsim::damerau_levenshtein(&given.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(distance, c)| *distance <= limit && *distance < c.chars().count().min(given.chars().count()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// A message for a name that serde does not check: ``unknown WHAT `x`: did you mean `y`?``, or the list of known names.
pub fn unknown<'a>(what: &str, given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(given, known.iter().copied()) {
        Some(best) => format!("unknown {what} `{given}`: did you mean `{best}`?"),
        None if known.is_empty() => format!("unknown {what} `{given}`: there is none"),
        None => format!("unknown {what} `{given}` (known: {})", known.join(", ")),
    }
}

/// The value of a name that a file declares.
///
/// # Errors
/// The message of [`unknown`].
pub(crate) fn lookup<'m, V>(what: &str, name: &str, known: &'m IndexMap<String, V>) -> Result<&'m V, String> {
    known.get(name).ok_or_else(|| unknown(what, name, known.keys().map(String::as_str)))
}

/// The value that a file writes as this word.
pub(crate) fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    T::deserialize(StrDeserializer::<value::Error>::new(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named() {
        assert_eq!(nearest("worker", ["workers", "until"]), Some("workers"));
        assert_eq!(nearest("syncronous", ["synchronous", "journal_mode"]), Some("synchronous"));
        assert_eq!(nearest("zzz", ["workers", "until"]), None);
        assert_eq!((nearest("x", ["a", "b"]), nearest("vv", ["v"])), (None, None));
        assert_eq!((nearest("node", ["noop"]), nearest("tps", ["cpu"])), (None, None));
    }

    #[test]
    fn long_names_are_not_compared() {
        let (long, other) = ("x".repeat(QUOTED + 1), format!("y{}", "x".repeat(QUOTED)));
        assert_eq!(nearest(&long[1..], [&other[2..]]), Some(&other[2..]));
        assert_eq!((nearest(&long, [&*other]), nearest("workers", [&*other, "worker"])), (None, Some("worker")));
        // A megabyte each: the comparison of one pair would take hours.
        let long = "x".repeat(1 << 20);
        assert!(nearest(&long, [&*format!("{long}y")]).is_none());
        let line = ModelError::new("a.toml", unknown("metric", &long, ["p50"])).to_string();
        assert!(line.len() < 200 && line.ends_with("…` (known: p50)"), "{line}");
    }

    #[test]
    fn a_message_is_one_line() {
        let error = ModelError { file: "a.toml".into(), at: Some((3, 5)), message: "first\n  second".into() };
        assert_eq!(error.to_string(), "a.toml:3:5: first second");
    }

    #[test]
    fn positions_count_characters() {
        assert_eq!(position("ab\nčd", 5), (2, 2));
        assert_eq!(position("ab", 99), (1, 3));
    }
}
