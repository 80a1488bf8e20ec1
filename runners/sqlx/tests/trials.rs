//! The library, by what every such library has to do.

#[path = "../../tokio/tests/cases/mod.rs"]
mod cases;
#[path = "../../tokio/tests/common/mod.rs"]
mod common;

use common::*;
use litelab_protocol::Executor;

pub(crate) const RUNNER: Program = Program(env!("CARGO_BIN_EXE_litelab-runner-sqlx"));

pub(crate) const DRIVERS: &[(&str, Executor, &[&str])] =
    &[("sqlx", Executor::Dedicated, &["per-worker", "shared", "pool", "write-lock", "split"])];
