//! The error type of drivers and harness.

use litelab_protocol::{Failed, codes};

/// An error, by its consequence for the trial.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// An error that SQLite returned. It is counted, and the transaction is rolled back.
    #[error("{}: {message}", codes::name(*code))]
    Sqlite {
        /// Extended result code.
        code: i32,
        /// SQLite's message.
        message: String,
    },
    /// Any other error; it ends the trial.
    #[error("{0}")]
    Other(String),
}

impl Fault {
    /// Converts an error that is not SQLite's.
    #[cold]
    #[inline(never)]
    pub fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }

    /// Prefixes the message with the failed action.
    #[cold]
    #[must_use]
    pub fn during(self, what: &str) -> Self {
        match self {
            Self::Sqlite { code, message } => Self::Sqlite { code, message: format!("{what}: {message}") },
            Self::Other(message) => Self::Other(format!("{what}: {message}")),
        }
    }

    /// The message with which a failed trial ends, without line breaks in the reason.
    #[must_use]
    pub fn into_failed(self) -> Failed {
        let reason = self.to_string().replace('\n', " ");
        match self {
            Self::Sqlite { code, .. } => Failed { reason, code: Some(codes::name(code).into()) },
            Self::Other(_) => Failed { reason, code: None },
        }
    }
}
