//! What is in effect, what is wrong, how to fix it: facts about a database and the rules that judge them.
//!
//! | module | content |
//! |---|---|
//! | [`facts`] | what was observed, without judgement |
//! | [`rule`] | rules as data, from `rules/*.toml` |
//! | [`judge`] | rules and facts to findings |

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion"))]

pub mod app;
pub mod dsn;
pub mod facts;
pub mod file;
pub mod host;
pub mod judge;
pub mod process;
pub mod rule;
pub mod schema;
mod setting;
pub mod snapshot;
pub mod statement;
mod words;

pub use facts::Facts;
pub use judge::{Finding, Judge};
pub use rule::{Rule, RuleError, Severity, Subject};
