//! Start of a server: its data directories, then each node, until it answers.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::process::Process;
use super::{Instance, Options, STOP, mariadb, place, ports, postgres};
use crate::{Admin, Kind, ServersError};

/// Longest start of a server.
const START: Duration = Duration::from_secs(120);
/// Interval at which a starting server is queried.
const POLL: Duration = Duration::from_millis(50);
/// Number of attempts, each with other ports.
const ATTEMPTS: usize = 5;

impl Instance {
    /// Creates the data directories with the server's own programs.
    pub(super) fn install(&mut self, options: &Options<'_>) -> Result<(), ServersError> {
        for node in 0..self.state.nodes.len() {
            let folder = self.place.node(node);
            self.place.own_folder(&folder)?;
            self.place.own_folder(&folder.join("tmp"))?;
            self.place.own_folder(&self.place.data(node))?;
        }
        let arguments = match self.state.kind {
            Kind::Postgres => postgres::installation(&self.place)?,
            Kind::Mariadb | Kind::Galera => mariadb::installation(&self.place)?,
        };
        let program = self.place.binaries.install.clone();
        let done = self.run(&program, &arguments, options);
        let _gone = std::fs::remove_file(self.place.secret());
        done.map(drop)
    }

    /// Runs a program to its end and returns its output. The program is killed when its time is over or a stop is
    /// requested.
    fn run(&mut self, program: &Path, arguments: &[String], options: &Options<'_>) -> Result<String, ServersError> {
        let (mut child, process) = self.place.launch(program, arguments, Stdio::piped(), Stdio::piped())?;
        // An unfinished installation is useless, so that the program may be killed.
        self.open_gate(&mut child, &process, "KILL")?;
        let name = program.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let (sender, ended) = channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        let deadline = Instant::now() + START;
        let output = loop {
            match ended.recv_timeout(POLL) {
                Ok(output) => break output,
                Err(_) if options.check().is_err() => {
                    let _dead = process.kill(STOP);
                    return Err(ServersError::Interrupted);
                }
                Err(_) if Instant::now() > deadline => {
                    let _dead = process.kill(STOP);
                    let seconds = START.as_secs();
                    return Err(ServersError::Failed(format!("{name} had not ended after {seconds} s")));
                }
                Err(_) => {}
            }
        };
        let output = output.map_err(ServersError::io("wait for", program))?;
        let said = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            return Ok(said);
        }
        Err(ServersError::Failed(format!("{name} ended with {}: {}", output.status, place::telling(&said))))
    }

    /// Registers a process with the guard, then opens its gate.
    fn open_gate(&mut self, child: &mut Child, process: &Process, signal: &str) -> Result<(), ServersError> {
        let lost = ServersError::io("tell its guard of", &self.place.folder);
        if let Some(guard) = &mut self.guard {
            guard.add(process, signal).map_err(&lost)?;
        }
        match child.stdin.take() {
            Some(mut gate) => std::io::Write::write_all(&mut gate, b"go\n").map_err(lost),
            None => Ok(()),
        }
    }

    /// Starts a node and waits for its answer. If a port is in use, it tries others.
    pub(super) fn bring_up(&mut self, node: usize, first: bool, options: &Options<'_>) -> Result<(), ServersError> {
        let deadline = Instant::now() + START;
        for attempt in 1.. {
            let from = std::fs::metadata(self.place.log(node)).map_or(0, |m| m.len());
            self.launch(node, first, options)?;
            let outcome = self.await_answer(node, from, deadline, options);
            let said = self.place.said(node, from);
            match outcome {
                Ok(()) => break,
                Err(_) if ports::taken(&said) && attempt < ATTEMPTS => {
                    self.reap(node);
                    let count = self.state.nodes[node].ports.len();
                    self.state.nodes[node].ports = ports::free(count, None)?;
                }
                // Children of a killed PostgreSQL release the shared memory block when they notice its end.
                Err(_) if said.contains("pre-existing shared memory block") && Instant::now() < deadline => {
                    self.reap(node);
                    std::thread::sleep(POLL);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn launch(&mut self, node: usize, first: bool, options: &Options<'_>) -> Result<(), ServersError> {
        let (arguments, signal) = match self.state.kind {
            Kind::Postgres => {
                postgres::configure(&self.place, &self.state.nodes[node])?;
                (postgres::arguments(&self.place), postgres::SIGNAL)
            }
            Kind::Mariadb | Kind::Galera => {
                mariadb::configure(&self.place, &self.state.nodes, node)?;
                let mut arguments = mariadb::arguments(&self.place, node, first);
                if let Some(recovery) = mariadb::recovery(&self.place, node) {
                    let server = self.place.binaries.server.clone();
                    arguments.extend(mariadb::position(&self.run(&server, &recovery, options)?));
                }
                (arguments, mariadb::SIGNAL)
            }
        };
        let (stdout, stderr) = (self.place.open_log(node)?, self.place.open_log(node)?);
        let server = &self.place.binaries.server;
        let (mut child, process) = self.place.launch(server, &arguments, stdout.into(), stderr.into())?;
        self.state.nodes[node].process = Some(process.clone());
        self.state.url = self.url_of(&self.state.nodes);
        let begun = self.state.write(&self.place.folder).and_then(|()| self.open_gate(&mut child, &process, signal));
        self.children[node] = Some(child);
        begun
    }

    /// Waits until a node answers as required.
    fn await_answer(
        &mut self,
        node: usize,
        from: u64,
        deadline: Instant,
        options: &Options<'_>,
    ) -> Result<(), ServersError> {
        let (url, kind) = (self.node_url(node), self.state.kind);
        poll(kind, deadline, options, || {
            if self.children[node].as_mut().is_none_or(|c| !matches!(c.try_wait(), Ok(None))) {
                let why = place::telling(&self.place.said(node, from));
                return Err(ServersError::Failed(format!("{kind} ended while it started: {why}")));
            }
            let answered = Admin::connect_within(&url, Duration::from_secs(2)).and_then(|mut admin| {
                if kind == Kind::Galera { admin.cluster_state() } else { Ok((1, "Synced".into())) }
            });
            Ok(match answered {
                Ok((_, state)) if state == "Synced" => None,
                Ok((_, state)) => Some(format!("node {node} is {state}")),
                Err(e) => Some(e.to_string()),
            })
        })
    }

    /// Waits until each node of a cluster is connected to all others.
    pub(super) fn await_cluster(&self, options: &Options<'_>) -> Result<(), ServersError> {
        let kind = self.state.kind;
        if kind != Kind::Galera {
            return Ok(());
        }
        let (all, deadline) = (self.state.nodes.len(), Instant::now() + START);
        (0..all).try_for_each(|node| {
            poll(kind, deadline, options, || {
                let (size, state) = Admin::connect(&self.node_url(node))?.cluster_state()?;
                let complete = size == all && state == "Synced";
                Ok((!complete).then(|| format!("node {node} is {state} in a cluster of {size}")))
            })
        })
    }
}

/// Calls `look` until it returns `None`. Its text states what a server that did not come up in time lacks.
fn poll(
    kind: Kind,
    deadline: Instant,
    options: &Options<'_>,
    mut look: impl FnMut() -> Result<Option<String>, ServersError>,
) -> Result<(), ServersError> {
    loop {
        options.check()?;
        match look()? {
            None => return Ok(()),
            Some(lack) if Instant::now() > deadline => {
                return Err(ServersError::Failed(format!("{kind} did not come up: {lack}")));
            }
            Some(_) => std::thread::sleep(POLL),
        }
    }
}
