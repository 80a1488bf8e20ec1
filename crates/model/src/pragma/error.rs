//! Errors of PRAGMAs, in one line with the remedy.

use super::effect::Try;
use super::misread::Misread;

/// A PRAGMA that would not have the effect that the profile states.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PragmaError {
    /// No PRAGMA has this name.
    #[error("unknown PRAGMA {name:?}: SQLite would ignore it without an error; {}", hint(.nearest))]
    Unknown {
        /// Name as given.
        name: String,
        /// The most similar known name.
        nearest: Option<&'static str>,
    },
    /// The name has a schema as prefix.
    #[error("{name:?} names a schema: a profile sets the main database; write {plain}")]
    Qualified {
        /// Name as given.
        name: String,
        /// Name without the schema.
        plain: &'static str,
    },
    /// SQLite's documentation deprecates the PRAGMA.
    #[error("{name} is deprecated and some builds ignore it without an error; use {instead}")]
    Deprecated {
        /// Name of the PRAGMA.
        name: &'static str,
        /// Name of the replacement.
        instead: &'static str,
    },
    /// An ordinary build of SQLite does not have the PRAGMA.
    #[error("{name} exists only in a SQLite built with {condition}: others ignore it without an error; leave it out")]
    SpecialBuild {
        /// Name of the PRAGMA.
        name: &'static str,
        /// Compile-time option that the build needs.
        condition: &'static str,
    },
    /// The PRAGMA is a query.
    #[error("{name} reports and sets nothing; leave it out of the profile")]
    NotASetting {
        /// Name of the PRAGMA.
        name: &'static str,
    },
    /// The PRAGMA is an action that accepts no value.
    #[error(
        "{name} = {given}: it takes no value and SQLite would run it whatever the value; write true or leave it out"
    )]
    NoArgument {
        /// Name of the PRAGMA.
        name: &'static str,
        /// Value as given.
        given: String,
    },
    /// SQLite would interpret the value differently, or refuse it.
    #[error(transparent)]
    Value(Box<Misread>),
}

impl PragmaError {
    /// Adds the effect of the value in a real SQLite to an error about a value; other errors are unchanged.
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
