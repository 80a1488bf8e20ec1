//! Settings: a PRAGMA of SQLite or a setting of a server, with its value, checked before anything runs.
//!
//! A profile's text is parsed once, into [`Setting`]s: [`crate::pragma::parse`] for SQLite, [`parse`] for servers. A runner
//! gets [`Setting::sql`], the engine compares [`Setting::expected`] with what every connection reads back, and a report
//! derives the durability level from that ([`crate::durability`]).
//!
//! A server refuses by itself what it does not know; checked here, a mistake is found before one is started, with the
//! nearest known name. The vocabulary is data: `vocabulary.toml`.

mod expected;
mod value;
mod vocabulary;

use serde::{Deserialize, Serialize};

pub use expected::Expected;
pub use value::parse;
pub(crate) use value::{same_word, switch};
pub use vocabulary::{Kind, Known, Scope, Size, Time, all, find};

/// A setting with its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Its name, in lower case.
    pub name: String,
    /// Its value in canonical form: `full`, `-64000`, `off`, `10s`. Empty for a PRAGMA that does something and takes no value.
    pub value: String,
    /// For whom it holds.
    pub scope: Scope,
    /// The statement that sets it on a connection; none of a setting that holds for a whole server.
    pub sql: Option<String>,
    /// What it reads back as; none of a PRAGMA that does something (`optimize`).
    pub expected: Option<Expected>,
}
