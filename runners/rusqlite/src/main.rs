//! The reference runner: trials on rusqlite. `docs/PROTOCOL.md` is its contract, and all of it but the driver is in
//! `runners/harness`.
//!
//! [`statement`] is the driver under measurement, [`connect`] opens and sets its connections, [`describe`] says which
//! builds they are.

mod connect;
mod describe;
mod fault;
mod row;
mod statement;

use std::process::ExitCode;

use litelab_harness::Driver;

use crate::statement::Rusqlite;

fn main() -> ExitCode {
    litelab_harness::main("rusqlite", [Driver::new::<Rusqlite>("rusqlite", describe::about)])
}
