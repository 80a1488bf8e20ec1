//! A runner for duroxide, a framework for durable orchestrations, with its own SQLite provider. It takes no SQL:
//! duroxide has its own tables and offers the operations of interface `orchestration` of `docs/PROTOCOL.md`.
//!
//! [`litelab_orchestration`] is the interface, [`built_in`] the provider.

mod built_in;
mod describe;

use std::process::ExitCode;

use litelab_harness::Driver;
use litelab_orchestration::{Orchestrator, interface};
use litelab_protocol::Executor;

use crate::built_in::BuiltIn;

fn main() -> ExitCode {
    let executors = &[Executor::Dedicated];
    let driver = Driver::library::<Orchestrator<BuiltIn>>("duroxide-sqlite", describe::about, executors, &["pool"]);
    litelab_harness::main("duroxide", [driver.interface(interface()).in_memory()])
}
