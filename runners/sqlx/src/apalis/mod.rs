//! The driver `apalis-sqlite`, a task queue for asynchronous Rust. It takes no SQL: the library keeps its own tables, and
//! offers the operations of interface `queue` of `docs/PROTOCOL.md`.
//!
//! [`queue`] is the library as an application would call it, [`pool`] opens its connections, [`session`] brings it and
//! the harness together.

mod describe;
mod fault;
mod pool;
mod queue;
mod session;

use litelab_harness::Driver;
use litelab_protocol::invocation::Operation;
use litelab_protocol::{Executor, Interface};

use self::session::Apalis;

/// The driver.
pub fn driver() -> Driver {
    // Of the accesses these two: every operation writes, so readers apart would have nothing to do, and the library's own
    // pool is what a pool of the harness would be. Its calls are waited for in a runtime of their own, so it is for threads.
    let apalis =
        Driver::new::<Apalis>("apalis-sqlite", describe::about).executors(&[Executor::Threads, Executor::Processes]);
    apalis.interface(interface()).accesses(&["per-worker", "shared"])
}

fn interface() -> Interface {
    let operations = vec![
        Operation::writing("enqueue", &["payload", "priority"], &[]),
        Operation::writing("claim", &[], &session::COLUMNS),
        Operation::writing("complete", &["id"], &[]),
        Operation::writing("fail", &["id"], &[]),
    ];
    Interface { name: "queue".into(), operations }
}
