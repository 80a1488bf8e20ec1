//! Record of a run's server.

use serde::{Deserialize, Serialize};

/// A server used by a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Name and version reported by the server.
    pub version: String,
    /// Url without the password.
    pub url: String,
    /// Whether the server belongs to the user; otherwise litelab started it.
    pub own: bool,
}
