//! A runner for sqlx, an asynchronous library with one thread for each connection, and for [`apalis`], a task queue on
//! the same release of it.
//!
//! [`pool`] opens and lends connections as an application does, [`session`] is a connection, [`row`] a fetched row.

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
    let sqlx = Driver::library::<pool::Sqlx>("sqlx", || describe::about("sqlx"), &[Executor::Dedicated]);
    litelab_harness::main("sqlx", [sqlx, apalis::driver()])
}
