//! SQLite's PRAGMAs: their names, their values, and the checks that run before anything else runs.
//!
//! SQLite answers a wrong PRAGMA with silence. An unknown name is ignored, an unknown word means something else
//! (`synchronous = WAL` is NORMAL), a number is read up to its first letter (`cache_size = '64MB'` is 64 pages).
//! A profile is therefore checked here first, and every refusal says what SQLite would have done instead:
//!
//! - [`find`] looks a name up in the vocabulary, a table of every PRAGMA of SQLite 3.54.
//! - [`parse`] turns a name and a TOML value into a [`PragmaValue`] or a one-line [`PragmaError`].
//! - [`PragmaValue::expected_read_back`] is what `PRAGMA name` has to report once the value took effect.
//! - [`Reader`] is SQLite's own way to read a value's text; the tests compare it with a real SQLite.
//! - [`check_order`] finds orders and combinations that leave a setting without effect.
//! - [`Durability`] is the rung that a journal mode and a synchronous level reach.

mod durability;
mod error;
mod misread;
mod order;
mod quantity;
mod read_back;
mod reader;
mod table;
mod value;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use durability::{Durability, JournalMode, Storage, Synchronous};
pub use error::{PragmaError, Severity};
pub use misread::Misread;
pub use order::{OrderFault, check_order};
pub use read_back::{ReadBack, Reported};
pub use reader::{Effect, Reader};
pub use value::{PragmaInput, PragmaValue, Setting, parse};
pub use vocabulary::{Kind, Pragma, Reports, Scope, Standing, Unit, Values, Word, all, find, nearest};
