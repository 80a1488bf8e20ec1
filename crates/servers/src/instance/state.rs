//! The state of a server, stored in its folder.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::place::write_closed;
use super::process::Process;
use crate::{Kind, ServersError};

/// The file that marks a folder as litelab's own.
const FILE: &str = "litelab-server.json";

/// State of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Kind of the server.
    pub kind: Kind,
    /// Name and version as the server reports them; empty during the start.
    pub version: String,
    /// URL with user and password; with three hosts for a cluster.
    pub url: String,
    /// Start time, in seconds since 1970.
    pub started: u64,
    /// Process that starts the server; of use until [`State::version`] is known.
    #[serde(default)]
    pub starter: Option<Process>,
    /// Nodes: one, or three for a cluster.
    pub nodes: Vec<Node>,
}

/// One node of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Process of the node; `None` before its start.
    pub process: Option<Process>,
    /// Port for clients; for a node of a cluster also those for group communication, incremental state transfer and
    /// full state transfer.
    pub ports: Vec<u16>,
}

impl Node {
    /// Whether the node's process runs.
    #[must_use]
    pub fn lives(&self) -> bool {
        self.process.as_ref().is_some_and(Process::lives)
    }
}

impl State {
    /// Whether the processes of all nodes run.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.nodes.iter().all(Node::lives) && !self.version.is_empty()
    }

    /// Reads the state from a folder. `None` if the folder is not litelab's.
    ///
    /// # Errors
    /// A state file that cannot be read or parsed.
    pub fn read(folder: &Path) -> Result<Option<Self>, ServersError> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(ServersError::io("read", &path)(source)),
        };
        serde_json::from_str(&text).map(Some).map_err(|e| ServersError::Folder {
            path,
            why: format!("it is no state of a server ({e}): end what runs there, and remove the folder"),
        })
    }

    /// Writes the state file atomically. Only its owner may read it, because it contains the password.
    pub(super) fn write(&self, folder: &Path) -> Result<(), ServersError> {
        let path = folder.join(FILE);
        let unfinished = folder.join(format!("{FILE}.new"));
        let text = serde_json::to_string_pretty(self).map_err(|e| ServersError::Failed(e.to_string()))?;
        write_closed(&unfinished, &text)?;
        std::fs::rename(&unfinished, &path).map_err(ServersError::io("rename", &path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(State::read(folder.path()).unwrap(), None);
        let node = Node { process: Process::of(std::process::id()), ports: vec![1, 2] };
        let idle = Node { process: None, ports: vec![3] };
        let mut state = State {
            kind: Kind::Galera,
            version: "MariaDB 1".into(),
            url: "mysql://a:b@c".into(),
            started: 7,
            starter: None,
            nodes: vec![node, idle],
        };
        state.write(folder.path()).unwrap();
        assert_eq!(State::read(folder.path()).unwrap().as_ref(), Some(&state));
        assert!(!state.is_up(), "one has no process");
        state.nodes.pop();
        assert!(state.is_up(), "this process lives");
        std::fs::write(folder.path().join(FILE), "{\"kind\": \"oracle\"}").unwrap();
        assert!(State::read(folder.path()).unwrap_err().to_string().contains("no state of a server"));
    }
}
