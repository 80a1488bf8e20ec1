//! As much of SQL's grammar as it takes to tell code from quotes and comments, for each dialect. Nothing here decides
//! whether a statement is valid: the database compiles it.
//!
//! | file | is |
//! |---|---|
//! | `token` | the pieces of a text: [`tokens`] |
//! | `script` | the statements of a script: [`statements`] |
//! | `values` | the tuple of an INSERT: [`values`] |

mod script;
mod token;
mod values;

pub use script::statements;
pub use token::{Token, tokens};
pub use values::values;
