//! A runner for libraries that call SQLite through rusqlite in programs under tokio: tokio-rusqlite, with a thread for
//! each connection, and deadpool-sqlite, a pool whose connections are used in the runtime's blocking pool.
//!
//! [`threads`] and [`pool`] use the two libraries as an application would. The closures that they run on a connection
//! are in `litelab_harness::rusqlite`, compiled for the release of rusqlite that both require.

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
        &["own-connection", "one-connection", "pool", "app-lock", "writer-readers"],
    );
    // One connection for each worker would leave nothing to pool.
    let pool = Driver::library::<Deadpool>(
        "deadpool-sqlite",
        describe::deadpool_sqlite,
        &[Executor::Offload],
        &["one-connection", "pool", "writer-readers"],
    );
    litelab_harness::main("tokio", [threads, pool])
}
