//! What SQLite makes of a value that litelab refuses: asked of a real one, on a new database.

use litelab_protocol::Value;

use super::vocabulary::{Kind, Pragma, Scope, Values};

/// Sets a PRAGMA (name) of a new database to a first value and then to a second. Its value before the second, and after it; none
/// after it where SQLite returns an error. None where it cannot be tried.
pub type Try = fn(name: &str, first: &str, second: &str) -> Option<(Value, Option<Value>)>;

/// What a value does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    /// The setting then reports this.
    Takes(Value),
    /// Nothing: the setting keeps the value it had.
    Keeps,
    /// SQLite returns an error.
    Fails,
}

/// None of what cannot be read back, and of what would change the whole process.
pub(super) fn effect(pragma: &Pragma, text: &str, tried: Try) -> Option<Effect> {
    let Kind::Setting { scope, values } = pragma.kind else { return None };
    if scope == Scope::Process {
        return None;
    }
    // From two values: what is kept differs, what is taken does not.
    let [first, second] = starts(values)?;
    let (before, after) = tried(pragma.name, &first, text)?;
    let Some(after) = after else { return Some(Effect::Fails) };
    let (other_before, other_after) = tried(pragma.name, &second, text)?;
    let kept = before == after && other_after.as_ref() == Some(&other_before);
    Some(if kept { Effect::Keeps } else { Effect::Takes(after) })
}

/// Two values that the PRAGMA takes and that differ.
fn starts(values: Values) -> Option<[String; 2]> {
    match values {
        Values::Boolean | Values::BooleanOrPages => Some(["off".to_owned(), "on".to_owned()]),
        Values::Words { words, .. } => match words {
            [first, second, ..] => Some([first.text.to_owned(), second.text.to_owned()]),
            _ => None,
        },
        Values::Integer { min, .. } => Some([min.max(1).to_string(), (min.max(1) + 1).to_string()]),
        Values::PowerOfTwo { min, .. } => Some([min.to_string(), (min * 2).to_string()]),
    }
}
