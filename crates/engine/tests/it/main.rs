//! The integration tests of this package in one program.

#[cfg(feature = "servers")]
mod content;
mod invocations;
mod node_kills;
mod study_sql;
