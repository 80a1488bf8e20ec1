//! All of a Rust runner but its drivers: `docs/PROTOCOL.md` is the contract that both keep together.
//!
//! A driver is a [`Session`] that one can [`Open`], [`Hosted`] by a library that keeps its connections itself, or
//! [`Awaited`] call by call; the `main` of a runner hands a list of [`Driver`]s to [`main`]. `src/bin/scripted.rs` is the
//! shortest runner there is.
//!
//! Read in this order: `session` is what a driver offers; `trial` opens, says `ready` and the result; `stage` is what the
//! workers of a trial have in common, `threads` starts them; `lookout` is what the first thread does meanwhile; `worker` is the
//! loop, which writes down at its `desk` what it does; `transaction` is one execution; `noop` is the driver that calls nothing. Where the host program is asynchronous: `runtime` starts the
//! workers, `tasks` is the loop, `pulse` looks on from inside; `blocking`, `hosted` and `awaited` are the ways to a
//! connection, and `crew` is one such host. `group` is the way through a layer that makes writers share commits, `joined` the
//! same in an asynchronous program.
//!
//! Whatever runs once per transaction is `#[inline]` or compiled for the driver, so that it becomes part of the loop without
//! link-time optimisation.

mod access;
mod awaited;
mod blocking;
mod check;
mod clock;
mod crew;
mod desk;
mod driver;
mod fault;
mod group;
mod hosted;
mod inspect;
mod joined;
mod lookout;
mod noop;
mod params;
mod probe;
mod pulse;
mod record;
mod row;
mod runtime;
#[cfg(feature = "rusqlite")]
pub mod rusqlite;
mod schedule;
mod session;
mod stage;
mod tasks;
#[cfg(feature = "testing")]
pub mod testing;
mod threads;
mod transaction;
mod trial;
mod work;
mod worker;

use std::io::Write;
use std::process::ExitCode;

use litelab_protocol::{Description, Inspect, Line, VERSION};
use serde::Serialize;

pub use awaited::{Account, Awaited, AwaitedSession};
pub use clock::Clock;
pub use driver::{About, Driver, locked_version};
pub use fault::Fault;
pub use group::{Group, Side};
pub use hosted::Hosted;
pub use params::{Bound, Slot, Values};
pub use row::{Column, Row, utf8};
pub use runtime::waiting;
pub use session::{Call, Effect, Open, Session, refuse_options};
pub use work::Job;

/// The `main` of a runner's program: the verb is its first argument.
pub fn main(runner: &str, drivers: impl IntoIterator<Item = Driver>) -> ExitCode {
    run_verb(runner, std::env::args().nth(1).as_deref(), drivers)
}

/// Runs a verb of the protocol (`describe`, `run` or `inspect`) on standard input and output, with these drivers and `noop`.
pub fn run_verb(runner: &str, verb: Option<&str>, drivers: impl IntoIterator<Item = Driver>) -> ExitCode {
    let drivers: Vec<Driver> = drivers.into_iter().chain([Driver::noop()]).collect();
    match verb {
        Some("describe") => reply(describe(runner, &drivers)),
        Some("inspect") => reply(read_inspect().and_then(|request| inspect::inspect(&request, &drivers))),
        Some("run") => run(&drivers),
        _ => {
            eprintln!("usage: runner `{runner}` describe|run|inspect");
            ExitCode::from(2)
        }
    }
}

fn describe(runner: &str, drivers: &[Driver]) -> Result<Description, Fault> {
    Ok(Description {
        protocol: VERSION,
        runner: runner.into(),
        language: "rust".into(),
        // The compiler of this library is that of the whole runner.
        runtime: env!("HARNESS_RUSTC").into(),
        drivers: drivers.iter().map(Driver::describe).collect::<Result<_, _>>()?,
    })
}

fn run(drivers: &[Driver]) -> ExitCode {
    match trial::run(&mut std::io::stdin().lock(), drivers) {
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
