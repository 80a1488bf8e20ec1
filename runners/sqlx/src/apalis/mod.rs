//! The driver `apalis-sqlite`, a task queue for asynchronous Rust. It takes no SQL: the library has its own tables and
//! offers the operations of interface `queue` of `docs/reference/protocol.md`.
//!
//! [`queue`] calls the library as an application would, [`pool`] opens its connections, [`session`] connects it to the
//! harness.

mod pool;
mod queue;
mod session;

use litelab_harness::Driver;
use litelab_protocol::invocation::Operation;
use litelab_protocol::{Executor, Interface};

use self::session::Apalis;

/// Creates the driver.
pub fn driver() -> Driver {
    // It supports only two kinds of sharing: every operation writes, so that separate readers would have no work, and
    // the library's own pool replaces that of the harness. Each worker waits for its calls in a runtime of its own, so
    // that it runs in threads.
    let apalis = Driver::new::<Apalis>("apalis-sqlite", || crate::describe::about("apalis-sqlite"))
        .executors(&[Executor::Threads, Executor::Processes]);
    apalis.interface(interface()).sharings(&["own-connection", "one-connection"])
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
