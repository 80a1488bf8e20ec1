//! Settings: a PRAGMA of SQLite or a setting of a server with its value, checked before a run.
//!
//! A profile's text is parsed once into [`Setting`]s: by [`crate::pragma::parse`] for SQLite, by [`parse`] for servers.
//! A runner receives [`Setting::sql`]; the engine compares [`Setting::expected`] with the values read back on every
//! connection; a report derives the durability level from these values ([`crate::durability`]).
//!
//! A server itself refuses an unknown setting. The check here finds the error before a server is started, and reports
//! the nearest known name. The vocabulary is data: `vocabulary.toml`.

mod expected;
mod value;
mod vocabulary;

use serde::{Deserialize, Serialize};

pub use expected::Expected;
pub use value::parse;
pub(crate) use value::{same_word, switch};
pub use vocabulary::{Kind, Known, Scope, Unit, all};

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
