//! Conversion of a name and a TOML value to a checked PRAGMA.

use super::error::{PragmaError, text_of};
use super::quantity::{is_page_size, whole_number};
use super::table::find;
use super::vocabulary::{Kind, Pragma, Reports, Unit, Values};
use crate::quantity::Scalar;
use crate::setting::expected::on_or_off;
use crate::setting::{Expected, Scope, Setting};

/// Checks and parses one PRAGMA of a profile.
///
/// Numbers can also be given as text, in decimal or as `0x…`; words are case-insensitive. For an action such as
/// `optimize`, `true` means to run it without an argument.
pub fn parse(name: &str, input: &Scalar) -> Result<Setting, PragmaError> {
    match find(name) {
        Some(pragma) => parse_as(pragma, input),
        None => Err(PragmaError::unknown(name)),
    }
}

/// Checks and parses a value for an entry of the vocabulary, or for a test's variant of an entry.
pub(super) fn parse_as(pragma: &'static Pragma, input: &Scalar) -> Result<Setting, PragmaError> {
    if let Some(error) = PragmaError::unusable(pragma) {
        return Err(error);
    }
    let found = match pragma.kind {
        Kind::Action { .. } if *input == Scalar::Bool(true) => Some((String::new(), None)),
        Kind::Action { argument: Some(values) } => accept(values, &text_of(input)).map(|(value, _)| (value, None)),
        Kind::Setting { values, .. } => accept(values, &text_of(input)).map(|(value, reads)| (value, Some(reads))),
        Kind::Query | Kind::Action { argument: None } => None,
    };
    let Some((value, expected)) = found else { return Err(PragmaError::refused(pragma, input)) };
    let name = pragma.name.to_owned();
    let sql = if value.is_empty() { format!("PRAGMA {name}") } else { format!("PRAGMA {name} = {value}") };
    Ok(Setting { name, value, scope: Scope::Session, sql: Some(sql), expected })
}

/// The SQL text of a value, quoted if necessary, and what `PRAGMA name` has to report afterwards on the same
/// connection. `None` if litelab refuses the value.
///
/// `page_size`, `auto_vacuum` and `encoding` report it only on a new database: the first write to the file fixes them. A
/// build with unusual limits can reduce `mmap_size` and `threads`; the report then differs, because the setting did not
/// take full effect.
fn accept(values: Values, text: &str) -> Option<(String, Expected)> {
    let whole = |number: &i64| (number.to_string(), Expected::Integer(*number));
    let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
    match values {
        Values::Boolean => on_or_off(text).map(|on| (switch(on), Expected::Integer(on.into()))),
        Values::Words { words, reports } => {
            let is_input = |code: &i64| matches!(reports, Reports::Code { input } if (0..input).contains(code));
            let code = whole_number(text).filter(is_input);
            let mut coded = (0..).zip(words);
            let is = |word: &[&str], at| word.iter().any(|w| w.eq_ignore_ascii_case(text)) || code == Some(at);
            let (code, word) = coded.find(|(at, word)| is(word, *at)).map(|(at, word)| (at, word[0].to_owned()))?;
            let sql = if word.contains('-') { format!("'{word}'") } else { word.clone() };
            Some((sql, if reports == Reports::Word { Expected::Word(word) } else { Expected::Integer(code) }))
        }
        Values::Integer { min, max, unit } => whole_number(text)
            .filter(|number| (min..=max).contains(number) && (unit != Unit::Mask || number & 2 != 0))
            .as_ref()
            .map(whole),
        Values::PageSize => whole_number(text).filter(is_page_size).as_ref().map(whole),
        Values::BooleanOrPages => match whole_number(text).filter(|number| i32::try_from(*number).is_ok()) {
            Some(0) => Some(whole(&0)),
            // The conversion of KiB to pages depends on the page size.
            Some(pages) => Some((pages.to_string(), Expected::AtLeast(pages.max(1)))),
            None => {
                on_or_off(text).map(|on| (switch(on), if on { Expected::AtLeast(1) } else { Expected::Integer(0) }))
            }
        },
    }
}
