//! A runner for async-sqlite: threads that own a connection of rusqlite each, for a program under any asynchronous runtime.
//!
//! [`pool`] is the library as an application would call it. It asks for another release of rusqlite than those of
//! `runners/tokio`, so it has a program of its own; what is done with a connection is the same.

mod describe;
mod pool;

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

use crate::pool::AsyncSqlite;

fn main() -> ExitCode {
    let driver = Driver::hosted::<AsyncSqlite>(
        "async-sqlite",
        describe::about,
        &[Executor::Dedicated],
        &["per-worker", "shared", "pool", "write-lock", "split"],
    );
    litelab_harness::main("async-sqlite", [driver])
}
