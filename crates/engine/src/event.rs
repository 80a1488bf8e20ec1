//! Progress events of a run, rendered by the command.

use std::path::{Path, PathBuf};

use litelab_model::Plan;

use litelab_observe::environment::Environment;
use litelab_record::outcome::{Probe, Series, TrialRecord};

/// Progress event of a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// All checks have passed; trials are about to begin.
    Started {
        /// Plan of the run.
        plan: &'a Plan,
        /// Host environment.
        environment: &'a Environment,
        /// Path of the run file.
        file: &'a PathBuf,
        /// Number of rounds already stored per scenario (`--resume`).
        done: &'a [u32],
    },
    /// A database is being prepared.
    Preparing {
        /// Index of the first variant that needs the database.
        variant: usize,
        /// Number of rows written so far.
        rows: u64,
        /// Total number of rows.
        of: u64,
    },
    /// The harness's own cost is being measured.
    Calibrating {
        /// Index of the scenario.
        scenario: usize,
    },
    /// A trial begins.
    TrialStarted {
        /// Round number, from 0.
        round: u32,
        /// Index of the variant.
        variant: usize,
    },
    /// A search has tried a rate.
    Probed {
        /// Index of the variant.
        variant: usize,
        /// Result of the trials at this rate.
        probe: &'a Probe,
    },
    /// A trial has ended.
    TrialEnded {
        /// Outcome of the trial.
        record: &'a TrialRecord,
        /// Time series of the trial.
        series: &'a Series,
    },
    /// An additional trial of a variant under `perf` begins, for its call stacks.
    Sampling {
        /// Index of the variant.
        variant: usize,
    },
    /// Call stacks are not available, for one variant or for all.
    NotSampled {
        /// Index of the variant; `None` for all variants.
        variant: Option<usize>,
        /// Reason in one line, with its remedy if there is one.
        reason: &'a str,
    },
    /// Another program holds the run file in a read transaction; writes wait until it ends.
    FileHeld {
        /// Path of the run file.
        file: &'a Path,
        /// Time waited so far, in seconds.
        seconds: u64,
    },
    /// All trials of a scenario's first round failed because of the study; its further rounds are skipped.
    ScenarioEnded {
        /// Index of the scenario.
        scenario: usize,
        /// Failure reason of the first trial.
        reason: &'a str,
    },
    /// A round has been written to the run file.
    RoundStored {
        /// Index of the scenario.
        scenario: usize,
        /// Round number, from 0.
        round: u32,
    },
}
