//! A runner for sqlx: asynchronous calls, a thread of the library's own for each connection.
//!
//! [`pool`] opens and lends connections as an application does, [`session`] is one of them, [`row`] a row that was
//! fetched.

mod describe;
mod fault;
mod pool;
mod row;
mod session;

use std::process::ExitCode;

use litelab_harness::Driver;

fn main() -> ExitCode {
    let accesses = &["per-worker", "shared", "pool", "write-lock", "split"];
    litelab_harness::main("sqlx", [Driver::awaited::<pool::Sqlx>("sqlx", describe::about, accesses)])
}
