//! A runner for duroxide with a provider of our own, `duroxide-onewriter`, which writes through one connection and commits
//! what is pending together; and with the same provider without storage, which is the ceiling of any.
//!
//! Everything but the provider is that of the runner `duroxide`. It is a program of its own because duroxide's SQLite provider
//! needs another SQLite, of which a program has one.

#![forbid(unsafe_code)]

mod describe;
mod ours;

use std::process::ExitCode;

use litelab_harness::Driver;
use litelab_orchestration::{Orchestrator, interface};
use litelab_protocol::Executor;

use crate::ours::{Ceiling, OneWriter};

const ACCESSES: [&str; 1] = ["group-commit"];

fn main() -> ExitCode {
    let executors = &[Executor::Dedicated];
    let ours = Driver::library::<Orchestrator<OneWriter>>("duroxide-onewriter", describe::ours, executors, &ACCESSES);
    let ceiling = Driver::library::<Orchestrator<Ceiling>>("duroxide-ceiling", describe::ceiling, executors, &ACCESSES);
    let drivers = [ours, ceiling].map(|driver| driver.interface(interface()));
    litelab_harness::main("duroxide-onewriter", drivers)
}
