//! Reasons why a driver cannot be checked on a server.

/// Why no server is available.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "servers"), expect(dead_code, reason = "without servers, all are missing"))]
pub enum Unavailable {
    /// The server is not installed, or litelab was built without servers. The text names the remedy.
    Missing(String),
    /// The server did not start, or the one given by the user does not answer.
    Failed(String),
    /// The user requested a stop during the start of the server.
    Interrupted,
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(why) | Self::Failed(why) => f.write_str(why),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
