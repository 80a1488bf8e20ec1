//! Tests that start servers, apart from the other tests: those read clocks, and servers that start take the machine.

#![cfg(feature = "servers")]

mod check_servers;
mod cluster_fault;
#[path = "../it/common/mod.rs"]
mod common;
mod killed;
mod on_servers;
mod server_failures;
mod servers;
