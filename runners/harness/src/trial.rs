//! The verb `run`: open everything, say `ready`, wait for `go`, let the workers work, say `result`.

use std::io::BufRead;

use litelab_protocol::{Database, Line, Ready, Trial};

use crate::access::{self, Opened, Shared};
use crate::clock::Tuning;
use crate::driver::{self, Driver};
use crate::fault::Fault;
use crate::record::Board;
use crate::session::Session;
use crate::stage::Stage;
use crate::watch::Watch;
use crate::worker::Done;
use crate::{check, say, threads};

/// Runs the trial on the first line. Input that ends before `go` is no error: nothing is run.
pub fn run(input: &mut dyn BufRead, drivers: &[Driver]) -> Result<(), Fault> {
    let Some(line) = next_line(input)? else { return Ok(()) };
    let trial: Trial = serde_json::from_str(&line).map_err(|e| Fault::Other(format!("not a trial: {e}")))?;
    check::protocol(&trial)?;
    let driver = driver::find(drivers, &trial.driver)?;
    check::driver(&trial, driver)?;
    check::roles(&trial)?;
    (driver.run)(&trial, input)
}

/// The trial on one driver.
pub fn with<S: Session>(trial: &Trial, input: &mut dyn BufRead) -> Result<(), Fault> {
    let board = Board::new(trial)?;
    let watch = Watch::begin(trial, &board)?;
    let tuning = Tuning::begin();
    let stage = Stage::new(trial, board)?;
    let mut ready = Ready::default();
    let mut shared: Vec<Shared<S>> = Vec::new();
    let mut own = Vec::new();
    for database in 0..trial.databases.len() {
        let opened: Opened<S> = access::open(trial, database)?;
        ready.connections.extend(opened.settings);
        shared.push(opened.shared);
        own.push(opened.own);
    }
    let workers = stage.workers(&shared, own)?;
    let rate = tuning.finish();
    say(&Line::Ready(ready))?;
    if !wait_for_go(input)? {
        return Ok(());
    }
    let (done, probe) = threads::run(&stage, workers, rate, watch)?;
    let result = stage.result(&done, probe);
    close(trial, shared, done)?;
    say(&Line::Result(Box::new(result)))
}

/// Runs `teardown` on the first connection of each database, and closes them all.
fn close<S: Session>(trial: &Trial, shared: Vec<Shared<S>>, done: Vec<Done<S>>) -> Result<(), Fault> {
    let mut sessions: Vec<Vec<S>> = shared.into_iter().map(Shared::into_sessions).collect();
    for worker in done {
        sessions[worker.id.database].extend(worker.session);
    }
    for (database, sessions) in trial.databases.iter().zip(&mut sessions) {
        if let (Database::Memory { teardown, .. }, Some(first)) = (database, sessions.first_mut()) {
            first.script(teardown)?;
        }
    }
    Ok(())
}

fn next_line(input: &mut dyn BufRead) -> Result<Option<String>, Fault> {
    let mut line = String::new();
    let read = input.read_line(&mut line).map_err(Fault::other)?;
    Ok((read > 0).then_some(line))
}

fn wait_for_go(input: &mut dyn BufRead) -> Result<bool, Fault> {
    let Some(line) = next_line(input)? else { return Ok(false) };
    let message: serde_json::Value = serde_json::from_str(&line).map_err(Fault::other)?;
    if message["type"] == "go" { Ok(true) } else { Err(Fault::Other(format!("`{}` is not go", line.trim()))) }
}
