//! The server of a run.

use serde::{Deserialize, Serialize};

/// A server that a run used, as its file keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Its name and version, as it says them.
    pub version: String,
    /// Where it was, without the password.
    pub url: String,
    /// Whether it was the user's, and not one that litelab started.
    pub own: bool,
}
