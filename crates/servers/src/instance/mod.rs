//! A private server in its own folder.

use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;

use crate::{Admin, Kind, ServersError};
use guard::Guard;
use place::InstanceFiles;

mod account;
pub mod binaries;
mod guard;
mod mariadb;
mod place;
mod ports;
mod postgres;
mod process;
mod start;
mod state;
mod up;

pub use account::may_enter;
pub use process::Process;
pub use state::{Node, State};
pub use up::{Condition, default_folder, down, status, up};

/// A server that has not ended after this time is killed.
const STOP: Duration = Duration::from_secs(20);

/// Options of a start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// First port to try. Default, and where that port is in use: a free port.
    pub port: Option<u16>,
    /// Cancels the start when it becomes true. Nothing of the server is left then.
    pub stop: Option<&'a AtomicBool>,
    /// Absolute path with which the names of further folders begin. If this process is killed, they are removed like
    /// the server's folder.
    pub scratch: Option<&'a Path>,
}

impl Options<'_> {
    /// [`ServersError::Interrupted`] if the start is cancelled.
    fn check(&self) -> Result<(), ServersError> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(ServersError::Interrupted),
            _ => Ok(()),
        }
    }
}

/// A running server that litelab started. Dropping it stops the server and removes its folder. So does the end of this
/// process, for any reason.
#[derive(Debug)]
pub struct Instance {
    place: InstanceFiles,
    state: State,
    /// Child processes to reap, one per node.
    children: Vec<Option<Child>>,
    guard: Option<Guard>,
    /// Whether the server or its folder still exists.
    running: bool,
}

impl Instance {
    /// Starts a server in `folder`, which must be empty or absent, and waits until it answers, which takes a few
    /// seconds.
    ///
    /// If this process runs as root, the server runs as the user `postgres`, `mysql` or `nobody`, who must be able to
    /// enter every folder above (mode o+x; a [`tempfile`](https://docs.rs/tempfile) folder does not allow it).
    ///
    /// # Errors
    /// Missing programs, a folder that cannot be used, or a server that does not start (with the line of its log that
    /// states the reason), and [`ServersError::Interrupted`].
    pub fn start(kind: Kind, folder: &Path, options: &Options<'_>) -> Result<Self, ServersError> {
        let place = InstanceFiles::make(kind, folder)?;
        let per_node = if kind == Kind::Galera { mariadb::PORTS } else { 1 };
        let ports = ports::free(per_node * kind.nodes() as usize, options.port)?;
        let nodes: Vec<Node> =
            ports.chunks(per_node).map(|ports| Node { process: None, ports: ports.to_vec() }).collect();
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let starter = Process::of(std::process::id());
        let state = State { kind, version: String::new(), url: String::new(), started, starter, nodes };
        place::claim(&place)?;
        let children = state.nodes.iter().map(|_| None).collect();
        // From here on, an early return removes the folder.
        let mut instance = Self { place, state, children, guard: None, running: true };
        let guard = Guard::begin(&instance.place.folder, options.scratch.filter(|path| path.is_absolute()));
        instance.guard = Some(guard.map_err(ServersError::io("run", Path::new("/bin/sh")))?);
        instance.state.write(&instance.place.folder)?;
        instance.install(options)?;
        for node in 0..instance.state.nodes.len() {
            instance.bring_up(node, node == 0, options)?;
        }
        instance.await_cluster(options)?;
        instance.state.version = Admin::connect(&instance.state.url)?.version()?;
        instance.state.write(&instance.place.folder)?;
        if let Some(guard) = &mut instance.guard {
            guard.up().map_err(ServersError::io("tell its guard of", folder))?;
        }
        Ok(instance)
    }

    /// URL with user and password: `postgres://…` or `mysql://…`; for a cluster with three hosts.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.state.url
    }

    /// Name and version as the server reports them: `PostgreSQL 15.18`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.state.version
    }

    /// Folder of the server.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.place.folder
    }

    /// URL of one node alone. A number that is out of range returns the first node.
    #[must_use]
    pub fn node_url(&self, node: usize) -> String {
        let node = self.state.nodes.get(node).unwrap_or(&self.state.nodes[0]);
        self.url_of(std::slice::from_ref(node))
    }

    /// Kills one node (SIGKILL) and waits until its process is gone.
    ///
    /// # Errors
    /// The node does not exist.
    pub fn kill(&mut self, node: usize) -> Result<(), ServersError> {
        let process = self.node(node)?.process.clone();
        if let Some(process) = process {
            process.signal(Signal::KILL);
            self.reap(node);
        }
        Ok(())
    }

    /// Restarts a killed node with its data, and waits until it answers (in a cluster, until it is synced). At least
    /// one other node of a cluster must be running. The node keeps its port.
    ///
    /// # Errors
    /// The node does not exist or does not start, and [`ServersError::Interrupted`].
    pub fn restart(&mut self, node: usize, options: &Options<'_>) -> Result<(), ServersError> {
        if self.node(node)?.lives() {
            return Err(ServersError::Failed(format!("node {node} lives: kill it before it is started again")));
        }
        // A node killed from outside is a zombie, and PostgreSQL takes its number for that of a running server in the
        // folder.
        self.reap(node);
        self.bring_up(node, false, options)
    }

    /// Indices of the nodes whose processes do not run.
    #[must_use]
    pub fn dead(&self) -> Vec<usize> {
        let nodes = self.state.nodes.iter().enumerate();
        nodes.filter(|(_, node)| !node.lives()).map(|(index, _)| index).collect()
    }

    /// Leaves the server running after the end of this process; [`down`] stops it.
    #[must_use]
    pub fn keep(mut self) -> State {
        self.running = false;
        if let Some(guard) = self.guard.take() {
            guard.release();
        }
        self.state.clone()
    }

    fn node(&self, node: usize) -> Result<&Node, ServersError> {
        let nodes = &self.state.nodes;
        nodes.get(node).ok_or_else(|| ServersError::Failed(format!("no node {node}: there are {}", nodes.len())))
    }

    fn url_of(&self, nodes: &[Node]) -> String {
        let hosts: Vec<String> = nodes.iter().map(|n| format!("127.0.0.1:{}", n.ports[0])).collect();
        let (scheme, database) = match self.state.kind {
            Kind::Postgres => ("postgres", "/postgres"),
            Kind::Mariadb | Kind::Galera => ("mysql", ""),
        };
        format!("{scheme}://litelab:{}@{}{database}", self.place.password, hosts.join(","))
    }

    /// Waits for the ended process of a node, so that its number is free again.
    fn reap(&mut self, node: usize) {
        if let Some(mut child) = self.children[node].take() {
            let _gone = child.wait();
        }
    }
}

impl Drop for Instance {
    /// Stops the server, waits until its processes are gone, and removes its folder.
    fn drop(&mut self) {
        if !self.running {
            return;
        }
        let children = &mut self.children;
        up::end(&self.state, &mut || {
            for child in children.iter_mut().flatten() {
                let _not_yet = child.try_wait();
            }
        });
        let _left = place::remove(&self.place.folder, &self.state);
        if let Some(guard) = self.guard.take() {
            guard.release();
        }
    }
}
