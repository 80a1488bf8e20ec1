//! A runner for duroxide with the provider `duroxide-onewriter`, which writes through one connection and commits
//! pending writes together; and with the same provider without storage, which is the upper bound of any provider.
//!
//! Everything except the provider is that of the runner `duroxide`. It is a separate program because duroxide's SQLite
//! provider needs another version of SQLite, and a program can contain only one.

#![forbid(unsafe_code)]

mod describe;
mod ours;

use std::process::ExitCode;

use litelab_harness::Driver;
use litelab_orchestration::{Orchestrator, interface};
use litelab_protocol::Executor;

use crate::ours::Ours;

fn main() -> ExitCode {
    let executors = &[Executor::Dedicated];
    let ours = Driver::library::<Orchestrator<Ours<false>>>("duroxide-onewriter", describe::ours, executors);
    let ceiling = Driver::library::<Orchestrator<Ours<true>>>("duroxide-ceiling", describe::ceiling, executors);
    let drivers = [ours, ceiling].map(|driver| driver.sharings(&["group-commit"]).interface(interface()));
    litelab_harness::main("duroxide-onewriter", drivers)
}
