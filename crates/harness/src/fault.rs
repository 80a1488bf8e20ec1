//! The error type of drivers and harness.

use litelab_protocol::{Failed, codes};

/// Why something failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// An error that SQLite returned: it is counted, and the transaction rolled back.
    #[error("{}: {message}", codes::name(*code))]
    Sqlite {
        /// Extended result code.
        code: i32,
        /// SQLite's message.
        message: String,
    },
    /// Anything else; it ends the trial.
    #[error("{0}")]
    Other(String),
}

impl Fault {
    /// From any error that is not SQLite's.
    #[cold]
    #[inline(never)]
    pub fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }

    /// Prefixes the message with what was being done.
    #[cold]
    #[must_use]
    pub fn during(self, what: &str) -> Self {
        match self {
            Self::Sqlite { code, message } => Self::Sqlite { code, message: format!("{what}: {message}") },
            Self::Other(message) => Self::Other(format!("{what}: {message}")),
        }
    }

    /// The last line of a trial that cannot go on, without line breaks in the reason.
    #[must_use]
    pub fn into_failed(self) -> Failed {
        let reason = self.to_string().replace('\n', " ");
        match self {
            Self::Sqlite { code, .. } => Failed { reason, code: Some(codes::name(code).into()) },
            Self::Other(_) => Failed { reason, code: None },
        }
    }
}
