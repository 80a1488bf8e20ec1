//! A server that a driver cannot be examined on.

/// Why there is none.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "servers"), expect(dead_code, reason = "without servers, all are missing"))]
pub enum Unavailable {
    /// It is not installed, or litelab was built without servers; names the remedy.
    Missing(String),
    /// It did not start, or the user's own does not answer.
    Failed(String),
    /// The user asked to stop while it was being started.
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
