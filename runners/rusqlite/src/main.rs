//! The reference runner: one trial on rusqlite, driven by JSON on standard input. `docs/PROTOCOL.md` is its contract.
//!
//! Read in this order: [`trial`] opens, starts and reports; [`watch`] looks on; [`worker`] is the loop; [`transaction`]
//! is one execution; [`statement`] is the driver under measurement and [`noop`] the same without a database.

mod access;
mod check;
mod clock;
mod connect;
mod describe;
mod driver;
mod inspect;
mod noop;
mod params;
mod probe;
mod record;
mod region;
mod schedule;
mod statement;
mod transaction;
mod trial;
mod watch;
mod work;
mod worker;

use std::io::Write;
use std::process::ExitCode;

use driver::Fault;
use litelab_protocol::{Inspect, Line};
use serde::Serialize;

/// Names of the drivers, as `describe` lists them.
const RUSQLITE: &str = "rusqlite";
const NOOP: &str = "noop";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("describe") => reply(describe::describe()),
        Some("inspect") => reply(read_inspect().and_then(|request| inspect::inspect(&request))),
        Some("run") => run(),
        _ => {
            eprintln!("usage: litelab-runner-rusqlite describe|run|inspect");
            ExitCode::from(2)
        }
    }
}

fn run() -> ExitCode {
    match trial::run(&mut std::io::stdin().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Nobody is left to tell where even this cannot be written.
            let _told = say(&Line::Failed(fault.into_failed()));
            ExitCode::FAILURE
        }
    }
}

fn read_inspect() -> Result<Inspect, Fault> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(Fault::other)?;
    serde_json::from_str(&line).map_err(|e| Fault::Other(format!("not an inspect request: {e}")))
}

fn reply<T: Serialize>(answer: Result<T, Fault>) -> ExitCode {
    match answer.and_then(|answer| say(&answer)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

/// Writes one line of JSON and flushes it: the core reads while the trial runs.
fn say<T: Serialize>(message: &T) -> Result<(), Fault> {
    let mut line = serde_json::to_vec(message).map_err(Fault::other)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).map_err(Fault::other)
}
