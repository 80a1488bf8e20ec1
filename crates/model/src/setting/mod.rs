//! Settings: a PRAGMA of SQLite or a setting of a server with its value, checked before a run.
//!
//! A profile's text is parsed once into [`Setting`]s: by [`pragma::parse`] for SQLite, here for servers.
//! A runner receives [`Setting::sql`]; the engine compares [`Setting::expected`] with the values read back on every
//! connection; a report derives the durability level from these values ([`crate::durability`]).
//!
//! A server itself refuses an unknown setting. The check here finds the error before a server is started, and reports
//! the nearest known name. The vocabulary is data: `vocabulary.toml`.

mod expected;
pub mod pragma;
mod value;
mod vocabulary;

use litelab_protocol::{Dialect, Value};
use serde::{Deserialize, Serialize};

use crate::quantity::Scalar;

pub use expected::Expected;
pub(crate) use expected::{same_word, switch};
use value::parse;
pub use vocabulary::{Known, Scope, Unit, all};

/// A setting with its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Name of the setting in lower case.
    pub name: String,
    /// Value in canonical form: `full`, `-64000`, `off`, `10s`. Empty for a PRAGMA that is an action without a value.
    pub value: String,
    /// Connections that the setting applies to.
    pub scope: Scope,
    /// The statement that applies the setting to a connection; `None` for a setting of the whole server.
    pub sql: Option<String>,
    /// The value expected when read back; `None` for a PRAGMA that is an action (`optimize`).
    pub expected: Option<Expected>,
}

impl Setting {
    /// Checks and parses a setting of a profile. `tried` queries a SQLite for the effect of a refused PRAGMA.
    ///
    /// # Errors
    /// One line with what is wrong with the name or the value, and the remedy.
    pub fn parse(dialect: Dialect, name: &str, value: &Scalar, tried: Option<pragma::Try>) -> Result<Self, String> {
        match dialect {
            Dialect::Sqlite => pragma::parse(name, value).map_err(|e| e.explained(tried).to_string()),
            server => parse(server, name, value),
        }
    }

    /// Whether a value read back shows that the setting took effect; true for an action, which cannot be read back.
    #[must_use]
    pub fn matches(&self, reported: &Value) -> bool {
        self.expected.as_ref().is_none_or(|expected| expected.matches(reported))
    }
}
