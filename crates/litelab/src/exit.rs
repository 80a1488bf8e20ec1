//! Exit codes.

use std::process::ExitCode;

/// Exit code of the command, documented in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Ok = 0,
    /// A failure during execution: a trial, a runner or a check.
    Failed = 1,
    /// A usage error or bad input.
    BadInput = 2,
    /// A threshold was missed.
    Threshold = 3,
    /// An inconclusive result under `--strict`.
    Inconclusive = 4,
    /// Interrupted by a signal.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error in the user's input; exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);
