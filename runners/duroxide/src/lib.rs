//! duroxide, a framework for durable orchestrations, with its own SQLite provider. It takes no SQL: duroxide has its own
//! tables and offers the operations of interface `orchestration` of `docs/reference/protocol.md`.
//!
//! [`litelab_orchestration`] is the interface, [`built_in`] the provider.

mod built_in;
mod describe;

use litelab_harness::Driver;
use litelab_orchestration::{Orchestrator, interface};
use litelab_protocol::Executor;

use crate::built_in::BuiltIn;

/// The driver of the provider under a name.
#[must_use]
pub fn driver(name: &'static str) -> Driver {
    let driver = Driver::library::<Orchestrator<BuiltIn>>(name, describe::about, &[Executor::Dedicated]);
    driver.sharings(&["pool"]).interface(interface()).in_memory()
}
