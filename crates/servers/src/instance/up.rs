//! Servers that outlive the command that started them: up, down, status.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::process::Process;
use super::{Instance, Node, Options, STOP, State, place};
use crate::{Kind, ServersError};

/// Default folder of a server of this kind, below the current directory.
#[must_use]
pub fn default_folder(kind: Kind) -> PathBuf {
    Path::new("litelab-servers").join(kind.name())
}

/// Condition of the server in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All processes run.
    Up,
    /// Some processes do not run, or the server is starting.
    Partly,
    /// No process runs, but the folder exists: the server has ended without [`down`] (for example at a power loss).
    Stale,
}

/// Starts a server that outlives this process, unless it is up. Returns its state, and the condition in which it was
/// found, if there was one. The remains of a server that was [`Condition::Stale`] are removed.
///
/// # Errors
/// As [`Instance::start`], and a folder that contains another server.
pub fn up(kind: Kind, folder: &Path, options: &Options<'_>) -> Result<(State, Option<Condition>), ServersError> {
    let former = match status(kind, folder)? {
        Some((state, Condition::Up)) => return Ok((state, Some(Condition::Up))),
        Some((state, Condition::Partly)) if is_starting(&state) => return Err(starting(kind, folder)),
        Some((state, Condition::Partly)) => {
            let living = state.nodes.iter().filter(|n| n.lives()).count();
            let why = format!(
                "{living} of {} servers of {kind} run there: end them first (litelab servers down {kind})",
                state.nodes.len()
            );
            return Err(ServersError::Folder { path: folder.into(), why });
        }
        Some((state, Condition::Stale)) => {
            place::remove(folder, &state)?;
            Some(Condition::Stale)
        }
        None => None,
    };
    match Instance::start(kind, folder, options) {
        Ok(instance) => Ok((instance.keep(), former)),
        Err(e) => {
            remove_parent(kind, folder);
            Err(e)
        }
    }
}

/// Stops the server of a folder, waits until its processes are gone, and removes the folder. Returns the condition in
/// which it was found; `None` if there was no server.
///
/// # Errors
/// A folder that contains another kind of server, or that cannot be removed.
pub fn down(kind: Kind, folder: &Path) -> Result<Option<Condition>, ServersError> {
    let Some((state, former)) = status(kind, folder)? else { return Ok(None) };
    if is_starting(&state) {
        return Err(starting(kind, folder));
    }
    end(&state, &mut || ());
    place::remove(folder, &state)?;
    remove_parent(kind, folder);
    Ok(Some(former))
}

/// Removes the common folder of all servers with the last of them.
fn remove_parent(kind: Kind, folder: &Path) {
    if let Some(parent) = folder.parent().filter(|_| folder == default_folder(kind)) {
        let _others = std::fs::remove_dir(parent);
    }
}

/// Whether another process is starting the server.
fn is_starting(state: &State) -> bool {
    let another = |starter: &Process| starter.lives() && starter.pid != std::process::id();
    state.version.is_empty() && state.starter.as_ref().is_some_and(another)
}

fn starting(kind: Kind, folder: &Path) -> ServersError {
    ServersError::Folder { path: folder.into(), why: format!("another litelab is starting {kind} there") }
}

/// Returns state and condition of the server in a folder; `None` if there is none.
///
/// # Errors
/// A folder that contains another kind of server, or a state that cannot be read.
pub fn status(kind: Kind, folder: &Path) -> Result<Option<(State, Condition)>, ServersError> {
    let Some(state) = State::read(folder)? else { return Ok(None) };
    if state.kind != kind {
        let why = format!("a {} lives there, no {kind}", state.kind);
        return Err(ServersError::Folder { path: folder.into(), why });
    }
    let condition = if state.is_up() {
        Condition::Up
    } else if state.nodes.iter().any(Node::lives) || is_starting(&state) {
        Condition::Partly
    } else {
        Condition::Stale
    };
    Ok(Some((state, condition)))
}

/// Ends all processes of a server: by its shutdown signal first, then by SIGKILL. `reap` must reap those that are
/// children of this process.
pub(super) fn end(state: &State, reap: &mut dyn FnMut()) {
    let processes: Vec<_> = state.nodes.iter().filter_map(|n| n.process.as_ref()).collect();
    let gentle = match state.kind {
        // See `postgres::SIGNAL`, `mariadb::SIGNAL`.
        Kind::Postgres => Signal::INT,
        Kind::Mariadb | Kind::Galera => Signal::TERM,
    };
    // A server that never came up has nothing to write, and a node that waits for its data does not even handle the
    // signal.
    let patience = if state.version.is_empty() { STOP / 10 } else { STOP };
    // A stopped server would not handle the signal.
    for process in &processes {
        process.signal(Signal::CONT);
    }
    for (signal, patience) in [(gentle, patience), (Signal::KILL, STOP)] {
        let children: Vec<_> = processes.iter().flat_map(|process| process.signal(signal)).collect();
        let deadline = Instant::now() + patience;
        for process in processes.iter().copied().chain(&children) {
            // A zombie counts as ended.
            let _killed_next = process.ends_within(deadline.saturating_duration_since(Instant::now()));
        }
        reap();
        if processes.iter().all(|p| !p.lives()) {
            return;
        }
    }
    // A process that SIGKILL does not end is waiting for a disk.
    std::thread::sleep(Duration::from_millis(100));
}
