//! Errors of PRAGMAs, in one line: the problem, its effect in SQLite, and the remedy.

use litelab_protocol::Value;

use super::quantity::{PAGE, binary_bytes, in_plain_digits, is_page_size, whole_number};
use super::table::{all, find};
use super::vocabulary::{Kind, Pragma, Scope, Standing, Unit, Values};
use crate::error::nearest;
use crate::quantity::Scalar;

/// Sets the PRAGMA `name` of a new database to `first`, then to `second`. Returns its value before and after the second
/// statement; the latter is `None` if SQLite returned an error. The result is `None` if the attempt is impossible.
pub type Try = fn(name: &str, first: &str, second: &str) -> Option<(Value, Option<Value>)>;

/// A PRAGMA that would not have the effect that the profile states.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}{effect}; {remedy}")]
pub struct PragmaError {
    problem: String,
    /// The effect of a refused value in SQLite, as ": SQLite would …"; empty until a SQLite has been queried.
    effect: String,
    remedy: String,
    /// The setting and the text that SQLite would read, if the error is about a value.
    refused: Option<(&'static Pragma, String)>,
}

impl PragmaError {
    fn new(problem: String, remedy: String) -> Self {
        Self { problem, effect: String::new(), remedy, refused: None }
    }

    /// The error for a name that SQLite does not have, or that has a schema as prefix.
    pub(crate) fn unknown(name: &str) -> Self {
        if let Some(plain) = name.rsplit_once('.').and_then(|(_, plain)| find(plain)) {
            let problem = format!("{name:?} names a schema: a profile sets the main database");
            return Self::new(problem, format!("write {}", plain.name));
        }
        let current = all().iter().filter(|pragma| pragma.standing == Standing::Current).map(|pragma| pragma.name);
        let remedy = match nearest(name, current) {
            Some(name) => format!("did you mean {name}?"),
            None => "PRAGMA pragma_list names those it knows".to_owned(),
        };
        Self::new(format!("unknown PRAGMA {name:?}: SQLite would ignore it without an error"), remedy)
    }

    /// The error for a PRAGMA that is deprecated, or that an ordinary build of SQLite does not have; `None` for others.
    pub(super) fn unusable(Pragma { name, standing, .. }: &Pragma) -> Option<Self> {
        let (problem, remedy) = match standing {
            Standing::Current => return None,
            Standing::Deprecated { instead } => {
                (format!("{name} is deprecated and some builds ignore it without an error"), format!("use {instead}"))
            }
            Standing::SpecialBuild { condition } => (
                format!("{name} exists only in a SQLite built with {condition}: others ignore it without an error"),
                "leave it out".to_owned(),
            ),
        };
        Some(Self::new(problem, remedy))
    }

    /// The error for a value.
    pub(super) fn refused(pragma: &'static Pragma, input: &Scalar) -> Self {
        let (name, given, text) = (pragma.name, input.quoted(), text_of(input));
        match pragma.values() {
            Some(values) => Self {
                refused: Some((pragma, text.clone())),
                ..Self::new(
                    format!("{name} = {given} {}", problem(values, &text)),
                    format!("write {}", remedy(values, &text)),
                )
            },
            None if pragma.kind == Kind::Query => {
                Self::new(format!("{name} reports and sets nothing"), "leave it out of the profile".to_owned())
            }
            None => Self::new(
                format!("{name} = {given}: it takes no value and SQLite would run it whatever the value"),
                "write true or leave it out".to_owned(),
            ),
        }
    }

