//! Why a PRAGMA is refused, in one line with its remedy.

use super::effect::Try;
use super::misread::Misread;

/// A PRAGMA that would not do what the profile says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PragmaError {
    /// No PRAGMA has this name.
    #[error("unknown PRAGMA {name:?}: SQLite would ignore it without an error; {}", hint(.nearest))]
    Unknown {
        /// The name as given.
        name: String,
        /// The known name most like it.
        nearest: Option<&'static str>,
    },
    /// The name has a schema in front.
    #[error("{name:?} names a schema: a profile sets the main database; write {plain}")]
    Qualified {
        /// The name as given.
        name: String,
        /// The name alone.
        plain: &'static str,
    },
    /// SQLite advises against it.
    #[error("{name} is deprecated and some builds ignore it without an error; use {instead}")]
    Deprecated {
        /// The PRAGMA.
        name: &'static str,
        /// The replacement.
        instead: &'static str,
    },
    /// An ordinary build does not know it.
    #[error("{name} exists only in a SQLite built with {condition}: others ignore it without an error; leave it out")]
    SpecialBuild {
        /// The PRAGMA.
        name: &'static str,
        /// What the build needs.
        condition: &'static str,
    },
    /// It only reports.
    #[error("{name} reports and sets nothing; leave it out of the profile")]
    NotASetting {
        /// The PRAGMA.
        name: &'static str,
    },
    /// An action that takes no value.
    #[error(
        "{name} = {given}: it takes no value and SQLite would run it whatever the value; write true or leave it out"
    )]
    NoArgument {
        /// The PRAGMA.
        name: &'static str,
        /// The value as given.
        given: String,
    },
    /// SQLite would read the value as something else, or refuse it.
    #[error(transparent)]
    Value(Box<Misread>),
}

impl PragmaError {
    /// Adds what a SQLite would have done with the value, where that is the mistake.
    #[must_use]
    pub fn explained(mut self, tried: Option<Try>) -> Self {
        if let (Self::Value(misread), Some(tried)) = (&mut self, tried) {
            misread.ask(tried);
        }
        self
    }
}

fn hint(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(name) => format!("did you mean {name}?"),
        None => "PRAGMA pragma_list names those it knows".to_owned(),
    }
}
