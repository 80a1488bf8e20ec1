//! Both libraries, by what every such library has to do.

mod cases;
mod common;

use common::*;
use litelab_protocol::Executor;

pub(crate) const RUNNER: Program = Program(env!("CARGO_BIN_EXE_litelab-runner-tokio"));

pub(crate) const DRIVERS: &[(&str, Executor, &[&str])] = &[
    ("tokio-rusqlite", Executor::Dedicated, &["per-worker", "shared", "pool", "write-lock", "split"]),
    ("deadpool-sqlite", Executor::Offload, &["shared", "pool", "split"]),
];
