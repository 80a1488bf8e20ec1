//! A runner for libraries that call SQLite for a program under tokio, by way of rusqlite: tokio-rusqlite, with a thread for
//! each connection, and deadpool-sqlite, a pool whose connections are used in the runtime's blocking pool.
//!
//! [`threads`] and [`pool`] are the two as an application would call them; [`cached`] is what their closures do with the
//! connection they get.

mod describe;
mod pool;
mod threads;

// What is done with a connection of rusqlite is the same as in its own runner, compiled for another release of it: one
// program, and so one lock file, cannot link two.
#[path = "../../rusqlite/src/cached.rs"]
mod cached;
#[path = "../../rusqlite/src/connect.rs"]
mod connect;
#[path = "../../rusqlite/src/execute.rs"]
mod execute;
#[path = "../../rusqlite/src/fault.rs"]
mod fault;
#[path = "../../rusqlite/src/row.rs"]
mod row;

use std::process::ExitCode;

use litelab_harness::Driver;
use litelab_protocol::Executor;

use crate::pool::Deadpool;
use crate::threads::TokioRusqlite;

fn main() -> ExitCode {
    let threads = Driver::hosted::<TokioRusqlite>(
        "tokio-rusqlite",
        describe::tokio_rusqlite,
        &[Executor::Dedicated],
        &["per-worker", "shared", "pool", "write-lock", "split"],
    );
    // A connection for each worker would be a pool that is none.
    let pool = Driver::hosted::<Deadpool>(
        "deadpool-sqlite",
        describe::deadpool_sqlite,
        &[Executor::Offload],
        &["shared", "pool", "split"],
    );
    litelab_harness::main("tokio", [threads, pool])
}
