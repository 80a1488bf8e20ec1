//! What is in effect, what is wrong, how to fix it: facts about a database and the rules that judge them.
//!
//! | module | content |
//! |---|---|
//! | [`look`] | all facts about a database, from the modules below |
//! | [`facts`] | their types |
//! | [`file`] | header, sizes, permissions, read as bytes |
//! | [`host`] | file system, disk, container |
//! | [`process`] | who has the database open, with which SQLite and which locks |
//! | [`snapshot`] | content without a lock; [`schema`] and [`statement`] read it |
//! | [`advice`] | indexes tried on a copy |
//! | [`app`] | the application's connections, opened by its driver on a stand-in; [`dsn`] its keys |
//! | [`bundle`], [`defect`] | the SQLite in each release of a driver; known defects of a version |
//! | [`rule`], [`judge`] | rules as data, and their findings; [`sarif`] for code scanning |

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion"))]

pub mod advice;
pub mod app;
pub mod bundle;
pub mod defect;
pub mod dsn;
pub mod facts;
pub mod file;
pub mod host;
pub mod judge;
pub mod look;
pub mod process;
pub mod rule;
pub mod sarif;
pub mod schema;
mod setting;
pub mod snapshot;
pub mod statement;
mod words;

pub use app::{Opening, StandIn};
pub use facts::Facts;
pub use judge::{Finding, Judge};
pub use rule::{Rule, RuleError, Severity, Subject};
