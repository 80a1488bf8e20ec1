//! SQLite's PRAGMAs: their names, their values, and the checks before a run.
//!
//! SQLite reports no error for a wrong PRAGMA. It ignores an unknown name, gives an unknown word another meaning
//! (`synchronous = WAL` is NORMAL), and reads a number up to its first letter (`cache_size = '64MB'` is 64 pages).
//! Profiles are therefore checked here first, and every error describes what SQLite would have done:
//!
//! - [`find`] looks up a name in the vocabulary, a table of every PRAGMA of SQLite 3.54.
//! - [`parse`] converts a name and a TOML value to a [`Setting`](crate::setting::Setting) or a one-line [`PragmaError`].
//! - [`Try`] determines the effect of a refused value on a real SQLite.
//! - [`check_order`] finds orders and combinations in which a setting has no effect.

mod error;
mod order;
mod quantity;
mod table;
mod value;
mod vocabulary;

#[cfg(test)]
pub(crate) mod tests;

pub use error::{PragmaError, Try};
pub use order::check_order;
pub use table::{all, find};
pub use value::parse;
pub use vocabulary::{Kind, Pragma, Reports, Scope, Standing, Unit, Values};
