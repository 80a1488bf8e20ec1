//! A tokenizer that separates SQL code from quotes and comments in each dialect. It does not validate statements; the
//! database compiles them.
//!
//! | file | content |
//! |---|---|
//! | `token` | the tokens of a text: [`tokens`] |
//! | `script` | the statements of a script: [`statements`] |
//! | `insert` | an INSERT of many rows: [`Insert`] |
//! | `values` | the tuple of an INSERT: [`values`] |

mod insert;
mod script;
mod token;
mod values;

pub use insert::Insert;
pub use script::statements;
pub use token::{Token, tokens};
pub use values::values;
