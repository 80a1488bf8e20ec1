//! A runner for sqlx, asynchronous calls with a thread of the library's own for each connection, and for what is built on the
//! same release of it: [`apalis`], a task queue.
//!
//! [`pool`] opens and lends connections as an application does, [`session`] is one of them, [`row`] a row that was
//! fetched.

mod apalis;
mod describe;
mod fault;
mod pool;
mod row;
mod session;

use std::process::ExitCode;

use litelab_harness::Driver;
use litelab_protocol::Executor;

fn main() -> ExitCode {
    let accesses = &["per-worker", "shared", "pool", "write-lock", "split"];
    let sqlx = Driver::library::<pool::Sqlx>("sqlx", describe::about, &[Executor::Dedicated], accesses);
    litelab_harness::main("sqlx", [sqlx, apalis::driver()])
}
