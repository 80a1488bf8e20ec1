//! What a trial is run with, and the error that ends one.

use std::path::Path;
use std::time::Duration;

use litelab_record::outcome::FailureKind;

use crate::runner::Runner;
use crate::servers::Servers;

/// Deadlines of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Time until all connections must be open.
    pub ready: Duration,
    /// Longest time between two lines after `go`; ticks arrive every 100 ms.
    pub silence: Duration,
    /// Longest time without the end of a transaction, where a role ends by count: a worker can hang while its process
    /// sends ticks. Longer than any transaction, pause or wait for a lock that is measured.
    pub progress: Duration,
    /// Time limit of a trial that ends by count. Limit of one that ends by time: three times that time, plus its drain
    /// time, plus a minute.
    pub trial: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { ready: seconds(600), silence: seconds(20), progress: seconds(600), trial: seconds(3600) }
    }
}

/// Context of a trial.
pub struct TrialContext<'a> {
    /// Runner of the trial.
    pub runner: &'a Runner,
    /// Prepared database; ignored for variants on a server.
    pub prepared: &'a Path,
    /// Servers of the run, for variants on a server.
    pub servers: Option<&'a Servers>,
    /// An empty directory on the disk under test; the trial removes its files afterwards.
    pub directory: &'a Path,
    /// Deadlines of the trial.
    pub patience: Patience,
    /// Called several times a second; returning `false` ends the trial.
    pub keep_going: &'a mut dyn FnMut() -> bool,
}

/// Error of a trial, later stored as its failure.
pub(crate) struct Stop {
    pub kind: FailureKind,
    pub reason: String,
}

impl Stop {
    pub(crate) fn new(kind: FailureKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }
}
