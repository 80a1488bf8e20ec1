//! A private server in a folder of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::{Kind, ServersError};

/// What a start may be told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The port to try first; a free one is taken where it is in use, or where none is named.
    pub port: Option<u16>,
    /// When it becomes true, the start is given up and nothing is left of it.
    pub stop: Option<&'a AtomicBool>,
}

/// What the state file says of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Which.
    pub kind: Kind,
    /// As the server says it.
    pub version: String,
    /// With user and password; three hosts of a cluster.
    pub url: String,
    /// Seconds since 1970.
    pub started: u64,
    /// Its servers.
    pub nodes: Vec<Node>,
}

/// One server process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number of process; 0 while it has none.
    pub pid: u32,
    /// The port it answers on.
    pub port: u16,
}

/// A running server that litelab started. Dropping it stops the server and removes its folder; so does the end of this
/// process, whichever way it ends.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    state: State,
}

impl Instance {
    /// Starts a server in `folder`, which must be absent or empty, and waits until it answers: some seconds.
    ///
    /// Where this process is root, the server runs as the user `postgres`, `mysql` or `nobody`, who must be able to
    /// search every folder above.
    ///
    /// # Errors
    /// Programs that are missing, a folder that cannot be used, a server that does not come up (with its log's last
    /// line).
    pub fn start(kind: Kind, folder: &Path) -> Result<Self, ServersError> {
        Self::start_with(kind, folder, &Options::default())
    }

    /// As [`Self::start`], told more.
    ///
    /// # Errors
    /// As [`Self::start`], and [`ServersError::Interrupted`].
    pub fn start_with(kind: Kind, folder: &Path, options: &Options<'_>) -> Result<Self, ServersError> {
        let _ = (kind, folder, options);
        Err(ServersError::Failed("not yet".into()))
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.state.kind
    }

    /// With user and password: `postgres://…`, `mysql://…`, the latter with three hosts for a cluster.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.state.url
    }

    /// As the server says it.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.state.version
    }

    /// Where it lives.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its processes' numbers, one per node.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.state.nodes.iter().map(|n| n.pid).collect()
    }

    /// The url of one node alone.
    #[must_use]
    pub fn node_url(&self, node: usize) -> String {
        let _ = node;
        self.state.url.clone()
    }

    /// Whether all its processes live.
    #[must_use]
    pub fn is_running(&self) -> bool {
        false
    }

    /// Kills one node (SIGKILL) and waits until its process is gone.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn kill(&mut self, node: usize) -> Result<(), ServersError> {
        let _ = node;
        Err(ServersError::Failed("not yet".into()))
    }

    /// Starts a killed node again with its data, and waits until it answers (of a cluster: until it is synced).
    ///
    /// # Errors
    /// When there is no such node, or it does not come up.
    pub fn restart(&mut self, node: usize) -> Result<(), ServersError> {
        let _ = node;
        Err(ServersError::Failed("not yet".into()))
    }

    /// Stops it, waits until its processes are gone, and removes its folder.
    ///
    /// # Errors
    /// When the folder cannot be removed.
    pub fn stop(self) -> Result<(), ServersError> {
        Err(ServersError::Failed("not yet".into()))
    }
}
