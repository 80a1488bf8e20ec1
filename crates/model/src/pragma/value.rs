//! Conversion of a name and a TOML value to a checked PRAGMA.

use std::fmt;

use litelab_protocol::Value;

use super::error::PragmaError;
use super::quantity::whole_number;
use super::vocabulary::{Kind, Pragma, Reports, Standing, Unit, Values, find};
use crate::quantity::Scalar;
use crate::setting::{Expected, Scope, Setting};

/// A PRAGMA with a value that SQLite interprets as intended.
#[derive(Debug, Clone, Copy)]
pub struct PragmaValue {
    pragma: &'static Pragma,
    value: Canonical,
}

/// The canonical form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canonical {
    /// One of the PRAGMA's words, and its position among them.
    Word(&'static str, i64),
    /// A number in the PRAGMA's unit.
    Integer(i64),
    /// A switch: on or off.
    Boolean(bool),
    /// An action without an argument.
    Run,
}

/// Checks and parses one PRAGMA of a profile.
///
/// Numbers can also be given as text, in decimal or as `0x…`; words are case-insensitive. For an action such as
/// `optimize`, `true` means to run it without an argument.
pub fn parse(name: &str, input: &Scalar) -> Result<PragmaValue, PragmaError> {
    match find(name) {
        Some(pragma) => parse_as(pragma, input),
        None => Err(PragmaError::unknown(name)),
    }
}

/// Checks and parses a value for an entry of the vocabulary, or for a test's variant of an entry.
pub(super) fn parse_as(pragma: &'static Pragma, input: &Scalar) -> Result<PragmaValue, PragmaError> {
    if pragma.standing != Standing::Current {
        return Err(PragmaError::unusable(pragma));
    }
    let runs = *input == Scalar::Bool(true);
    let value = match pragma.kind {
        Kind::Action { .. } if runs => Some(Canonical::Run),
        Kind::Action { argument: Some(values) } | Kind::Setting { values, .. } => accept(values, &text_of(input)),
        Kind::Query | Kind::Action { argument: None } => None,
    };
    value.map(|value| PragmaValue { pragma, value }).ok_or_else(|| PragmaError::refused(pragma, input))
}

/// The canonical form of a text; `None` if litelab refuses it.
fn accept(values: Values, text: &str) -> Option<Canonical> {
    match values {
        Values::Boolean => boolean(text).map(Canonical::Boolean),
        Values::Words { words, reports } => {
            let code = whole_number(text)
                .filter(|code| matches!(reports, Reports::Code { input } if (0..input).contains(code)));
            let mut coded = (0..).zip(words);
            coded
                .find(|(at, word)| word.iter().any(|w| w.eq_ignore_ascii_case(text)) || code == Some(*at))
                .map(|(at, word)| Canonical::Word(word[0], at))
        }
        Values::Integer { min, max, unit } => whole_number(text)
            .filter(|number| (min..=max).contains(number) && (unit != Unit::Mask || number & 2 != 0))
            .map(Canonical::Integer),
        Values::PowerOfTwo { min, max, .. } => whole_number(text)
            .filter(|number| (min..=max).contains(number) && number.count_ones() == 1)
            .map(Canonical::Integer),
        Values::BooleanOrPages => whole_number(text)
            .filter(|number| i32::try_from(*number).is_ok())
            .map(Canonical::Integer)
            .or_else(|| boolean(text).map(Canonical::Boolean)),
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// The text that SQLite would read.
pub(super) fn text_of(value: &Scalar) -> String {
    match value {
        Scalar::Real(number) => format!("{number:?}"),
        other => other.to_string(),
    }
}

impl PragmaValue {
    /// The entry of the vocabulary.
    pub fn pragma(&self) -> &'static Pragma {
        self.pragma
    }

    /// Name of the PRAGMA in lower case.
    pub fn name(&self) -> &'static str {
        self.pragma.name
    }

    /// Value in canonical form.
    pub fn value(&self) -> Canonical {
        self.value
    }

    /// The SQL text after `=`, quoted if necessary. Empty for an action without an argument.
    pub fn render(&self) -> String {
        match self.value {
            Canonical::Word(word, _) if word.contains('-') => format!("'{word}'"),
            Canonical::Word(word, _) => word.to_owned(),
            Canonical::Integer(number) => number.to_string(),
            Canonical::Boolean(value) => if value { "on" } else { "off" }.to_owned(),
            Canonical::Run => String::new(),
        }
    }

    /// The complete SQL statement, without a semicolon.
    pub fn statement(&self) -> String {
        format!("PRAGMA {self}")
    }

    /// The value that `PRAGMA name` has to report afterwards on the same connection; `None` for an action.
    ///
    /// `page_size`, `auto_vacuum` and `encoding` report it only on a new database: the first write to the file fixes
    /// them. A build with unusual limits can reduce `mmap_size` and `threads`; the report then differs, because the
    /// setting did not take full effect.
    pub fn expected(&self) -> Option<Expected> {
        let Kind::Setting { values, .. } = self.pragma.kind else { return None };
        Some(match (self.value, values) {
            (Canonical::Word(word, _), Values::Words { reports: Reports::Word, .. }) => Expected::Word(word.to_owned()),
            (Canonical::Word(_, code), _) => Expected::Integer(code),
            (Canonical::Boolean(false) | Canonical::Integer(0), Values::BooleanOrPages) => Expected::Integer(0),
            (Canonical::Boolean(true), Values::BooleanOrPages) => Expected::AtLeast(1),
            // The conversion of KiB to pages depends on the page size.
            (Canonical::Integer(pages), Values::BooleanOrPages) => Expected::AtLeast(pages.max(1)),
            (Canonical::Boolean(value), _) => Expected::Integer(i64::from(value)),
            (Canonical::Integer(number), _) => Expected::Integer(number),
            (Canonical::Run, _) => return None,
        })
    }

    /// Whether a reported value shows that the setting took effect.
    pub fn read_back_matches(&self, reported: &Value) -> bool {
        self.expected().is_none_or(|expected| expected.matches(reported))
    }
}

impl From<PragmaValue> for Setting {
    fn from(value: PragmaValue) -> Self {
        Self {
            name: value.name().to_owned(),
            value: value.render(),
            scope: Scope::Session,
            sql: Some(value.statement()),
            expected: value.expected(),
        }
    }
}

impl fmt::Display for PragmaValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Canonical::Run => f.write_str(self.name()),
            _ => write!(f, "{} = {}", self.name(), self.render()),
        }
    }
}
