//! A runner for libraries that call SQLite for a program under tokio, by way of rusqlite: tokio-rusqlite, with a thread for
//! each connection, and deadpool-sqlite, a pool whose connections are used in the runtime's blocking pool.
//!
//! [`threads`] and [`pool`] are the two as an application would call them. What their closures do with the connection they
//! get is in `litelab_harness::rusqlite`, compiled for the release of rusqlite that both ask for.

mod describe;
mod pool;
mod threads;

use std::process::ExitCode;

use litelab_harness::Driver;
use litelab_protocol::Executor;

use crate::pool::Deadpool;
use crate::threads::TokioRusqlite;

fn main() -> ExitCode {
    let threads = Driver::library::<TokioRusqlite>(
        "tokio-rusqlite",
        describe::tokio_rusqlite,
        &[Executor::Dedicated],
        &["per-worker", "shared", "pool", "write-lock", "split"],
    );
    // A connection for each worker would be a pool that is none.
    let pool = Driver::library::<Deadpool>(
        "deadpool-sqlite",
        describe::deadpool_sqlite,
        &[Executor::Offload],
        &["shared", "pool", "split"],
    );
    litelab_harness::main("tokio", [threads, pool])
}
