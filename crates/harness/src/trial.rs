//! The verb `run`: open everything, say `ready`, wait for `go`, let the workers work, say `result`.

use std::io::BufRead;

use litelab_protocol::{Access, ConnectionSettings, Database, Executor, Line, Ready, Trial};

use crate::access::{self, Opened, Shared};
use crate::blocking::{Inline, Offload};
use crate::crew::Crew;
use crate::driver::{self, Driver};
use crate::fault::Fault;
use crate::session::Open;
use crate::stage::Stage;
use crate::{blocking, check, hosted, say, threads};

/// Runs the trial on the first line. Input that ends before `go` is no error: nothing is run.
pub fn run(input: &mut dyn BufRead, drivers: &[Driver]) -> Result<(), Fault> {
    let Some(line) = next_line(input)? else { return Ok(()) };
    let trial: Trial = serde_json::from_str(&line).map_err(|e| Fault::Other(format!("not a trial: {e}")))?;
    check::protocol(&trial)?;
    let driver = driver::find(drivers, &trial.driver)?;
    check::driver(&trial, driver)?;
    check::roles(&trial)?;
    match driver.group.filter(|_| matches!(trial.access, Access::GroupCommit { .. })) {
        Some(run) => run(&trial, input),
        None => (driver.run)(&trial, input),
    }
}

/// The trial on one driver.
pub fn with<S: Open>(trial: &Trial, input: &mut dyn BufRead) -> Result<(), Fault> {
    match trial.executor {
        Executor::Threads | Executor::Processes => in_threads::<S>(trial, input),
        Executor::Inline => blocking::run::<S, Inline<S>>(trial, input),
        Executor::Offload => blocking::run::<S, Offload<S>>(trial, input),
        Executor::Dedicated => hosted::run::<Crew<S>>(trial, input),
    }
}

fn in_threads<S: Open>(trial: &Trial, input: &mut dyn BufRead) -> Result<(), Fault> {
    let stage = Stage::new(trial)?;
    let (shared, own, connections) = open::<S>(trial)?;
    let workers = stage.workers(stage.handles(&shared, own))?;
    if !ready_and_go(connections, input)? {
        return Ok(());
    }
    let (done, probe) = threads::run(&stage, workers);
    let result = stage.result(probe);
    let own = done.into_iter().map(|worker| (worker.id.database, worker.handle));
    let own: Vec<_> = own.filter_map(|(database, handle)| Some((database, handle.into_own()?))).collect();
    close(trial, shared, own)?;
    say(&Line::Result(Box::new(result)))
}

/// The connections that are shared and those of the workers' own, by database, and what is set on all of them.
pub type AllOpened<S> = (Vec<Shared<S>>, Vec<Vec<S>>, Vec<ConnectionSettings>);

/// Opens, sets, fills and prepares the connections to all databases.
pub fn open<S: Open>(trial: &Trial) -> Result<AllOpened<S>, Fault> {
    let (mut shared, mut own, mut connections) = AllOpened::<S>::default();
    for database in 0..trial.databases.len() {
        let opened: Opened<S> = access::open(trial, database)?;
        connections.extend(opened.settings);
        shared.push(opened.shared);
        own.push(opened.own);
    }
    Ok((shared, own, connections))
}

/// Says `ready`, and waits. False when the input ends before `go`.
pub fn ready_and_go(connections: Vec<ConnectionSettings>, input: &mut dyn BufRead) -> Result<bool, Fault> {
    say(&Line::Ready(Ready { connections }))?;
    wait_for_go(input)
}

/// Runs `teardown` on the first connection of each database, and closes them all. `own` are the workers' with the index
/// of their database.
pub fn close<S: Open>(trial: &Trial, shared: Vec<Shared<S>>, own: Vec<(usize, S)>) -> Result<(), Fault> {
    let mut sessions: Vec<Vec<S>> = shared.into_iter().map(Shared::into_sessions).collect();
    for (database, session) in own {
        sessions[database].push(session);
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
