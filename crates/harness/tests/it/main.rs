//! The integration tests of this package in one program.

mod common;
mod conversation;
mod runtime;
mod schedule;
mod transaction;
