//! Settings of servers: their names, their values, and the checks that run before anything else runs.
//!
//! What PRAGMAs are to SQLite ([`crate::pragma`]). A server refuses what it does not know by itself; checked here, a
//! mistake is found before one is started, with the nearest known name.
//!
//! - [`find`] looks a name up in the vocabulary, which is data: `vocabulary.toml`.
//! - [`parse`] turns a name and a TOML value into a [`SettingValue`] or a one-line error.
//! - [`SettingValue::matches`] compares it with what the server reports.
//! - [`Rung`] is what the settings that were read back leave after a crash.

mod durability;
mod value;
mod vocabulary;

pub use durability::Rung;
pub use value::{SettingValue, parse};
pub use vocabulary::{Kind, Known, Scope, Size, Time, all, find};
