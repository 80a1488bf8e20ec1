//! The verb `run`: open everything, say `ready`, wait for `go`, let the workers work, say `result`.

use std::io::BufRead;
use std::time::{Duration, Instant};

use litelab_protocol::{Access, ConnectionSettings, Database, Executor, Line, Ready, Trial};

use crate::access::{self, Opened, Shared};
use crate::blocking::{Inline, Offload};
use crate::crew::Crew;
use crate::driver::{self, Driver};
use crate::fault::Fault;
use crate::hosted::Settings;
use crate::session::Open;
use crate::stage::Stage;
use crate::worker::Id;
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
    let mut result = stage.result(probe);
    let own = done.into_iter().filter_map(|worker| Some((worker.id, worker.handle.into_own()?))).collect();
    result.connections = close(trial, shared, own)?;
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

/// Asks each connection once more for its settings, runs `teardown` on the first connection of each database, and closes
/// them all. `own` are the workers'.
pub fn close<S: Open>(
    trial: &Trial,
    shared: Vec<Shared<S>>,
    own: Vec<(Id, S)>,
) -> Result<Vec<ConnectionSettings>, Fault> {
    let mut sessions: Vec<Vec<(&str, S)>> = shared.into_iter().map(Shared::into_sessions).collect();
    for (id, session) in own {
        sessions[id.database].push((&trial.roles[id.role].name, session));
    }
    let mut connections = Vec::new();
    for (index, (database, sessions)) in trial.databases.iter().zip(&mut sessions).enumerate() {
        for (label, session) in sessions.iter_mut() {
            let settings = settings_at_end(|| session.settings(&trial.connection.read_back))?;
            connections.push(ConnectionSettings { database: index as u32, label: (*label).into(), settings });
        }
        if let (Database::Memory { teardown, .. }, Some((_, first))) = (database, sessions.first_mut()) {
            first.script(teardown)?;
        }
    }
    Ok(connections)
}

/// How long a lock is waited for that another process of the trial holds, or another connection that is still open.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is set on a connection at the trial's end; nothing where SQLite does not let itself be asked, as of a file that is no
/// database any more: what became of that the core sees for itself.
pub fn settings_at_end(mut ask: impl FnMut() -> Result<Settings, Fault>) -> Result<Settings, Fault> {
    let begun = Instant::now();
    loop {
        match ask() {
            Err(Fault::Sqlite { code, .. }) if is_locked(code) && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(Fault::Sqlite { .. }) => return Ok(Settings::new()),
            asked => return asked,
        }
    }
}

/// Whether it is an error that passes: `SQLITE_BUSY`, or `SQLITE_LOCKED` between connections of one shared cache.
fn is_locked(code: i32) -> bool {
    matches!(code & 0xFF, 5 | 6)
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
