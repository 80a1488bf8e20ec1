//! What a run reports while it goes on; the command renders it.

use std::path::{Path, PathBuf};

use litelab_model::Plan;

use litelab_observe::environment::Environment;
use litelab_record::outcome::{Probe, Series, TrialRecord};

/// One thing that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Everything is checked; trials are about to begin.
    Started {
        /// What is run.
        plan: &'a Plan,
        /// Where.
        environment: &'a Environment,
        /// The run file.
        file: &'a PathBuf,
        /// Blocks of each scenario that are done already (`--resume`).
        done: &'a [u32],
    },
    /// A database is being prepared.
    Preparing {
        /// Arm that needs it first.
        arm: usize,
        /// Rows so far.
        rows: u64,
        /// Rows in all.
        of: u64,
    },
    /// The harness's own cost is being measured.
    Calibrating {
        /// Index of the scenario.
        scenario: usize,
    },
    /// A trial begins.
    TrialStarted {
        /// Block, from 0.
        block: u32,
        /// Arm.
        arm: usize,
    },
    /// A rate of a search has been tried.
    Probed {
        /// Arm.
        arm: usize,
        /// What came of it.
        probe: &'a Probe,
    },
    /// A trial is over.
    TrialEnded {
        /// What came of it.
        record: &'a TrialRecord,
        /// Its time series.
        series: &'a Series,
    },
    /// An arm runs once more, under `perf`, for its call stacks.
    Sampling {
        /// Arm.
        arm: usize,
    },
    /// There are no call stacks, of this arm or of any.
    NotSampled {
        /// Arm; none where it is so for all.
        arm: Option<usize>,
        /// In one line, with its remedy where there is one.
        reason: &'a str,
    },
    /// Another program holds the run file, by a transaction that reads it; what is to be stored waits for its end.
    FileHeld {
        /// The run file.
        file: &'a Path,
        /// For how long it has waited.
        seconds: u64,
    },
    /// All trials of a scenario's first block failed for a reason of the study's own: its further blocks are left out.
    ScenarioEnded {
        /// Index of the scenario.
        scenario: usize,
        /// That of its first trial.
        reason: &'a str,
    },
    /// A block is in the run file.
    BlockStored {
        /// Index of the scenario.
        scenario: usize,
        /// Block, from 0.
        block: u32,
    },
}
