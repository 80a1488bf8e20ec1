//! Servers that outlive the command that started them: up, down, status.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Instance, Options, STOP, State, place};
use crate::{Kind, ServersError};

/// Default folder of a server of this kind, below the current directory.
#[must_use]
pub fn default_folder(kind: Kind) -> PathBuf {
    Path::new("litelab-servers").join(kind.name())
}

/// Result of [`up`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Up {
    /// The server was started.
    Started(State),
    /// The server was started, after the remains of an earlier one were removed that had ended without [`down`] (for
    /// example at a power loss).
    StartedAnew(State),
    /// The server was already running.
    Already(State),
}

/// Result of [`down`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Down {
    /// The server was stopped and its folder removed.
    Stopped(State),
    /// No process was left; the folder was removed.
    Removed(State),
    /// There was no server.
    Nothing,
}

/// Result of [`status`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// All processes run.
    Up(State),
    /// Some processes do not run, or the server is starting.
    Partly(State),
    /// No process runs, but the folder exists.
    Stale(State),
    /// There is no server.
    Nothing,
}

/// Starts a server that outlives this process.
///
/// # Errors
/// As [`Instance::start`], and a folder that contains another server.
pub fn up(kind: Kind, folder: &Path, options: &Options<'_>) -> Result<Up, ServersError> {
    let anew = match status(kind, folder)? {
        Status::Up(state) => return Ok(Up::Already(state)),
        Status::Partly(state) => {
            let living = state.nodes.iter().filter(|n| n.lives()).count();
            let why = format!(
                "{living} of {} servers of {kind} run there: end them first (litelab servers down {kind})",
                state.nodes.len()
            );
            return Err(ServersError::Folder { path: folder.into(), why });
        }
        Status::Stale(state) => {
            place::remove(folder, &state)?;
            true
        }
        Status::Nothing => false,
    };
    let state = match Instance::start_with(kind, folder, options) {
        Ok(instance) => instance.keep(),
        Err(e) => {
            remove_parent(kind, folder);
            return Err(e);
        }
    };
    Ok(if anew { Up::StartedAnew(state) } else { Up::Started(state) })
}

/// Stops the server of a folder, waits until its processes are gone, and removes the folder.
///
/// # Errors
/// A folder that contains another kind of server, or that cannot be removed.
pub fn down(kind: Kind, folder: &Path) -> Result<Down, ServersError> {
    let (state, stale) = match status(kind, folder)? {
        Status::Nothing => return Ok(Down::Nothing),
        Status::Stale(state) => (state, true),
        Status::Up(state) | Status::Partly(state) => (state, false),
    };
    end(&state, &mut || ());
    place::remove(folder, &state)?;
    remove_parent(kind, folder);
    Ok(if stale { Down::Removed(state) } else { Down::Stopped(state) })
}

/// Removes the common folder of all servers with the last of them.
fn remove_parent(kind: Kind, folder: &Path) {
    if let Some(parent) = folder.parent().filter(|_| folder == default_folder(kind)) {
        let _others = std::fs::remove_dir(parent);
    }
}

/// Returns the status of the server in a folder.
///
/// # Errors
/// A folder that contains another kind of server, or a state that cannot be read.
pub fn status(kind: Kind, folder: &Path) -> Result<Status, ServersError> {
    let Some(state) = State::read(folder)? else { return Ok(Status::Nothing) };
    if state.kind != kind {
        let why = format!("a {} lives there, no {kind}", state.kind);
        return Err(ServersError::Folder { path: folder.into(), why });
    }
    let living = state.nodes.iter().filter(|n| n.lives()).count();
    Ok(if state.is_up() {
        Status::Up(state)
    } else if living > 0 {
        Status::Partly(state)
    } else {
        Status::Stale(state)
    })
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
    processes.iter().for_each(|process| process.signal(Signal::CONT));
    for (signal, patience) in [(gentle, patience), (Signal::KILL, STOP)] {
        for process in &processes {
            process.signal(signal);
        }
        let deadline = Instant::now() + patience;
        for process in &processes {
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
