//! A runner for libraries that call SQLite through rusqlite in programs under tokio: tokio-rusqlite, with a thread for
//! each connection, and deadpool-sqlite, a pool whose connections are used in the runtime's blocking pool.
//!
//! [`threads`] and [`pool`] use the two libraries as an application would. The closures that they run on a connection
//! are in `litelab_harness::rusqlite`, compiled for the release of rusqlite that both require.

mod pool;
mod threads;

use std::process::ExitCode;

use litelab_harness::rusqlite::{connect, fault};
use litelab_harness::{About, Driver, Fault, locked_version};
use litelab_protocol::Executor;

use crate::pool::Deadpool;
use crate::threads::TokioRusqlite;

fn main() -> ExitCode {
    let threads =
        Driver::library::<TokioRusqlite>("tokio-rusqlite", || about("tokio-rusqlite"), &[Executor::Dedicated]);
    let pool = Driver::library::<Deadpool>("deadpool-sqlite", || about("deadpool-sqlite"), &[Executor::Offload]);
    // One connection for each worker would leave nothing to pool.
    let pool = pool.sharings(&["one-connection", "pool", "writer-readers"]);
    litelab_harness::main("tokio", [threads, pool])
}

/// Release of a library, and the build of its SQLite.
fn about(package: &str) -> Result<About, Fault> {
    let sqlite = Some(connect::build().map_err(fault)?);
    let version = locked_version(include_str!("../Cargo.lock"), package).unwrap_or("unknown").into();
    Ok(About { version, sqlite })
}