    /// Adds the effect of the value in a real SQLite to an error about a value; other errors are unchanged.
    #[must_use]
    pub fn explained(mut self, tried: Option<Try>) -> Self {
        if let (Some((pragma, text)), Some(tried)) = (&self.refused, tried)
            && let Some(effect) = effect(pragma, text, tried)
        {
            self.effect = format!(": SQLite would {effect}");
        }
        self
    }
}

/// The text that SQLite would read.
pub(super) fn text_of(value: &Scalar) -> String {
    match value {
        Scalar::Real(number) => format!("{number:?}"),
        other => other.to_string(),
    }
}

fn problem(values: Values, text: &str) -> String {
    match values {
        Values::Boolean => "is not a boolean".to_owned(),
        Values::Words { .. } => "is not one of its words".to_owned(),
        Values::PageSize => "is not a power of two from 512 to 65536".to_owned(),
        Values::BooleanOrPages => "is neither a boolean nor a whole number".to_owned(),
        Values::Integer { min, max, unit } => match whole_number(text) {
            Some(number) if unit == Unit::Mask && (min..=max).contains(&number) => "lacks bit 0x02".to_owned(),
            Some(_) => format!("is outside {min} to {max}"),
            None => "is not a whole number".to_owned(),
        },
    }
}

/// The effect of a text as the value of a PRAGMA, worded to follow "SQLite would"; `None` for a PRAGMA that cannot be
/// read back or that changes the whole process.
fn effect(pragma: &Pragma, text: &str, tried: Try) -> Option<String> {
    let Kind::Setting { scope, values } = pragma.kind else { return None };
    if scope == Scope::Process {
        return None;
    }
    // Two start values: a kept value depends on the start value, a new value does not.
    let [first, second] = starts(values)?;
    let (before, after) = tried(pragma.name, &first, text)?;
    let Some(taken) = after else { return Some("return an error".to_owned()) };
    let (other_before, other_after) = tried(pragma.name, &second, text)?;
    if before == taken && other_after.as_ref() == Some(&other_before) {
        return Some("silently ignore it and keep the value it has".to_owned());
    }
    Some(match (&taken, values) {
        (Value::Integer(0), Values::Boolean | Values::BooleanOrPages) => "silently turn it off".to_owned(),
        (Value::Integer(_), Values::Boolean | Values::BooleanOrPages) => "silently turn it on".to_owned(),
        (Value::Integer(code), Values::Words { .. }) => match pragma.in_words(&taken) {
            // Only `synchronous` has codes without a word.
            number if number == code.to_string() => format!("silently set level {code}, which acts as FULL"),
            word => format!("silently take it as {}", word.to_uppercase()),
        },
        (Value::Integer(number), Values::Integer { unit, .. }) => format!("silently read {}", quantity(*number, unit)),
        (Value::Integer(number), Values::PageSize) => format!("silently read {}", quantity(*number, Unit::Bytes)),
        _ => format!("silently take it as {}", taken.to_string().to_uppercase()),
    })
}

/// Two different valid values.
fn starts(values: Values) -> Option<[String; 2]> {
    match values {
        Values::Boolean | Values::BooleanOrPages => Some(["off".to_owned(), "on".to_owned()]),
        Values::Words { words, .. } => match words {
            [first, second, ..] => Some([first[0].to_owned(), second[0].to_owned()]),
            _ => None,
        },
        Values::Integer { min, .. } => Some([min.max(1).to_string(), (min.max(1) + 1).to_string()]),
        Values::PageSize => Some(["512".to_owned(), "1024".to_owned()]),
    }
}

/// A number with its unit; pages also as memory.
fn quantity(number: i64, unit: Unit) -> String {
    let plural = if number == 1 { "" } else { "s" };
    match unit {
        Unit::PagesOrKib if number < 0 => format!("{} KiB", number.unsigned_abs()),
        Unit::Pages | Unit::PagesOrKib | Unit::Frames => {
            let name = if unit == Unit::Frames { "frame" } else { "page" };
            let memory = number.saturating_mul(PAGE / 1024);
            format!("{number} {name}{plural} ({memory} KiB with 4096-byte pages)")
        }
        Unit::Bytes => format!("{number} byte{plural}"),
        Unit::Milliseconds => format!("{number} ms"),
        Unit::Count | Unit::Mask | Unit::Plain => number.to_string(),
    }
}

/// The remedy for a refused value, worded to follow "write".
fn remedy(values: Values, text: &str) -> String {
    match values {
        Values::Boolean => "on or off".to_owned(),
        Values::Words { words, .. } => {
            let words: Vec<&str> = words.iter().map(|word| word[0]).collect();
            match words.split_last() {
                Some((last, others)) => format!("{} or {last}", others.join(", ")),
                None => "nothing".to_owned(),
            }
        }
        Values::PageSize => match binary_bytes(text).filter(is_page_size) {
            Some(bytes) => bytes.to_string(),
            None => "512, 1024, 2048 and so on up to 65536".to_owned(),
        },
        Values::BooleanOrPages => in_plain_digits(text, Unit::PagesOrKib, i64::from(i32::MIN), i64::from(i32::MAX))
            .unwrap_or_else(|| "on, off or a whole number of pages (KiB if negative)".to_owned()),
        Values::Integer { min, max, unit } => match whole_number(text) {
            Some(number) if unit == Unit::Mask && (min..=max).contains(&number) => format!("{}", number | 2),
            Some(number) if number > max => format!("at most {max}"),
            Some(_) => format!("at least {min}"),
            None => in_plain_digits(text, unit, min, max).unwrap_or_else(|| format!("a whole number{}", of(unit))),
        },
    }
}

fn of(unit: Unit) -> &'static str {
    match unit {
        Unit::Pages => " of pages",
        Unit::PagesOrKib => " of pages, or of KiB with a minus sign",
        Unit::Bytes => " of bytes",
        Unit::Milliseconds => " of milliseconds",
        Unit::Frames => " of WAL frames",
        Unit::Mask => " with bit 0x02 set",
        Unit::Count | Unit::Plain => "",
    }
}
