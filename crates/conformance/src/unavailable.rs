//! Reasons why a driver cannot be checked on a server.

/// Why no server is available.
#[derive(Clone, Debug, thiserror::Error)]
#[cfg_attr(not(feature = "servers"), expect(dead_code, reason = "without servers, all are missing"))]
pub enum Unavailable {
    /// The server is not installed, or litelab was built without servers. The text names the remedy.
    #[error("{0}")]
    Missing(String),
    /// The server did not start, or the one given by the user does not answer.
    #[error("{0}")]
    Failed(String),
    /// The user requested a stop during the start of the server.
    #[error("interrupted")]
    Interrupted,
}
