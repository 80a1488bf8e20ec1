//! One line that says what is wrong, where, and the remedy.

use std::fmt;

/// Bad input: a file that cannot be read as what it should be, or that asks for the impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ModelError {
    /// The file (as the user named it) or built-in name.
    pub file: String,
    /// Line and column, from 1, where they are known.
    pub at: Option<(usize, usize)>,
    /// What is wrong and the remedy.
    pub message: String,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        // A message is one line, whatever the text it quotes.
        write!(f, ": {}", self.message.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl ModelError {
    /// Without a position.
    pub fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file: file.into(), at: None, message: message.into() }
    }

    /// From a TOML error: its position, and for an unknown key or word the nearest known one.
    pub(crate) fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map(|span| position(text, span.start));
        Self { file: file.into(), at, message: with_nearest(error.message()) }
    }
}

/// Line and column (in characters) of a byte offset, both from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// Serde says ``unknown field `x`, expected one of `a`, `b` ``; say which of them was probably meant.
fn with_nearest(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if !(message.starts_with("unknown field") || message.starts_with("unknown variant")) {
        return message.to_owned();
    }
    let Some(given) = quoted.next() else { return message.to_owned() };
    let known: Vec<&str> = quoted.collect();
    let what = if message.starts_with("unknown field") { "key" } else { "word" };
    match nearest(given, known.iter().copied()) {
        Some(best) => format!("unknown {what} `{given}`: did you mean `{best}`? (known: {})", known.join(", ")),
        None => format!("unknown {what} `{given}` (known: {})", known.join(", ")),
    }
}

/// The candidate nearest to a misspelt word, if any is near (Damerau-Levenshtein at most a third of its length,
/// at least 2 edits allowed).
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (given.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&given.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(distance, c)| *distance <= limit && *distance < c.chars().count().min(given.chars().count()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// "`x` is not known: did you mean `y`? (known: …)", for names that serde does not check.
pub fn unknown<'a>(what: &str, given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(given, known.iter().copied()) {
        Some(best) => format!("unknown {what} `{given}`: did you mean `{best}`?"),
        None if known.is_empty() => format!("unknown {what} `{given}`: there is none"),
        None => format!("unknown {what} `{given}` (known: {})", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named() {
        assert_eq!(nearest("worker", ["workers", "until"]), Some("workers"));
        assert_eq!(nearest("syncronous", ["synchronous", "journal_mode"]), Some("synchronous"));
        assert_eq!(nearest("zzz", ["workers", "until"]), None);
        assert_eq!(nearest("x", ["a", "b"]), None);
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
