//! The verbs of the protocol.

use std::io::BufRead;

use litelab_protocol::{Description, Inspect, Inspection, Sharing, Trial, VERSION};

use crate::check;
use crate::conversation::next_line;
use crate::driver::{self, Driver};
use crate::fault::Fault;
use crate::noop::NOOP;
use crate::state::TrialState;

/// `describe`: the drivers, and what each can do.
pub fn describe(runner: &str, drivers: &[Driver]) -> Result<Description, Fault> {
    Ok(Description {
        protocol: VERSION,
        runner: runner.into(),
        language: "rust".into(),
        // The compiler of this library also compiled the runner.
        runtime: env!("HARNESS_RUSTC").into(),
        drivers: drivers.iter().map(Driver::describe).collect::<Result<_, _>>()?,
    })
}

/// `inspect`: opens all connections at the same time, as an application does, and reads their settings.
pub fn inspect(input: &mut dyn BufRead, drivers: &[Driver]) -> Result<Inspection, Fault> {
    let line = next_line(input)?.unwrap_or_default();
    let request: Inspect =
        serde_json::from_str(&line).map_err(|e| Fault::Other(format!("not an inspect request: {e}")))?;
    check::protocol(request.protocol)?;
    let driver = driver::find(drivers, &request.driver)?;
    if request.dsn.is_some() && (driver.interface.is_some() || driver.name == NOOP) {
        let reason = format!("driver `{}` opens no SQLite database by a data source name (`dsn`)", driver.name);
        return Err(Fault::Other(reason));
    }
    (driver.inspect)(&request)
}

/// `run`: runs the trial in the first line. If the input ends before `go`, nothing runs and no error is returned.
pub fn run(input: &mut dyn BufRead, drivers: &[Driver]) -> Result<(), Fault> {
    let Some(line) = next_line(input)? else { return Ok(()) };
    let trial: Trial = serde_json::from_str(&line).map_err(|e| Fault::Other(format!("not a trial: {e}")))?;
    check::protocol(trial.protocol)?;
    let driver = driver::find(drivers, &trial.driver)?;
    check::driver(&trial, driver)?;
    check::roles(&trial)?;
    let group_commit = driver.group_commit.filter(|_| matches!(trial.sharing, Sharing::GroupCommit { .. }));
    group_commit.unwrap_or(driver.run)(TrialState::new(trial)?, input)
}
