//! The reference runner: trials on rusqlite. `docs/PROTOCOL.md` is its contract, and all of it but the driver is in
//! `runners/harness`.
//!
//! [`statement`] is the driver under measurement, [`execute`] what it does with a statement; [`connect`] sets its
//! connections, [`describe`] says which builds they are. [`layer`] is access `group-commit`: `onewriter` over the same
//! library, with [`cached`] as what its closures see. `runners/tokio` and `runners/async-sqlite` compile the parts that are
//! not the driver's own for the releases of rusqlite that their libraries ask for.

mod cached;
mod connect;
mod describe;
mod execute;
mod fault;
mod layer;
mod row;
mod statement;

use std::process::ExitCode;

use litelab_harness::Driver;

use crate::layer::Layer;
use crate::statement::Rusqlite;

fn main() -> ExitCode {
    litelab_harness::main("rusqlite", [Driver::new::<Rusqlite>("rusqlite", describe::about).group::<Layer>()])
}
