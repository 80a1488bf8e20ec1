//! Tests that start servers, separate from the other tests: those are timing-sensitive, and starting servers loads the
//! CPU.

#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, reason = "in a test, an unwrap is an assertion")]

mod check_servers;
mod cluster_fault;
#[path = "../it/common/mod.rs"]
mod common;
mod killed;
mod on_servers;
mod server_failures;
mod servers;
