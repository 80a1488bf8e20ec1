//! SQLite's PRAGMAs: their names, their values, and the checks that run before anything else runs.
//!
//! SQLite answers a wrong PRAGMA with silence. An unknown name is ignored, an unknown word means something else
//! (`synchronous = WAL` is NORMAL), a number is read up to its first letter (`cache_size = '64MB'` is 64 pages).
//! A profile is therefore checked here first, and every refusal says what SQLite would have done instead:
//!
//! - [`find`] looks a name up in the vocabulary, a table of every PRAGMA of SQLite 3.54.
//! - [`parse`] turns a name and a TOML value into a [`PragmaValue`] or a one-line [`PragmaError`].
//! - [`PragmaValue::expected`] is what `PRAGMA name` has to report once the value took effect.
//! - [`Try`] asks a real SQLite what it makes of a value that is refused.
//! - [`check_order`] finds orders and combinations that leave a setting without effect.

mod effect;
mod error;
mod misread;
mod order;
mod quantity;
mod table;
mod value;
mod vocabulary;

#[cfg(test)]
pub(crate) mod tests;

pub use effect::Try;
pub use error::PragmaError;
pub use misread::Misread;
pub use order::{OrderFault, check_order};
pub use value::{Canonical, PragmaValue, parse};
pub use vocabulary::{Kind, Pragma, Reports, Scope, Standing, Unit, Values, Word, all, find, nearest};
