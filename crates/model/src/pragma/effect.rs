//! The effect of a refused value, determined on a new database of a real SQLite.

use litelab_protocol::Value;

use super::vocabulary::{Kind, Pragma, Scope, Values};

/// Sets the PRAGMA `name` of a new database to `first`, then to `second`. Returns its value before and after the second
/// statement; the latter is `None` if SQLite returned an error. The result is `None` if the attempt is impossible.
pub type Try = fn(name: &str, first: &str, second: &str) -> Option<(Value, Option<Value>)>;

/// The effect of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    /// The setting then has this value.
    Takes(Value),
    /// The setting keeps its previous value.
    Keeps,
    /// SQLite returns an error.
    Fails,
}

/// The effect of a text as the value of a PRAGMA; `None` for a PRAGMA that cannot be read back or that changes the
/// whole process.
pub(super) fn effect(pragma: &Pragma, text: &str, tried: Try) -> Option<Effect> {
    let Kind::Setting { scope, values } = pragma.kind else { return None };
    if scope == Scope::Process {
        return None;
    }
    // Two start values: a kept value depends on the start value, a new value does not.
    let [first, second] = starts(values)?;
    let (before, after) = tried(pragma.name, &first, text)?;
    let Some(after) = after else { return Some(Effect::Fails) };
    let (other_before, other_after) = tried(pragma.name, &second, text)?;
    let kept = before == after && other_after.as_ref() == Some(&other_before);
    Some(if kept { Effect::Keeps } else { Effect::Takes(after) })
}

/// Two different valid values of the PRAGMA.
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
