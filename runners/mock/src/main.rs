//! The mock runner, which plays scripts with exact timings or falsifies results. It measures nothing; it is used to
//! test the core and the conformance suite.
//!
//! The drivers `scripted` and `noop` run in virtual time and do not touch the trial's databases: [`script`] parses
//! their input, [`simulate`] plays it. Every other driver is a [`fault`]: an honest runner does the work, and [`proxy`]
//! falsifies the messages between it and the core.
//!
//! `--protocol=N` before the verb makes `describe` claim another version of the protocol.

mod describe;
mod fault;
mod honest;
mod library;
mod proxy;
mod script;
mod scripted;
mod server;
mod settings;
mod simulate;

use std::io::{BufRead, Write};
use std::process::ExitCode;

use litelab_protocol::{Failed, Inspect, Inspection, Message, Trial};
use serde::Serialize;

use crate::fault::Fault;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    let claimed = words.next_if(|w| w.starts_with("--protocol=")).and_then(|w| w.split('=').nth(1)?.parse().ok());
    match words.next().as_deref() {
        Some("describe") => {
            say(&describe::describe(claimed.unwrap_or(litelab_protocol::VERSION)));
            ExitCode::SUCCESS
        }
        Some("run") => run().unwrap_or_else(|reason| {
            say(&Message::Failed(Failed { reason, code: None }));
            ExitCode::FAILURE
        }),
        Some("inspect") => match inspect() {
            Ok(inspection) => {
                say(&inspection);
                ExitCode::SUCCESS
            }
            Err(reason) => {
                eprintln!("{reason}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("usage: litelab-runner-mock [--protocol=N] describe|run|inspect");
            ExitCode::from(2)
        }
    }
}

/// The answer of the honest runner, falsified.
fn inspect() -> Result<Inspection, String> {
    let mut request: Inspect = serde_json::from_reader(std::io::stdin().lock()).map_err(|e| e.to_string())?;
    if Fault::named(&request.driver) != Some(Fault::HidesUpgrade) {
        return Err("this driver of the mock runner opens nothing that could be inspected".into());
    }
    request.driver = "rusqlite".into();
    let inspection = honest::inspect(&honest::target(), &request)?;
    Ok(Inspection { upgrade: None, ..inspection })
}

fn run() -> Result<ExitCode, String> {
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    if input.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let trial: Trial = serde_json::from_str(&line).map_err(|e| format!("not a trial: {e}"))?;
    match (trial.driver.as_str(), Fault::named(&trial.driver)) {
        ("scripted" | "noop", _) => scripted::run(&trial, &mut input).map(|()| ExitCode::SUCCESS),
        (_, Some(fault)) => {
            drop(input);
            proxy::run(fault, trial)
        }
        (other, None) => Err(format!("the mock runner has no driver `{other}`")),
    }
}

/// Writes one line. If the core has closed the pipe, the runner exits.
fn say<T: Serialize>(message: &T) {
    let Ok(mut line) = serde_json::to_vec(message) else { return };
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    if out.write_all(&line).and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}
