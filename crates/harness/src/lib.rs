//! The parts that Rust runners share: everything except drivers. `docs/reference/protocol.md` is the contract.
//!
//! A driver is a [`Session`] that the harness can [`Open`], or a [`Library`] that keeps its connections itself and runs
//! requests on a [`Session`] or an [`AsyncSession`]. A [`GroupCommit`] layer adds sharing `group-commit`. The `main` of
//! a runner passes a list of [`Driver`]s to [`main`]. `src/bin/scripted.rs` is the shortest runner.
//!
//! `verb` implements the verbs. `connections` determines the connections of a trial; `sharing` opens and shares those
//! of drivers whose calls block, `library` those of libraries. `state` is shared by the workers, `worker` is the loop
//! of one worker in a thread or a task, and `transaction` executes one transaction. `threads` and `runtime` start the
//! workers; while they work, `monitor` sends ticks and `tally` holds the counts.
//!
//! | executor | where a call of a [`Session`] runs |
//! |---|---|
//! | `threads`, `processes` | in the worker's thread |
//! | `inline` | in the runtime's thread that runs the worker's task |
//! | `offload` | in the runtime's pool of blocking threads |
//! | `dedicated` | in `library::DedicatedThreads`, one for each connection |
//!
//! Code that runs once per transaction is `#[inline]` or compiled for each driver, so that the compiler inlines it into
//! the loop without link-time optimisation.

mod check;
mod clock;
mod connections;
mod conversation;
mod driver;
mod fault;
mod inspect;
mod library;
mod monitor;
mod noop;
mod params;
mod probe;
mod record;
mod retry;
mod row;
mod runtime;
mod runtime_probe;
#[cfg(feature = "rusqlite")]
pub mod rusqlite;
mod schedule;
mod session;
mod sharing;
mod state;
mod tally;
#[cfg(feature = "testing")]
pub mod testing;
mod threads;
mod transaction;
mod upgrade;
mod verb;
mod work;
mod worker;

use std::process::ExitCode;

use serde::Serialize;

pub use clock::Clock;
pub use connections::{Setup, settings_at_end};
pub use driver::{About, Driver, locked_version};
pub use fault::Fault;
pub use library::{Account, GroupCommit, Library, Reply, Request};
pub use params::{Bound, Values};
pub use row::{Column, Row, utf8};
pub use runtime::waiting;
pub use session::{AsyncSession, Call, Execution, Open, Session, Settings, refuse_options};
pub use threads::panicked;
pub use work::{Job, prepare_each};

pub use litelab_protocol::draw::Drawn;

/// The `main` of a runner's program; its first argument is the verb.
pub fn main(runner: &str, drivers: impl IntoIterator<Item = Driver>) -> ExitCode {
    run_verb(runner, std::env::args().nth(1).as_deref(), drivers)
}

/// Runs a verb of the protocol (`describe`, `run` or `inspect`) on standard input and output, with these drivers and
/// `noop`.
pub fn run_verb(runner: &str, verb: Option<&str>, drivers: impl IntoIterator<Item = Driver>) -> ExitCode {
    let drivers: Vec<Driver> = drivers.into_iter().chain([Driver::noop()]).collect();
    let input = &mut std::io::stdin().lock();
    match verb {
        Some("describe") => reply(verb::describe(runner, &drivers)),
        Some("inspect") => reply(verb::inspect(input, &drivers)),
        Some("run") => match verb::run(input, &drivers) {
            Ok(()) => ExitCode::SUCCESS,
            Err(fault) => conversation::exit_failed(fault),
        },
        _ => {
            eprintln!("usage: runner `{runner}` describe|run|inspect");
            ExitCode::from(2)
        }
    }
}

fn reply<T: Serialize>(answer: Result<T, Fault>) -> ExitCode {
    match answer.and_then(|answer| conversation::send(&answer)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}
