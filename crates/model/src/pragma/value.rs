//! From a name and a TOML value to a checked setting.

use super::error::PragmaError;
use super::misread;
use super::quantity::whole_number;
use super::read_back::{ReadBack, Reported};
use super::vocabulary::{Kind, Pragma, Reports, Standing, Unit, Values, Word, find, nearest};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A value as a profile gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum PragmaInput {
    /// `foreign_keys = true`
    Boolean(bool),
    /// `cache_size = -64000`
    Integer(i64),
    /// Never accepted; here so that the refusal can say more than "wrong type".
    Float(f64),
    /// `journal_mode = "wal"`
    Text(String),
}

/// A PRAGMA with a value that SQLite will understand as it was meant.
#[derive(Debug, Clone, Copy)]
pub struct PragmaValue {
    pragma: &'static Pragma,
    setting: Setting,
}

/// The canonical form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// One of the PRAGMA's words.
    Word(&'static Word),
    /// A number in the PRAGMA's unit.
    Integer(i64),
    /// On or off.
    Boolean(bool),
    /// An action without an argument.
    Run,
}

/// Checks one PRAGMA of a profile.
///
/// Numbers may also be given as text, in decimal or as `0x…`; words in any case. An action such as `optimize` takes
/// `true` to run without an argument.
pub fn parse(name: &str, input: &PragmaInput) -> Result<PragmaValue, PragmaError> {
    if let Some(pragma) = find(name) {
        return parse_as(pragma, input);
    }
    if let Some(plain) = name.rsplit_once('.').and_then(|(_, plain)| find(plain)) {
        return Err(PragmaError::Qualified { name: name.to_owned(), plain: plain.name });
    }
    Err(PragmaError::Unknown { name: name.to_owned(), nearest: nearest(name) })
}

/// The same for an entry of the vocabulary, or a test's variant of one.
pub(super) fn parse_as(pragma: &'static Pragma, input: &PragmaInput) -> Result<PragmaValue, PragmaError> {
    let name = pragma.name;
    match (pragma.standing, pragma.only_in) {
        (Standing::Deprecated { instead }, _) => return Err(PragmaError::Deprecated { name, instead }),
        (Standing::SpecialBuild, condition) => {
            return Err(PragmaError::SpecialBuild { name, condition: condition.unwrap_or("special options") });
        }
        (Standing::Current, _) => {}
    }
    let runs = *input == PragmaInput::Boolean(true);
    let setting = match pragma.kind {
        Kind::Query => return Err(PragmaError::NotASetting { name }),
        Kind::Action { .. } if runs => Some(Setting::Run),
        Kind::Action { argument: None } => return Err(PragmaError::NoArgument { name, given: input.to_string() }),
        Kind::Action { argument: Some((values, _)) } | Kind::Setting { values, .. } => accept(values, &input.text()),
    };
    match setting {
        Some(setting) => Ok(PragmaValue { pragma, setting }),
        None => Err(misread::refusal(pragma, input)),
    }
}

/// The canonical form of a text, or nothing if litelab refuses it.
fn accept(values: Values, text: &str) -> Option<Setting> {
    match values {
        Values::Boolean => boolean(text).map(Setting::Boolean),
        Values::Words { words, numbers, .. } => {
            let code = whole_number(text).filter(|code| numbers.contains(code));
            words
                .iter()
                .find(|word| {
                    word.text.eq_ignore_ascii_case(text)
                        || word.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(text))
                        || code == Some(word.code)
                })
                .map(Setting::Word)
        }
        Values::Integer { min, max, unit } => whole_number(text)
            .filter(|number| (min..=max).contains(number) && (unit != Unit::Mask || number & 2 != 0))
            .map(Setting::Integer),
        Values::PowerOfTwo { min, max, .. } => whole_number(text)
            .filter(|number| (min..=max).contains(number) && number.count_ones() == 1)
            .map(Setting::Integer),
        Values::BooleanOrPages => whole_number(text)
            .filter(|number| i32::try_from(*number).is_ok())
            .map(Setting::Integer)
            .or_else(|| boolean(text).map(Setting::Boolean)),
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

impl PragmaInput {
    /// The text that SQLite would get to read.
    pub fn text(&self) -> String {
        match self {
            Self::Boolean(value) => value.to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => format!("{number:?}"),
            Self::Text(text) => text.clone(),
        }
    }
}

impl From<bool> for PragmaInput {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<i64> for PragmaInput {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for PragmaInput {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl PragmaValue {
    /// The PRAGMA.
    pub fn pragma(&self) -> &'static Pragma {
        self.pragma
    }

    /// Its name, in lower case.
    pub fn name(&self) -> &'static str {
        self.pragma.name
    }

    /// The canonical value.
    pub fn setting(&self) -> Setting {
        self.setting
    }

    /// What to put after `=`; quoted where SQL needs it. Empty for an action without an argument.
    pub fn render(&self) -> String {
        match self.setting {
            Setting::Word(word) if word.text.contains('-') => format!("'{}'", word.text),
            Setting::Word(word) => word.text.to_owned(),
            Setting::Integer(number) => number.to_string(),
            Setting::Boolean(value) => if value { "on" } else { "off" }.to_owned(),
            Setting::Run => String::new(),
        }
    }

    /// The whole SQL statement, without a semicolon.
    pub fn statement(&self) -> String {
        match self.setting {
            Setting::Run => format!("PRAGMA {}", self.name()),
            _ => format!("PRAGMA {} = {}", self.name(), self.render()),
        }
    }

    /// What `PRAGMA name` has to report on the same connection afterwards.
    ///
    /// `page_size`, `auto_vacuum` and `encoding` report it only on a new database
    /// ([`Pragma::fixed_once_created`]), and builds with other limits than the usual may cut `mmap_size` and
    /// `threads`: then the setting did not take effect, and the report differs.
    pub fn expected_read_back(&self) -> ReadBack {
        let Kind::Setting { values, .. } = self.pragma.kind else {
            return ReadBack::Nothing;
        };
        match (self.setting, values) {
            (Setting::Word(word), Values::Words { reports: Reports::Word, .. }) => ReadBack::Word(word.text),
            (Setting::Word(word), _) => ReadBack::Integer(word.code),
            (Setting::Boolean(false) | Setting::Integer(0), Values::BooleanOrPages) => ReadBack::Integer(0),
            (Setting::Boolean(true), Values::BooleanOrPages) => ReadBack::AtLeast(1),
            // KiB become pages by a rule that depends on the page size.
            (Setting::Integer(pages), Values::BooleanOrPages) => ReadBack::AtLeast(pages.max(1)),
            (Setting::Boolean(value), _) => ReadBack::Integer(i64::from(value)),
            (Setting::Integer(number), _) => ReadBack::Integer(number),
            (Setting::Run, _) => ReadBack::Nothing,
        }
    }

    /// Whether a report shows that the setting took effect.
    pub fn read_back_matches(&self, reported: &Reported) -> bool {
        self.expected_read_back().matches(reported)
    }
}

impl fmt::Display for PragmaValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.setting {
            Setting::Run => f.write_str(self.name()),
            _ => write!(f, "{} = {}", self.name(), self.render()),
        }
    }
}

impl fmt::Display for PragmaInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            _ => f.write_str(&self.text()),
        }
    }
}
