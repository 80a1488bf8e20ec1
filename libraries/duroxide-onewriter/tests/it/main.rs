//! The integration tests of this package in one program.

#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

mod close;
mod common;
mod disk;
mod ended;
mod failures;
mod memory;
mod quarantine;
mod reopen;
mod stress;
mod through;
mod transfer;
mod waking;
